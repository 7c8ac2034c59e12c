/* task/measure/word_scores.c - counts how often a classifier of words is right: words, and entities. */
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/texts/classify.h"
#include "tessera/evaluate.h"
#include "train/data/encode.h"
#include "train/data/entities.h"
#include "transport/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 64, FEWEST = 8 }; /* texts of a block */
enum { POLLED = 16 };              /* texts of a run, where other ranks want blocks meanwhile */

/* What a block adds to the result. */
typedef struct counts {
    uint64_t texts, words, right;
    tsri_train_entities entities;
} counts;

typedef struct judging {
    tsr_classifier *c;
    const tsri_model_spec *spec;
    const char *path;
    const tsr_evaluate_words_options *options;
    tsri_train_encoder encoder;
    tsri_text_ids ids, labels; /* of one text: tokens, and 1 + the label of each, or 0 */
    /* Of rank 0: all texts. Of each the number of its tokens, the tokens, and their labels. */
    tsri_text_ids texts;
    size_t left, at; /* texts that are in no block yet, and where they begin */
    tsr_share *share;
    int32_t *given, *wanted;
    size_t given_room, wanted_room;
    counts block, all; /* all: on rank 0, of the blocks that are done */
    uint64_t left_out;
} judging;

static int32_t likeliest(const float *row, int32_t labels) {
    int32_t best = 0;
    for (int32_t k = 1; k < labels; k++)
        best = row[k] > row[best] ? k : best;
    return best;
}

/* Judges the words of one text by the rows of its tokens. */
static tsr_status judge(judging *j, const int32_t *labels, size_t tokens, const float *rows) {
    size_t n = 0;
    TRY(tsri_base_grow(&j->given, &j->given_room, tokens, sizeof *j->given));
    TRY(tsri_base_grow(&j->wanted, &j->wanted_room, tokens, sizeof *j->wanted));
    for (size_t i = 0; i < tokens; i++, rows += j->c->labels) {
        if (!labels[i])
            continue;
        j->given[n] = likeliest(rows, j->c->labels);
        j->wanted[n] = labels[i] - 1;
        j->block.right += j->given[n] == j->wanted[n];
        n++;
    }
    j->block.words += n;
    j->block.texts++;
    tsri_train_entities_count(j->spec->label_of, j->given, j->wanted, n, &j->block.entities);
    return TSR_OK;
}

/* Runs the texts of a block, which is a part of judging.texts of n numbers. */
static tsr_status run(judging *j, const int32_t *block, size_t n) {
    tsr_classifier *c = j->c;
    tsri_model_sequence sequences[AT_ONCE];
    size_t texts = 0, tokens = 0;
    for (size_t at = 0; at < n; at += 1 + 2 * (size_t)block[at]) {
        sequences[texts++] = (tsri_model_sequence){.ids = block + at + 1, .n = block[at]};
        tokens += (size_t)block[at];
    }
    j->block = (counts){0};
    TRY(tsri_base_grow(&c->raw, &c->raw_room, tokens * (size_t)c->labels + 1, sizeof *c->raw));
    const size_t most = j->options->ranks ? POLLED : AT_ONCE;
    for (size_t first = 0; first < texts; first += most) {
        const size_t here = texts - first < most ? texts - first : most;
        const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .labels = c->raw};
        TRY(tsri_session_encode(c->session, sequences + first, (int32_t)here, &results));
        const float *rows = c->raw;
        for (size_t i = first; i < first + here; i++) {
            const size_t size = (size_t)sequences[i].n;
            TRY(judge(j, sequences[i].ids + size, size, rows));
            rows += size * (size_t)c->labels;
        }
        TRY(tsr_share_poll(j->share));
    }
    return TSR_OK;
}

/* ---- reading ---- */

