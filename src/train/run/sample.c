/* train/run/sample.c - shows a reader what the model says now. */
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/model.h"
#include "text/tokenizer/languages.h"
#include "train/run/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GIVEN = 8, SHOWN = 6, LONGEST = 400 };
static const double temperature = 0.8;

/* What all kinds of samples share. */
typedef struct sampling {
    tsri_train_job *job;
    const tsri_model *model;
    const tsri_text_tokenizer *source, *target;
    float *row;         /* logits of a token, or of the labels */
    int32_t *ids, most; /* tokens of one sequence, and the most that a batch may have */
    tsri_bytes *text;
} sampling;

static int32_t argmax(const float *row, int32_t n) {
    int32_t best = 0;
    for (int32_t k = 1; k < n; k++)
        best = row[k] > row[best] ? k : best;
    return best;
}

/* Draws an index from softmax(row / temperature), by a number in [0, 1). */
static int32_t draw(const float *row, int32_t n, double uniform) {
    const float top = row[argmax(row, n)];
    double sum = 0, so_far = 0;
    for (int32_t k = 0; k < n; k++)
        sum += exp((double)(row[k] - top) / temperature);
    for (int32_t k = 0; k < n; k++) {
        so_far += exp((double)(row[k] - top) / temperature);
        if (so_far > uniform * sum)
            return k;
    }
    return n - 1;
}

static bool ends(const tsri_model_spec *spec, int32_t id) {
    for (int32_t i = 0; i < spec->n_eos; i++)
        if (spec->eos[i] == id)
            return true;
    return false;
}

static tsr_status decode(const tsri_text_tokenizer *tokenizer, const int32_t *ids, int32_t n,
                         tsri_bytes *text) {
    return tsri_text_decode(tokenizer, ids, (size_t)n, TSRI_TEXT_SKIP_SPECIAL, text);
}

/* The first batch of the validation, or where there is none, of the training. */
static tsr_status first_batch(const sampling *s, tsri_training_batch *batch) {
    const tsri_train_job *job = s->job;
    return tsri_train_data_batch(job->validation ? job->validation : job->data, 0, batch);
}

/* The batch's sequence b alone. */
static tsri_training_batch only(const tsri_training_batch *all, int32_t b) {
    tsri_training_batch one = *all;
    one.B = 1;
    one.ids += (int64_t)b * all->T;
    one.len += b;
    one.types = all->types ? all->types + (int64_t)b * all->T : NULL;
    one.source = all->S ? all->source + (int64_t)b * all->S : NULL;
    one.source_len = all->S ? all->source_len + b : NULL;
    one.teacher = NULL;
    return one;
}

/* ---- the prompt ---- */

/* What is not in the vocabulary is read as the unknown token, or left out. A prompt of white space
 * is not checked: that of char-gpt is a line end, and data of a single line have no such token. */
tsr_status tsri_train_check_prompt(tsri_train_job *job) {
    const char *prompt = job->settings.sample_prompt;
    const tsri_text_tokenizer *tokenizer = tsri_model_of(job->model)->tokenizer;
    tsri_text_ids ids = {0};
    size_t n_unknown = 0, n;
    const bool reads =
        job->objective == TSRI_OBJECTIVE_NEXT || job->objective == TSRI_OBJECTIVE_TRANSLATE;
    if (!reads || !tokenizer || !prompt[strspn(prompt, " \t\r\n")] ||
        job->settings.sample_tokens == 0)
        return TSR_OK;
    const tsr_status status = tsri_text_encode(tokenizer, prompt, strlen(prompt), 0, &ids);
    if (status != TSR_OK)
        tsri_base_fail_within(status, "sample_prompt");
    const int32_t unknown = tsri_text_role_id(tokenizer, TSRI_TEXT_UNK);
    for (size_t i = 0; i < ids.count; i++)
        n_unknown += ids.data[i] == unknown;
    if (n_unknown) {
        const char *piece = tsri_text_piece_of(tokenizer, unknown, &n);
        tsri_train_say(job, TSR_TRAIN_WARNING,
                       "sample_prompt: the tokenizer lacks some of its characters or words, and "
                       "reads %.*s in their place (%zu of %zu tokens)",
                       (int)n, piece, n_unknown, ids.count);
    } else if (status == TSR_OK && !ids.count) {
        tsri_train_say(job, TSR_TRAIN_WARNING,
                       "sample_prompt: the tokenizer makes no tokens of it, so samples %s",
                       job->objective == TSRI_OBJECTIVE_NEXT ? "are left out"
                                                             : "translate the first example");
    }
    tsri_text_ids_clear(&ids);
    return status;
}

