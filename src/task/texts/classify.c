/* task/texts/classify.c - labels texts and pairs of texts. */
#include "task/texts/classify.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tsri_task_scores(tsr_classifier_kind kind, float *numbers, int32_t n) {
    double sum = 0;
    float largest = numbers[0];
    if (kind == TSR_CLASSIFIER_REGRESSION)
        return;
    for (int32_t i = 0; i < n; i++)
        largest = numbers[i] > largest ? numbers[i] : largest;
    for (int32_t i = 0; i < n; i++)
        sum += exp((double)numbers[i] - (double)largest);
    for (int32_t i = 0; i < n; i++)
        numbers[i] = kind == TSR_CLASSIFIER_MULTIPLE
                         ? (float)(1 / (1 + exp(-(double)numbers[i])))
                         : (float)(exp((double)numbers[i] - (double)largest) / sum);
}

/* ---- beginning ---- */

/* Chooses the head, and what its numbers mean. */
static tsr_status choose_head(tsr_classifier *c) {
    static const tsr_classifier_kind kinds[] = {[TSRI_PROBLEM_SINGLE] = TSR_CLASSIFIER_SINGLE,
                                                [TSRI_PROBLEM_MULTIPLE] = TSR_CLASSIFIER_MULTIPLE,
                                                [TSRI_PROBLEM_REGRESSION] =
                                                    TSR_CLASSIFIER_REGRESSION};
    const tsri_model *m = c->model;
    const bool next = c->options.next;
    if (!tsri_model_weight_at(m->weights, next ? TSRI_WEIGHT_NEXT : TSRI_WEIGHT_LABEL))
        return tsri_base_fail(
            TSR_E_STATE,
            next ? "%s has no next-sentence head; models of class BertForPreTraining or "
                   "BertForNextSentencePrediction have one"
                 : "%s has no classifier; models of class ...ForSequenceClassification or "
                   "...ForTokenClassification have one",
            m->path);
    c->kind = next                   ? TSR_CLASSIFIER_NEXT
              : m->spec.label_spans  ? TSR_CLASSIFIER_SPANS
              : m->spec.label_tokens ? TSR_CLASSIFIER_TOKENS
                                     : kinds[m->spec.problem];
    c->labels = next ? 2 : m->spec.labels;
    return TSR_OK;
}

/* The classifier of a decoder reads the last token that isn't padding, as in transformers, to which each
 * pad_token_id is padding, also one that belongs to the text. The padding behind that token can be left out,
 * as no token sees those behind it. Of a GGUF file llama.cpp reads the last token, whichever it is. */
static int32_t padding_of(const tsr_classifier *c) {
    const tsri_model_spec *spec = &c->model->spec;
    const bool last = c->kind != TSR_CLASSIFIER_NEXT && !spec->label_tokens &&
                      spec->label_pooling == TSR_POOL_LAST && spec->encoder.causal;
    return last && c->model->archive->format != TSRI_IO_GGUF ? spec->pad : -1;
}

static tsr_status begin(tsr_classifier *c) {
    const int64_t most = c->options.max_tokens;
    TRY(tsri_task_check_tokens(c->model, most, c->model->spec.source_context));
    TRY(tsri_task_reader_begin(c->model, "classifying", most, &c->reader));
    TRY(choose_head(c));
    c->reader.padding = padding_of(c);
    TRY(tsri_model_sentence_pairs(c->model->archive, c->model->folder, &c->sentence));
    TRY(tsri_model_sentence_prompt(&c->sentence, c->model->path, c->options.prompt,
                                   c->options.prompt_text, &c->prompt));
    return tsri_session_create(c->model, 1, 0, &c->session);
}

tsr_status tsr_classifier_create(tsr_model *model, const tsr_classify_options *options,
                                 tsr_classifier **out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsr_classifier *c = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *c, &c));
    c->model = tsri_model_of(model);
    tsr_status status =
        tsri_base_adopt("tsr_classify_options", options, &c->options, sizeof c->options);
    if (status == TSR_OK)
        status = begin(c);
    if (status != TSR_OK)
        tsr_classifier_destroy(&c);
    *out = c;
    return status;
}

void tsr_classifier_destroy(tsr_classifier **classifier) {
    tsr_classifier *c = *classifier;
    if (!c)
        return;
    tsri_session_destroy(&c->session);
    tsri_task_passages_clear(&c->passages);
    tsri_model_sentence_clear(&c->sentence);
    free(c->raw);
    free(c);
    *classifier = NULL;
}

tsr_classifier_kind tsr_classifier_kind_of(const tsr_classifier *classifier) {
    return classifier->kind;
}

uint32_t tsr_classifier_labels(const tsr_classifier *classifier) {
    return (uint32_t)classifier->labels;
}

