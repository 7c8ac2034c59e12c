/* task/texts/rank.c - ranks texts by a cross-encoder, or by a language model that is asked. */
#include "tessera/rank.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/texts/classify.h"
#include "task/texts/ranking_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 4, MOST = 8192 }; /* texts of a run of a language model; tokens that it reads */

struct tsr_ranker {
    tsr_model *handle;
    tsri_model *model;
    tsr_rank_options options;
    tsr_classifier *classifier; /* of a cross-encoder, or NULL */
    const tsri_task_ranking_words
        *words; /* of a language model, or of a classifier made from one */
    tsri_session *session;
    tsri_task_reader reader; /* where there are words */
    tsri_task_passages passages;
    tsri_model_sentence sentence; /* its prompts, where there are words */
    const char *instruction;      /* NULL: that of the words */
    int32_t yes, no; /* of the logits, or of the labels; no -1: that of yes counts alone */
    tsr_string *questions;
    float *raw, *scores;
    size_t questions_room, raw_room, n;
};

/* ---- beginning ---- */

static int tell_classifier(void *data, uint64_t done, uint64_t total) {
    const tsr_rank_options *o = &((tsr_ranker *)data)->options;
    return o->progress ? o->progress(o->progress_data, done, total) : 0;
}

static tsr_status begin_classifier(tsr_ranker *r) {
    const tsr_classify_options options = {.struct_size = sizeof options,
                                          .max_tokens = r->options.max_tokens,
                                          .prompt = r->options.prompt,
                                          .prompt_text = r->options.prompt_text,
                                          .progress = tell_classifier,
                                          .progress_data = r};
    TRY(tsr_classifier_create(r->handle, &options, &r->classifier));
    TRY(tsri_task_classify_pairs(r->classifier));
    const tsr_classifier_kind kind = tsr_classifier_kind_of(r->classifier);
    if (tsr_classifier_labels(r->classifier) == 1 && kind != TSR_CLASSIFIER_TOKENS)
        return TSR_OK;
    return tsri_base_fail(TSR_E_STATE,
                          "%s has a classifier of %" PRIu32
                          " labels; ranking needs a cross-encoder, whose classifier has one "
                          "label, or labels named yes and no in a language model",
                          r->model->path, tsr_classifier_labels(r->classifier));
}

static tsr_status find_token(const tsr_ranker *r, const char *name, int32_t *id) {
    *id = name ? tsri_text_id_of(r->model->tokenizer, name, strlen(name)) : -1;
    return !name || *id >= 0
               ? TSR_OK
               : tsri_base_fail(TSR_E_STATE,
                                "%s: the tokenizer has no token \"%s\", which a %s that "
                                "ranks texts answers with",
                                r->model->path, name, r->model->spec.family);
}

/* A prompt is the instruction of a language model that reads one, as Qwen3-Reranker's template for
 * sentence-transformers has it. */
static tsr_status choose_instruction(tsr_ranker *r) {
    const tsr_rank_options *o = &r->options;
    const char *prompt;
    TRY(tsri_model_sentence_pairs(r->model->archive, r->model->folder, &r->sentence));
    TRY(tsri_model_sentence_prompt(&r->sentence, r->model->path, o->prompt, o->prompt_text,
                                   &prompt));
    if (o->instruction && (o->prompt || o->prompt_text))
        return tsri_base_fail(TSR_E_ARGUMENT, "an instruction and a prompt were asked for, which "
                                              "stands in the same place: give one of them");
    if (!r->words->instruction && *prompt)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s is a language model of the family %s, which reads no prompt; "
                              "\"%s\" would stand before the question: ask for the prompt \"\" to "
                              "leave it out",
                              r->model->path, r->model->spec.family, prompt);
    r->instruction = o->instruction ? o->instruction : *prompt ? prompt : NULL;
    return TSR_OK;
}