/* ---- a continuation ---- */

static tsr_status read_prompt(sampling *s, int32_t *n) {
    const char *prompt = s->job->settings.sample_prompt;
    tsri_text_ids ids = {0};
    tsri_training_batch batch;
    tsr_status status = TSR_OK;
    if (*prompt)
        status = tsri_text_encode(s->source, prompt, strlen(prompt), 0, &ids);
    else if ((status = first_batch(s, &batch)) == TSR_OK)
        status = tsri_text_ids_append(&ids, batch.ids,
                                      (size_t)(batch.len[0] < GIVEN ? batch.len[0] : GIVEN));
    *n = 0;
    for (size_t i = 0; status == TSR_OK && i < ids.count && *n < s->most; i++)
        s->ids[(*n)++] = ids.data[i];
    tsri_text_ids_clear(&ids);
    return status;
}

static tsr_status append(sampling *s, const tsri_training_batch *batch, int32_t at) {
    return tsri_training_logits(s->job->training, batch, &at, s->row);
}

/* The prompt and its continuation, through a window as long as a sequence of the training. */
static tsr_status sample_next(sampling *s) {
    const tsri_train_job *job = s->job;
    tsri_text_ids all = {0};
    int32_t n;
    TRY(read_prompt(s, &n));
    if (n == 0)
        return TSR_OK;
    tsr_status status = tsri_text_ids_append(&all, s->ids, (size_t)n);
    for (int64_t i = 0; i < job->settings.sample_tokens && status == TSR_OK && !job->stop; i++) {
        const tsri_training_batch batch = {.B = 1, .T = n, .ids = s->ids, .len = &n};
        status = append(s, &batch, n - 1);
        if (status != TSR_OK)
            break;
        const double uniform =
            tsri_base_uniform((uint64_t)job->settings.seed, (uint64_t)job->at.step, (uint64_t)i);
        const int32_t id = draw(s->row, s->model->spec.vocab, uniform);
        if (ends(&s->model->spec, id))
            break;
        status = tsri_text_ids_append(&all, &id, 1);
        if (n == s->most) { /* drop the older half */
            n -= (n + 1) / 2;
            memmove(s->ids, s->ids + (s->most + 1) / 2, (size_t)n * sizeof *s->ids);
        }
        s->ids[n++] = id;
    }
    if (status == TSR_OK)
        status = decode(s->source, all.data, (int32_t)all.count, s->text);
    tsri_text_ids_clear(&all);
    return status;
}

/* ---- a translation ---- */

/* Translates the prompt, where it has tokens; else the source that `one` has: the first example's.
 */
static tsr_status translate(sampling *s, tsri_training_batch one, tsri_text_ids *prompt) {
    const tsri_train_job *job = s->job;
    const char *text = job->settings.sample_prompt;
    int32_t n = 1, given;
    if (*text && tsri_train_data_source(job->data, text, strlen(text), prompt) == TSR_OK) {
        given = one.S = (int32_t)prompt->count;
        one.source = prompt->data;
        one.source_len = &given;
    }
    TRY(decode(s->source, one.source, one.source_len[0], s->text));
    TRY(tsri_base_bytes_append(s->text, " -> ", 4));
    s->ids[0] = one.ids[0];
    one.ids = s->ids;
    one.len = &n;
    while (n < s->most && n <= job->settings.sample_tokens && !job->stop) {
        one.T = n;
        TRY(append(s, &one, n - 1));
        const int32_t id = argmax(s->row, s->model->spec.vocab);
        if (ends(&s->model->spec, id))
            break;
        s->ids[n++] = id;
    }
    return decode(s->target, s->ids + 1, n - 1, s->text);
}

static tsr_status sample_translation(sampling *s) {
    tsri_training_batch all;
    tsri_text_ids prompt = {0};
    TRY(first_batch(s, &all));
    const tsr_status status = translate(s, only(&all, 0), &prompt);
    tsri_text_ids_clear(&prompt);
    return status;
}

/* ---- masked words ---- */

/* Some masked places of the first text: the model's guess, and the original in brackets. */
static tsr_status sample_masked(sampling *s) {
    tsri_training_batch all;
    int32_t shown = 0;
    TRY(first_batch(s, &all));
    const tsri_training_batch one = only(&all, 0);
    for (int32_t t = 0; t < one.len[0] && shown < SHOWN && !s->job->stop; t++) {
        const int32_t wanted = all.targets[t];
        if (wanted == TSRI_TRAINING_IGNORE)
            continue;
        TRY(append(s, &one, t));
        const int32_t guess = argmax(s->row, s->model->spec.vocab);
        if (shown++ > 0)
            TRY(tsri_base_bytes_append(s->text, ", ", 2));
        TRY(decode(s->source, &guess, 1, s->text));
        TRY(tsri_base_bytes_append(s->text, " (", 2));
        TRY(decode(s->source, &wanted, 1, s->text));
        TRY(tsri_base_bytes_append(s->text, ")", 1));
    }
    return TSR_OK;
}