const char *tsr_classifier_label(const tsr_classifier *classifier, uint32_t i) {
    static const char *const next[] = {"next", "random"}, *const ends[] = {"begin", "end"};
    return classifier->kind == TSR_CLASSIFIER_NEXT    ? next[i]
           : classifier->kind == TSR_CLASSIFIER_SPANS ? ends[i]
                                                      : classifier->model->spec.label_of[i];
}

/* ---- texts ---- */

tsr_status tsri_task_classify_tell(void *classifier, size_t done) {
    const tsr_classifier *c = classifier;
    const tsr_classify_options *o = &c->options;
    if (o->progress && o->progress(o->progress_data, done, c->n))
        return tsri_base_fail(TSR_E_CANCELLED, "classifying was cancelled after %zu of %zu texts",
                              done, c->n);
    return TSR_OK;
}

static tsr_status run(void *data, const tsri_model_sequence *sequences, const size_t *which,
                      int32_t n) {
    tsr_classifier *c = data;
    const size_t labels = (size_t)c->labels;
    TRY(tsri_base_grow(&c->raw, &c->raw_room, (size_t)n * labels, sizeof *c->raw));
    const bool next = c->kind == TSR_CLASSIFIER_NEXT;
    const tsri_model_results results = {.labels = next ? NULL : c->raw,
                                        .next = next ? c->raw : NULL};
    TRY(tsri_session_encode(c->session, sequences, n, &results));
    for (int32_t i = 0; i < n; i++) {
        float *scores = c->scores + which[i] * labels;
        memcpy(scores, c->raw + (size_t)i * labels, labels * sizeof *scores);
        for (size_t l = 0; l < labels; l++)
            if (!isfinite(scores[l]))
                return tsri_base_fail(TSR_E_DEVICE,
                                      "the scores of text %zu of %zu are not finite: the weights "
                                      "are damaged, or they overflow in this dtype",
                                      which[i] + 1, c->n);
        if (!c->plain)
            tsri_task_scores(c->kind, scores, c->labels);
    }
    return TSR_OK;
}

tsr_status tsri_task_classify_pairs(const tsr_classifier *c) {
    return !c->sentence.in_template
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s: its sentence_bert_config.json names the modality \"message\", "
                                "so sentence-transformers puts pairs of texts into the tokenizer's "
                                "chat template, which is not served",
                                c->model->path);
}

/* plain: the head's own numbers. */
static tsr_status classify(tsr_classifier *c, const tsr_string *texts, const tsr_string *seconds,
                           size_t n, bool plain, float *scores, tsr_classify_stats *stats) {
    TRY(tsri_base_check_out("tsr_classify_stats", stats));
    if (c->kind == TSR_CLASSIFIER_TOKENS || c->kind == TSR_CLASSIFIER_SPANS)
        return tsri_base_fail(TSR_E_STATE, "%s labels tokens, not texts: use %s", c->model->path,
                              c->kind == TSR_CLASSIFIER_SPANS ? "tsr_answer_questions"
                                                              : "tsr_classify_tokens");
    if (seconds)
        TRY(tsri_task_classify_pairs(c));
    if (c->kind == TSR_CLASSIFIER_NEXT && !seconds)
        return tsri_base_fail(TSR_E_STATE, "next-sentence prediction needs pairs of texts");
    tsri_task_passages_reset(&c->passages);
    for (size_t i = 0; i < n; i++)
        TRY(tsri_task_passages_add(&c->reader, &c->passages, seconds ? c->prompt : "", &texts[i],
                                   seconds ? &seconds[i] : NULL));
    const tsr_classify_stats counted = {.tokens = c->passages.ids.count, .cut = c->passages.cut};
    tsri_base_give(&counted, sizeof counted, stats);
    c->scores = scores;
    c->plain = plain;
    c->n = n;
    if (n)
        memset(scores, 0, n * (size_t)c->labels * sizeof *scores); /* for texts without tokens */
    return tsri_task_passages_run(&c->passages, run, tsri_task_classify_tell, c);
}

tsr_status tsr_classify(tsr_classifier *classifier, const tsr_string *texts,
                        const tsr_string *seconds, size_t n, float *scores,
                        tsr_classify_stats *stats) {
    TRY(NEED(classifier));
    TRY(NEED_ARRAY(texts, n));
    TRY(NEED_ARRAY(scores, n));
    return classify(classifier, texts, seconds, n, false, scores, stats);
}

tsr_status tsr_classify_logits(tsr_classifier *classifier, const tsr_string *texts,
                               const tsr_string *seconds, size_t n, float *logits,
                               tsr_classify_stats *stats) {
    TRY(NEED(classifier));
    TRY(NEED_ARRAY(texts, n));
    TRY(NEED_ARRAY(logits, n));
    return classify(classifier, texts, seconds, n, true, logits, stats);
}
