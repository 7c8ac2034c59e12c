/* task/measure/word_scores.c - counts how often a classifier of words is right: words, and entities. */
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/texts/classify.h"
#include "tessera/evaluate.h"
#include "train/data/encode.h"
#include "train/data/entities.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 64 }; /* texts */

typedef struct judging {
    tsr_classifier *c;
    const tsri_model_spec *spec;
    const char *path;
    const tsr_evaluate_words_options *options;
    tsri_train_encoder encoder;
    tsri_text_ids ids,
        labels; /* of the texts that are yet to be run: tokens, and 1 + the label of each, or 0 */
    size_t begin[AT_ONCE + 1], n;
    int32_t *given, *wanted;
    size_t given_room, wanted_room;
    tsri_train_entities entities;
    tsr_word_scores scores;
} judging;

static int32_t likeliest(const float *row, int32_t labels) {
    int32_t best = 0;
    for (int32_t k = 1; k < labels; k++)
        best = row[k] > row[best] ? k : best;
    return best;
}

/* Judges the words of one text by the rows of its tokens. */
static tsr_status judge(judging *j, size_t from, size_t to, const float *rows) {
    size_t n = 0;
    TRY(tsri_base_grow(&j->given, &j->given_room, to - from, sizeof *j->given));
    TRY(tsri_base_grow(&j->wanted, &j->wanted_room, to - from, sizeof *j->wanted));
    for (size_t i = from; i < to; i++, rows += j->c->labels) {
        if (!j->labels.data[i])
            continue;
        j->given[n] = likeliest(rows, j->c->labels);
        j->wanted[n] = j->labels.data[i] - 1;
        j->scores.right += j->given[n] == j->wanted[n];
        n++;
    }
    j->scores.words += n;
    j->scores.texts++;
    tsri_train_entities_count(j->spec->label_of, j->given, j->wanted, n, &j->entities);
    return TSR_OK;
}

/* Runs the texts that were read, and forgets them. */
static tsr_status run(judging *j) {
    tsr_classifier *c = j->c;
    tsri_model_sequence sequences[AT_ONCE];
    TRY(tsri_base_grow(&c->raw, &c->raw_room, j->ids.count * (size_t)c->labels + 1,
                       sizeof *c->raw));
    for (size_t i = 0; i < j->n; i++)
        sequences[i] = (tsri_model_sequence){.ids = j->ids.data + j->begin[i],
                                             .n = (int64_t)(j->begin[i + 1] - j->begin[i])};
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .labels = c->raw};
    if (j->n)
        TRY(tsri_session_encode(c->session, sequences, (int32_t)j->n, &results));
    for (size_t i = 0; i < j->n; i++)
        TRY(judge(j, j->begin[i], j->begin[i + 1], c->raw + j->begin[i] * (size_t)c->labels));
    j->n = j->ids.count = j->labels.count = 0;
    if (j->options->progress && j->options->progress(j->options->progress_data, j->scores.texts))
        return tsri_base_fail(TSR_E_CANCELLED, "the evaluation was cancelled");
    return TSR_OK;
}

/* Puts 1 + the model's label in place of the number of a word. */
static tsr_status find_labels(judging *j, const tsri_train_record *record, size_t from) {
    uint64_t judged = 0;
    for (size_t i = from; i < j->labels.count; i++) {
        const int32_t word = j->labels.data[i];
        if (!word)
            continue;
        const tsri_train_span label = record->labels[word - 1];
        j->labels.data[i] = 1 + tsri_train_label_number(j->spec, label.data, label.n);
        judged++;
        if (!j->labels.data[i])
            return tsri_base_fail(TSR_E_FORMAT,
                                  "the label \"%.*s\" is not one of the model's %" PRId32,
                                  (int)(label.n < 60 ? label.n : 60), label.data, j->spec->labels);
    }
    j->scores.left_out += record->n_words - judged;
    return TSR_OK;
}