/* ---- a label ---- */

static tsr_status sample_label(sampling *s) {
    const tsri_model_spec *spec = &s->model->spec;
    tsri_training_batch all;
    double sum = 0;
    TRY(first_batch(s, &all));
    const tsri_training_batch one = only(&all, 0);
    TRY(append(s, &one, 0));
    const int32_t best = argmax(s->row, spec->labels);
    for (int32_t k = 0; k < spec->labels; k++)
        sum += exp((double)(s->row[k] - s->row[best]));
    TRY(decode(s->source, one.ids, one.len[0], s->text));
    return tsri_base_bytes_printf(s->text, " -> %s (%.2f)", spec->label_of[best], 1 / sum);
}

/* ---- labels of words ---- */

static tsr_status sample_word(const sampling *s, const int32_t *ids, int32_t n, const char *label) {
    tsri_bytes word = {0};
    tsr_status status = decode(s->source, ids, n, &word);
    const char *text = word.data ? word.data : "";
    if (status == TSR_OK) /* some tokenizers' words begin with a blank */
        status = tsri_base_bytes_printf(s->text, "%s%s/%s", s->text->size ? " " : "",
                                        text + (*text == ' '), label);
    tsri_base_bytes_clear(&word);
    return status;
}

/* The first text, each word with the label that the model gives it. */
static tsr_status sample_words(sampling *s) {
    const tsri_model_spec *spec = &s->model->spec;
    tsri_training_batch all;
    TRY(first_batch(s, &all));
    const tsri_training_batch one = only(&all, 0);
    const float *row = s->row;
    TRY(tsri_training_logits(s->job->training, &one, NULL, s->row));
    for (int32_t t = 0, end; t < one.len[0] && s->text->size < LONGEST; t = end) {
        end = t + 1;
        if (one.targets[t] == TSRI_TRAINING_IGNORE)
            continue;
        while (end < one.len[0] && one.targets[end] == TSRI_TRAINING_IGNORE &&
               !tsri_text_is_special(s->source, one.ids[end]))
            end++;
        TRY(sample_word(s, one.ids + t, end - t, spec->label_of[argmax(row, spec->labels)]));
        row += spec->labels;
    }
    return TSR_OK;
}

/* Cuts a text to about one line, at the end of a character. */
static void cut(tsri_bytes *text) {
    if (text->size <= LONGEST)
        return;
    size_t n = LONGEST;
    while (n > 0 && ((unsigned char)text->data[n] & 0xC0) == 0x80)
        n--;
    text->data[n] = 0;
    text->size = n;
}

tsr_status tsri_train_sample(tsri_train_job *job, tsri_bytes *text) {
    static tsr_status (*const kinds[])(sampling *) = {[TSRI_OBJECTIVE_NEXT] = sample_next,
                                                      [TSRI_OBJECTIVE_MASKED] = sample_masked,
                                                      [TSRI_OBJECTIVE_TRANSLATE] =
                                                          sample_translation,
                                                      [TSRI_OBJECTIVE_CLASSIFY] = sample_label,
                                                      [TSRI_OBJECTIVE_TOKENS] = sample_words};
    const tsri_model *model = tsri_model_of(job->model);
    const tsri_model_spec *spec = &model->spec;
    const bool classify = job->objective >= TSRI_OBJECTIVE_CLASSIFY;
    const size_t rows = job->objective == TSRI_OBJECTIVE_TOKENS ? (size_t)job->plan.T : 1;
    if (!model->tokenizer || job->settings.sample_tokens == 0)
        return TSR_OK;
    sampling s = {.job = job,
                  .model = model,
                  .source = model->tokenizer,
                  .target = tsri_text_target(model->tokenizer),
                  .most = job->plan.T,
                  .text = text};
    tsr_status status = tsri_base_new(rows * (size_t)(classify ? spec->labels : spec->vocab),
                                      sizeof *s.row, &s.row);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)s.most, sizeof *s.ids, &s.ids);
    if (status == TSR_OK)
        status = kinds[job->objective](&s);
    free(s.row);
    free(s.ids);
    cut(text);
    return status;
}