static tsr_status begin_words(tsr_ranker *r) {
    const tsri_model *m = r->model;
    const int64_t reads = m->spec.decoder.layers ? m->spec.context : m->spec.source_context,
                  asked = r->options.max_tokens;
    TRY(tsri_model_need_device(m));
    TRY(tsri_task_need_tokenizer(m, "ranking"));
    TRY(tsri_task_check_tokens(m, asked, reads));
    TRY(choose_instruction(r));
    r->reader = (tsri_task_reader){.tokenizer = m->tokenizer,
                                   .padding = -1,
                                   .max_tokens = asked          ? asked
                                                 : reads < MOST ? reads
                                                                : MOST};
    if (m->spec.encoder.layers) /* a classifier, whose labels are known */
        return tsri_session_create(r->model, 1, 0, &r->session);
    r->yes = m->spec.judged_yes;
    r->no = m->spec.judged_no;
    if (r->yes < 0) {
        TRY(find_token(r, r->words->yes, &r->yes));
        TRY(find_token(r, r->words->no, &r->no));
    }
    return tsri_session_create(r->model, TOGETHER, r->reader.max_tokens, &r->session);
}

/* Whether a classifier judges a text: by one label, or by two that are named as the words' answers. */
static bool finds_labels(tsr_ranker *r) {
    const tsri_model_spec *spec = &r->model->spec;
    const tsri_model_weight *label = tsri_model_weight_at(r->model->weights, TSRI_WEIGHT_LABEL);
    if (!label || spec->label_tokens)
        return false;
    r->yes = r->no = -1;
    for (int32_t i = 0; i < spec->labels && spec->label_of; i++)
        if (!strcmp(spec->label_of[i], r->words->yes))
            r->yes = i;
        else if (r->words->no && !strcmp(spec->label_of[i], r->words->no))
            r->no = i;
    if (label->dims[0] == 2)
        return r->yes >= 0 && r->no >= 0;
    r->yes = 0;
    r->no = -1;
    return label->dims[0] == 1;
}

static tsr_status begin(tsr_ranker *r) {
    const tsri_model_spec *spec = &r->model->spec;
    const bool writes =
        spec->decoder.layers && !spec->encoder.layers && tsri_model_has_output(r->model->weights);
    r->words = tsri_task_ranking_words_of(spec->family);
    if (r->words && (writes || finds_labels(r)))
        return begin_words(r);
    r->words = NULL;
    if (spec->decoder.layers)
        return tsri_base_fail(TSR_E_STATE,
                              "%s is of the family %s, which does not rank texts; cross-encoders "
                              "do, and language models of these families: %s",
                              r->model->path, spec->family, tsri_task_ranking_families());
    return begin_classifier(r);
}

tsr_status tsr_ranker_create(tsr_model *model, const tsr_rank_options *options, tsr_ranker **out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsr_ranker *r = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *r, &r));
    r->handle = model;
    r->model = tsri_model_of(model);
    tsr_status status =
        tsri_base_adopt("tsr_rank_options", options, &r->options, sizeof r->options);
    if (status == TSR_OK)
        status = begin(r);
    if (status == TSR_OK && r->options.instruction && !(r->words && r->words->instruction))
        status = tsri_base_fail(TSR_E_ARGUMENT,
                                "%s reads no instruction; only a language model of the family "
                                "qwen3 does",
                                r->model->path);
    if (status != TSR_OK)
        tsr_ranker_destroy(&r);
    *out = r;
    return status;
}

void tsr_ranker_destroy(tsr_ranker **ranker) {
    tsr_ranker *r = *ranker;
    if (!r)
        return;
    tsri_session_destroy(&r->session);
    tsr_classifier_destroy(&r->classifier);
    tsri_task_passages_clear(&r->passages);
    tsri_model_sentence_clear(&r->sentence);
    free(r->questions);
    free(r->raw);
    free(r);
    *ranker = NULL;
}

/* ---- texts ---- */

static float sigmoid(double x) {
    return (float)(1 / (1 + exp(-x)));
}

static tsr_status rank_by_classifier(tsr_ranker *r, tsr_string question, const tsr_string *texts,
                                     size_t n, float *scores, tsr_classify_stats *stats) {
    TRY(tsri_base_grow(&r->questions, &r->questions_room, n + 1, sizeof *r->questions));
    for (size_t i = 0; i < n; i++)
        r->questions[i] = question;
    TRY(tsr_classify(r->classifier, r->questions, texts, n, scores, stats));
    for (size_t i = 0; i < n && tsr_classifier_kind_of(r->classifier) == TSR_CLASSIFIER_REGRESSION;
         i++)
        scores[i] = sigmoid((double)scores[i]);
    return TSR_OK;
}

