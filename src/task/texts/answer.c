/* task/texts/answer.c - answers questions: cuts each text into windows beside its question, runs them, and
 * gives the best spans. */
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/texts/answers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 384, STRIDE = 128, LONGEST = 15 }; /* transformers' */

/* The windows of one text, and where its words are. */
typedef struct asked {
    size_t first_window, windows, first_place;
} asked;

struct tsr_answerer {
    tsri_model *model;
    tsri_session *session;
    tsri_task_reader reader;
    tsri_task_passages passages;
    tsr_answerer_options options;
    tsri_task_choice choice;
    int64_t stride;
    tsri_task_window_of *windows;
    asked *asked;             /* [questions] */
    tsri_task_offset *places; /* of all texts' tokens */
    tsri_text_ids ids, words; /* scratch: of one text */
    float *raw, *numbers;     /* of a run; of all tokens of the call, [tokens, 2] */
    size_t n_windows, n_places, windows_room, asked_room, places_room, raw_room, numbers_room;
    tsri_task_answers answers;
    tsr_answer_span *best; /* [top_k + 1] */
};

/* ---- beginning ---- */

static tsr_status check_sizes(tsr_answerer *a) {
    const tsr_answerer_options *o = &a->options;
    const int64_t reads = a->model->spec.source_context, usual = a->reader.max_tokens;
    const int64_t window = o->window ? o->window : usual < WINDOW ? usual : WINDOW;
    if (window > reads || window < (int64_t)a->reader.around_pair + 2)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a window of %" PRId64
                              " tokens was asked for; with %s it must be %zu to %" PRId64,
                              window, a->model->path, a->reader.around_pair + 2, reads);
    a->stride = o->stride ? o->stride : window / 2 < STRIDE ? window / 2 : STRIDE;
    if (a->stride < 0 || a->stride >= window)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a stride of %" PRId64
                              " tokens was asked for; with a window of %" PRId64
                              " it must be 1 to %" PRId64,
                              a->stride, window, window - 1);
    a->reader.max_tokens = window;
    a->choice = (tsri_task_choice){.top_k = o->top_k ? o->top_k : 1,
                                   .longest = o->longest ? o->longest : LONGEST,
                                   .no_answer = o->no_answer};
    return TSR_OK;
}

static tsr_status begin(tsr_answerer *a) {
    TRY(tsri_task_reader_begin(a->model, "answering", 0, &a->reader));
    if (!a->model->spec.label_spans)
        return tsri_base_fail(TSR_E_STATE,
                              "%s does not answer questions; models of class "
                              "...ForQuestionAnswering do",
                              a->model->path);
    TRY(check_sizes(a));
    TRY(tsri_base_new((size_t)a->choice.top_k + 1, sizeof *a->best, &a->best));
    return tsri_session_create(a->model, 1, 0, &a->session);
}

tsr_status tsr_answerer_create(tsr_model *model, const tsr_answerer_options *options,
                               tsr_answerer **out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsr_answerer *a = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *a, &a));
    a->model = tsri_model_of(model);
    tsr_status status =
        tsri_base_adopt("tsr_answerer_options", options, &a->options, sizeof a->options);
    if (status == TSR_OK)
        status = begin(a);
    if (status != TSR_OK)
        tsr_answerer_destroy(&a);
    *out = a;
    return status;
}

void tsr_answerer_destroy(tsr_answerer **answerer) {
    tsr_answerer *a = *answerer;
    if (!a)
        return;
    tsri_session_destroy(&a->session);
    tsri_task_passages_clear(&a->passages);
    tsri_task_answers_clear(&a->answers);
    tsri_text_ids_clear(&a->ids);
    tsri_text_ids_clear(&a->words);
    free(a->windows);
    free(a->asked);
    free(a->places);
    free(a->raw);
    free(a->numbers);
    free(a->best);
    free(a);
    *answerer = NULL;
}

/* ---- windows ---- */

/* Finds where the words of a text's tokens are. */
static tsr_status place_words(tsr_answerer *a, const tsr_string *text, asked *asked) {
    const tsri_text_tokenizer *t = a->reader.tokenizer;
    a->ids.count = a->words.count = 0;
    TRY(tsri_text_encode_words(t, text->data, text->size, TSRI_TEXT_PARSE_SPECIAL, &a->ids,
                               &a->words));
    const size_t n = a->ids.count;
    asked->first_place = a->n_places;
    TRY(tsri_base_grow(&a->places, &a->places_room, a->n_places + n + 1, sizeof *a->places));
    tsri_task_offset *places = a->places + a->n_places;
    TRY(tsri_task_offsets(t, text->data, text->size, a->ids.data, n, places));
    tsri_task_mark_words(text->data, a->words.data, places, n);
    a->n_places += n;
    return TSR_OK;
}

/* Whether a window's first token, that of `ids`, says that there is no answer: cls_token does. Where no file
 * names one, it is what the tokenizer of an encoder puts first, the default of its class in transformers;
 * decoders have none. */
static bool begins_with_null(const tsr_answerer *a, const int32_t *ids) {
    const int32_t null = tsri_text_role_id(a->reader.tokenizer, TSRI_TEXT_CLS);
    return null >= 0 ? *ids == null : a->reader.before && !a->model->spec.encoder.causal;
}