/* Cuts a text to what the model reads; the token that closes it stays. */
static void cut(judging *j, size_t from) {
    const size_t n = j->ids.count - from, most = (size_t)j->c->reader.max_tokens;
    if (n <= most)
        return;
    for (size_t i = from + most - 1; i < j->labels.count; i++)
        j->scores.left_out += j->labels.data[i] > 0;
    j->ids.data[from + most - 1] = j->ids.data[j->ids.count - 1];
    j->labels.data[from + most - 1] = 0;
    j->ids.count = j->labels.count = from + most;
}

static tsr_status add(judging *j, const tsri_train_record *record) {
    const size_t from = j->ids.count;
    j->begin[j->n] = from;
    TRY(tsri_train_encode(&j->encoder, record, &j->ids, &j->labels));
    TRY(find_labels(j, record, from));
    cut(j, from);
    j->begin[++j->n] = j->ids.count;
    return TSR_OK;
}

static tsr_status read_all(judging *j, const tsri_train_data_options *o) {
    tsri_train_records *records = NULL;
    tsri_train_record record;
    TRY(tsri_train_records_open(j->path, o, TSRI_WANTS_WORDS, &records));
    tsr_status status = TSR_OK;
    while (status == TSR_OK) {
        status = tsri_train_records_next(records, &record);
        if (status != TSR_OK || !record.text.data)
            break;
        status = add(j, &record);
        if (status == TSR_E_FORMAT)
            status = tsri_base_fail_within(status, "%s: line %" PRIu64, j->path, record.line);
        if (status == TSR_OK && j->n == AT_ONCE)
            status = run(j);
    }
    tsri_train_records_close(&records);
    if (status == TSR_OK)
        status = run(j);
    return status == TSR_OK && !j->scores.words
               ? tsri_base_fail(TSR_E_FORMAT, "%s holds no words with labels", j->path)
               : status;
}

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 0;
}

static void finish(judging *j) {
    tsr_word_scores *s = &j->scores;
    const bool named = tsri_train_entities_are_named(j->spec->label_of, j->spec->labels);
    s->accuracy = share(s->right, s->words);
    s->entities_wanted = j->entities.wanted;
    s->entities_given = j->entities.given;
    s->entities_right = j->entities.right;
    s->precision = named ? share(s->entities_right, s->entities_given) : NAN;
    s->recall = named ? share(s->entities_right, s->entities_wanted) : NAN;
    s->f1 = named ? tsri_train_entities_f1(&j->entities) : NAN;
}

tsr_status tsr_evaluate_words(tsr_model *model, const char *path,
                              const tsr_evaluate_words_options *options, tsr_word_scores *out) {
    tsr_evaluate_words_options known;
    TRY(NEED(model));
    TRY(NEED(path));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_word_scores", out));
    TRY(tsri_base_adopt("tsr_evaluate_words_options", options, &known, sizeof known));
    const tsri_train_data_options data = {.objective = TSRI_OBJECTIVE_TOKENS,
                                          .text_field = known.words_field,
                                          .label_field = known.labels_field};
    const tsr_classify_options reading = {.struct_size = sizeof reading,
                                          .max_tokens = known.max_tokens};
    judging j = {.path = path, .options = &known, .scores = {.struct_size = sizeof j.scores}};
    tsr_status status = tsr_classifier_create(model, &reading, &j.c);
    if (status == TSR_OK && j.c->kind != TSR_CLASSIFIER_TOKENS)
        status = tsri_base_fail(
            TSR_E_STATE, "%s %s: use %s", j.c->model->path,
            j.c->kind == TSR_CLASSIFIER_SPANS ? "answers questions" : "labels texts, not words",
            j.c->kind == TSR_CLASSIFIER_SPANS ? "tsr_answer_questions" : "tsr_evaluate_labels");
    if (status == TSR_OK)
        status = tsri_train_encoder_make(j.c->model, &data, &j.encoder);
    if (status == TSR_OK) {
        j.spec = &j.c->model->spec;
        status = read_all(&j, &data);
    }
    if (status == TSR_OK) {
        finish(&j);
        tsri_base_give(&j.scores, sizeof j.scores, out);
    }
    tsr_classifier_destroy(&j.c);
    tsri_text_ids_clear(&j.ids);
    tsri_text_ids_clear(&j.labels);
    free(j.given);
    free(j.wanted);
    return status;
}