static tsr_status keep_score(tsr_ranker *r, size_t text, const float *answers) {
    const double number = (double)answers[r->yes] - (r->no < 0 ? 0 : (double)answers[r->no]);
    if (!isfinite(number))
        return tsri_base_fail(TSR_E_DEVICE,
                              "the score of text %zu of %zu is not finite: the weights are "
                              "damaged, or they overflow in this dtype",
                              text + 1, r->n);
    r->scores[text] = sigmoid(number);
    return TSR_OK;
}

/* A few texts, by the language model. */
static tsr_status judge(tsr_ranker *r, const tsri_model_sequence *sequences, const size_t *which,
                        int32_t n) {
    const size_t V = (size_t)r->model->spec.vocab;
    tsri_model_sequence few[TOGETHER];
    TRY(tsri_base_grow(&r->raw, &r->raw_room, TOGETHER * V, sizeof *r->raw));
    const tsri_model_results results = {.logits = r->raw};
    for (int32_t i = 0; i < n; i++)
        few[i] = (tsri_model_sequence){.ids = sequences[i].ids, .n = sequences[i].n, .slot = i};
    TRY(tsri_session_forward(r->session, few, n, &results));
    for (int32_t i = 0; i < n; i++)
        TRY(keep_score(r, which[i], r->raw + (size_t)i * V));
    return TSR_OK;
}

static tsr_status run(void *data, const tsri_model_sequence *sequences, const size_t *which,
                      int32_t n) {
    tsr_ranker *r = data;
    for (int32_t i = 0; r->model->spec.decoder.layers && i < n; i += TOGETHER)
        TRY(judge(r, sequences + i, which + i, n - i < TOGETHER ? n - i : TOGETHER));
    if (r->model->spec.decoder.layers)
        return TSR_OK;
    const size_t labels = (size_t)r->model->spec.labels;
    TRY(tsri_base_grow(&r->raw, &r->raw_room, (size_t)n * labels, sizeof *r->raw));
    const tsri_model_results results = {.labels = r->raw};
    TRY(tsri_session_encode(r->session, sequences, n, &results));
    for (int32_t i = 0; i < n; i++)
        TRY(keep_score(r, which[i], r->raw + (size_t)i * labels));
    return TSR_OK;
}

static tsr_status tell(void *data, size_t done) {
    const tsr_ranker *r = data;
    const tsr_rank_options *o = &r->options;
    if (o->progress && o->progress(o->progress_data, done, r->n))
        return tsri_base_fail(TSR_E_CANCELLED, "ranking was cancelled after %zu of %zu texts", done,
                              r->n);
    return TSR_OK;
}

static tsr_status rank_by_words(tsr_ranker *r, tsr_string question, const tsr_string *texts,
                                size_t n, float *scores, tsr_classify_stats *stats) {
    tsri_task_passages *p = &r->passages;
    tsri_task_passages_reset(p);
    for (size_t i = 0; i < n; i++) {
        bool cut = false;
        TRY(tsri_task_ranking_ids(r->words, r->model->tokenizer, r->instruction, &question,
                                  &texts[i], (size_t)r->reader.max_tokens, &p->ids, &cut));
        TRY(tsri_task_passages_close(&r->reader, p));
        p->cut += cut;
    }
    const tsr_classify_stats counted = {.tokens = p->ids.count, .cut = p->cut};
    tsri_base_give(&counted, sizeof counted, stats);
    r->scores = scores;
    r->n = n;
    return tsri_task_passages_run(p, run, tell, r);
}

tsr_status tsr_rank(tsr_ranker *r, tsr_string question, const tsr_string *texts, size_t n,
                    float *scores, tsr_classify_stats *stats) {
    TRY(NEED(r));
    TRY(NEED_ARRAY(question.data, question.size));
    TRY(NEED_ARRAY(texts, n));
    TRY(NEED_ARRAY(scores, n));
    TRY(tsri_base_check_out("tsr_classify_stats", stats));
    return (r->classifier ? rank_by_classifier : rank_by_words)(r, question, texts, n, scores,
                                                                stats);
}