static tsr_status add_window(tsr_answerer *a, const tsri_task_pair *pair, size_t keep, size_t first,
                             size_t n) {
    tsri_task_passages *p = &a->passages;
    TRY(tsri_task_passages_add_part(&a->reader, p, pair, keep, first, n));
    TRY(tsri_base_grow(&a->windows, &a->windows_room, a->n_windows + 1, sizeof *a->windows));
    a->windows[a->n_windows++] =
        (tsri_task_window_of){.passage = p->n - 1,
                              .begin = pair->begin_b - (pair->na - keep),
                              .first = first,
                              .n = n,
                              .null = begins_with_null(a, p->ids.data + p->starts[p->n - 1])};
    return TSR_OK;
}

/* Adds the windows of one text: each shares `stride` tokens with the one before it. */
static tsr_status read_text(tsr_answerer *a, const tsr_string *question, const tsr_string *text,
                            asked *asked, uint64_t *cut) {
    tsri_task_pair pair;
    TRY(place_words(a, text, asked));
    asked->first_window = a->n_windows;
    TRY(tsri_task_passages_pair(&a->reader, &a->passages, question, text, &pair));
    const size_t all = (size_t)a->reader.max_tokens - a->reader.around_pair;
    const size_t keep = pair.na <= all * 3 / 4 || pair.na + pair.nb <= all ? pair.na : all * 3 / 4,
                 room = all - keep, shared = (size_t)a->stride,
                 step = room - (shared < room ? shared : room / 2);
    *cut += keep < pair.na;
    for (size_t first = 0; pair.nb; first += step) {
        const size_t left = pair.nb - first, n = left < room ? left : room;
        TRY(add_window(a, &pair, keep, first, n));
        if (n == left)
            break;
    }
    asked->windows = a->n_windows - asked->first_window;
    return TSR_OK;
}

static tsr_status read_all(tsr_answerer *a, const tsr_string *questions, const tsr_string *texts,
                           size_t n, uint64_t *cut) {
    tsri_task_passages_reset(&a->passages);
    a->n_windows = a->n_places = 0;
    TRY(tsri_base_grow(&a->asked, &a->asked_room, n + 1, sizeof *a->asked));
    for (size_t i = 0; i < n; i++) {
        const tsr_status status = read_text(a, &questions[i], &texts[i], &a->asked[i], cut);
        if (status != TSR_OK)
            return tsri_base_fail_within(status, "text %zu", i + 1);
    }
    return tsri_base_grow(&a->numbers, &a->numbers_room, 2 * a->passages.ids.count + 1,
                          sizeof *a->numbers);
}

/* ---- running ---- */

static tsr_status run(void *data, const tsri_model_sequence *sequences, const size_t *which,
                      int32_t n) {
    tsr_answerer *a = data;
    size_t tokens = 0;
    for (int32_t i = 0; i < n; i++)
        tokens += (size_t)sequences[i].n;
    TRY(tsri_base_grow(&a->raw, &a->raw_room, 2 * tokens, sizeof *a->raw));
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .labels = a->raw};
    TRY(tsri_session_encode(a->session, sequences, n, &results));
    for (size_t i = 0; i < 2 * tokens; i++)
        if (!isfinite(a->raw[i]))
            return tsri_base_fail(TSR_E_DEVICE,
                                  "the numbers of a token are not finite: the weights "
                                  "are damaged, or they overflow in this dtype");
    const float *from = a->raw;
    for (int32_t i = 0; i < n; i++) {
        const size_t numbers = 2 * (size_t)sequences[i].n;
        memcpy(a->numbers + 2 * a->passages.starts[which[i]], from, numbers * sizeof *from);
        from += numbers;
    }
    return TSR_OK;
}

static tsr_status tell(void *data, size_t done) {
    const tsr_answerer *a = data;
    const tsr_answerer_options *o = &a->options;
    if (o->progress && o->progress(o->progress_data, done, a->n_windows))
        return tsri_base_fail(TSR_E_CANCELLED,
                              "answering was cancelled after %zu of %zu windows of texts", done,
                              a->n_windows);
    return TSR_OK;
}

static tsr_status choose(tsr_answerer *a, const asked *asked, const tsr_string *text, size_t *n) {
    tsri_task_answers_begin(&a->answers);
    for (size_t i = 0; i < asked->windows; i++) {
        const tsri_task_window_of *w = &a->windows[asked->first_window + i];
        TRY(tsri_task_answers_take(&a->answers, &a->choice, w,
                                   a->numbers + 2 * a->passages.starts[w->passage], text,
                                   a->places + asked->first_place));
    }
    *n = tsri_task_answers_end(&a->answers, &a->choice, a->best);
    return TSR_OK;
}

tsr_status tsr_answer_questions(tsr_answerer *a, const tsr_string *questions,
                                const tsr_string *texts, size_t n,
                                int (*visit)(void *data, size_t question,
                                             const tsr_answer_span *answers, size_t n_answers),
                                void *data, tsr_answerer_stats *stats) {
    uint64_t cut = 0;
    size_t found;
    TRY(NEED(a));
    TRY(NEED_ARRAY(questions, n));
    TRY(NEED_ARRAY(texts, n));
    TRY(NEED(visit));
    TRY(tsri_base_check_out("tsr_answerer_stats", stats));
    TRY(read_all(a, questions, texts, n, &cut));
    const tsr_answerer_stats counted = {
        .tokens = a->passages.ids.count, .windows = a->n_windows, .cut = cut};
    tsri_base_give(&counted, sizeof counted, stats);
    TRY(tsri_task_passages_run(&a->passages, run, tell, a));
    for (size_t i = 0; i < n; i++) {
        TRY(choose(a, &a->asked[i], &texts[i], &found));
        if (visit(data, i, a->best, found))
            return tsri_base_fail(TSR_E_CANCELLED, "answering was cancelled");
    }
    return TSR_OK;
}