/* Puts 1 + the model's label in place of the number of a word. */
static tsr_status find_labels(judging *j, const tsri_train_record *record) {
    uint64_t judged = 0;
    for (size_t i = 0; i < j->labels.count; i++) {
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
    j->left_out += record->n_words - judged;
    return TSR_OK;
}

/* Cuts a text to what the model reads; the token that closes it stays. */
static void cut(judging *j) {
    const size_t n = j->ids.count, most = (size_t)j->c->reader.max_tokens;
    if (n <= most)
        return;
    for (size_t i = most - 1; i < n; i++)
        j->left_out += j->labels.data[i] > 0;
    j->ids.data[most - 1] = j->ids.data[n - 1];
    j->labels.data[most - 1] = 0;
    j->ids.count = j->labels.count = most;
}

static tsr_status add(judging *j, const tsri_train_record *record, bool *words) {
    j->ids.count = j->labels.count = 0;
    TRY(tsri_train_encode(&j->encoder, record, &j->ids, &j->labels));
    TRY(find_labels(j, record));
    cut(j);
    for (size_t i = 0; i < j->labels.count && !*words; i++)
        *words = j->labels.data[i] > 0;
    const int32_t n = (int32_t)j->ids.count;
    TRY(tsri_text_ids_append(&j->texts, &n, 1));
    TRY(tsri_text_ids_append(&j->texts, j->ids.data, j->ids.count));
    TRY(tsri_text_ids_append(&j->texts, j->labels.data, j->labels.count));
    j->left++;
    return TSR_OK;
}

static tsr_status read_all(judging *j, const tsri_train_data_options *o) {
    tsri_train_records *records = NULL;
    tsri_train_record record;
    bool words = false; /* some word has a label and is read */
    TRY(tsri_train_records_open(j->path, o, TSRI_WANTS_WORDS, &records));
    tsr_status status = TSR_OK;
    while (status == TSR_OK) {
        status = tsri_train_records_next(records, &record);
        if (status != TSR_OK || !record.text.data)
            break;
        status = add(j, &record, &words);
        if (status == TSR_E_FORMAT)
            status = tsri_base_fail_within(status, "%s: line %" PRIu64, j->path, record.line);
    }
    tsri_train_records_close(&records);
    return status == TSR_OK && !words
               ? tsri_base_fail(TSR_E_FORMAT, "%s holds no words with labels", j->path)
               : status;
}

/* ---- the texts of all ranks ---- */

/* Towards the end blocks are smaller, so that all ranks end together. */
static int make(void *data, int wait, uint64_t most, const void **block, size_t *n) {
    judging *j = data;
    const size_t ranks = tsri_ranks_size(j->options->ranks),
                 fair = ranks > 1 ? j->left / (2 * ranks) : j->left, from = j->at;
    size_t texts = fair < FEWEST ? FEWEST : fair < AT_ONCE ? fair : AT_ONCE;
    (void)wait;
    (void)most;
    for (; texts && j->left; texts--, j->left--)
        j->at += 1 + 2 * (size_t)j->texts.data[j->at];
    *block = j->texts.data + from;
    *n = (j->at - from) * sizeof *j->texts.data;
    return *n > 0;
}

static int take(void *data, const void *result, size_t n) {
    judging *j = data;
    const counts *done = result;
    (void)n;
    j->all.texts += done->texts;
    j->all.words += done->words;
    j->all.right += done->right;
    j->all.entities.wanted += done->entities.wanted;
    j->all.entities.given += done->entities.given;
    j->all.entities.right += done->entities.right;
    return 0;
}

static int tell(const judging *j, uint64_t texts) {
    return j->options->progress && j->options->progress(j->options->progress_data, texts);
}

static int stop(void *data) {
    const judging *j = data;
    return tell(j, j->all.texts);
}

static tsr_status run_all(judging *j) {
    const tsr_share_options sharing = {.struct_size = sizeof sharing,
                                       .together = tsri_run_rank_count(j->c->model->run) > 1,
                                       .make = make,
                                       .take = take,
                                       .stop = stop,
                                       .data = j};
    const void *block;
    size_t n;
    TRY(tsr_share_begin(j->options->ranks, &sharing, &j->share));
    for (;;) {
        TRY(tsr_share_next(j->share, AT_ONCE, &block, &n));
        if (!n)
            return TSR_OK;
        TRY(run(j, block, n / sizeof *j->texts.data));
        TRY(tsr_share_give(j->share, &j->block, sizeof j->block));
        if (tell(j, j->all.texts))
            return tsri_base_fail(TSR_E_CANCELLED, "the evaluation was cancelled");
    }
}

/* ---- the result ---- */

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 0;
}

static void finish(const judging *j, tsr_word_scores *s) {
    const counts *all = &j->all;
    const bool named = tsri_train_entities_are_named(j->spec->label_of, j->spec->labels);
    *s = (tsr_word_scores){.struct_size = sizeof *s,
                           .texts = all->texts,
                           .words = all->words,
                           .right = all->right,
                           .left_out = j->left_out,
                           .accuracy = share(all->right, all->words),
                           .entities_wanted = all->entities.wanted,
                           .entities_given = all->entities.given,
                           .entities_right = all->entities.right};
    s->precision = named ? share(s->entities_right, s->entities_given) : NAN;
    s->recall = named ? share(s->entities_right, s->entities_wanted) : NAN;
    s->f1 = named ? tsri_train_entities_f1(&all->entities) : NAN;
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
    judging j = {.path = path, .options = &known};
    tsr_word_scores scores;
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
        status = tsri_ranks_rank(known.ranks) == 0 ? read_all(&j, &data) : TSR_OK;
    }
    if (status == TSR_OK)
        status = run_all(&j);
    if (status == TSR_OK) {
        finish(&j, &scores);
        tsri_base_give(&scores, sizeof scores, out);
    }
    tsr_share_end(&j.share);
    tsr_classifier_destroy(&j.c);
    tsri_text_ids_clear(&j.ids);
    tsri_text_ids_clear(&j.labels);
    tsri_text_ids_clear(&j.texts);
    free(j.given);
    free(j.wanted);
    return status;
}
