/* task/measure/evaluate.c - computes the likelihood that a model gives a text. */
#include "tessera/evaluate.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/measure/windows.h"
#include "tessera/tokenizer.h"
#include "text/base/unicode.h"
#include "transport/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOGITS = 16 << 20 }; /* floats in memory at once */

/* What a window adds to the result. */
typedef struct sum {
    double nats;
    uint64_t tokens;
} sum;

typedef struct scoring {
    const tsr_perplexity_options *options;
    tsr_share *share;
    tsri_model *model;
    tsri_session *session;
    int32_t *ids;
    int64_t n, size, stride, vocab, piece; /* piece: rows of logits at once */
    float *logits;
    tsri_task_window next; /* on rank 0: the last that was given out */
    sum all, window;       /* all: of those that are done */
    uint64_t windows;
} scoring;

static tsr_status check_text(const char *text, size_t size) {
    if (!size)
        return tsri_base_fail(TSR_E_FORMAT, "the text is empty; it must have at least two tokens");
    if (tsri_text_utf8_valid(text, size))
        return TSR_OK;
    size_t at = 0;
    for (int32_t c = 0; at < size;) {
        const size_t n = tsri_text_utf8_next(text + at, size - at, &c);
        if (c < 0)
            break;
        at += n;
    }
    return tsri_base_fail(
        TSR_E_FORMAT, "byte %zu (0x%02x) does not begin a UTF-8 character; the text must be UTF-8",
        at, (unsigned)(unsigned char)text[at]);
}

static tsr_status check_model(const tsri_model *model) {
    if (model->spec.encoder.layers && model->spec.decoder.layers)
        return tsri_base_fail(TSR_E_STATE,
                              "%s (%s) writes from a source, and perplexity is of a text alone; "
                              "score its translations (tessera evaluate --parallel)",
                              model->path, model->spec.family);
    return tsri_model_need_device(model);
}

static tsr_status check_sizes(const tsri_model *model, const tsr_perplexity_options *o,
                              tsr_perplexity *out) {
    const int64_t most = model->spec.context;
    out->window = o->window ? o->window : most;
    out->stride = o->stride ? o->stride : out->window / 2;
    if (out->window < 2 || out->window > most)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a window of %" PRId64
                              " tokens was asked for; %s reads windows of 2 to %" PRId64,
                              out->window, model->path, most);
    if (out->stride < 1 || out->stride >= out->window)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a stride of %" PRId64
                              " tokens was asked for; with a window of %" PRId64
                              " it must be 1 to %" PRId64 ", so that each token has one before it",
                              out->stride, out->window, out->window - 1);
    return TSR_OK;
}

/* -ln p(id), from one row of logits. */
static double nats_of(const float *logits, int64_t vocab, int32_t id) {
    float largest = logits[0];
    double sum = 0;
    for (int64_t i = 1; i < vocab; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int64_t i = 0; i < vocab; i++)
        sum += (double)expf(logits[i] - largest);
    return log(sum) + (double)largest - (double)logits[id];
}

/* Runs tokens begin .. begin + n - 1 of the text, after those of the window before them; the logits
 * of each token give the likelihood of the next one. */
static tsr_status score_piece(scoring *s, const tsri_task_window *w, int64_t begin, int64_t n) {
    const tsri_model_sequence sequence = {
        .ids = s->ids + begin, .n = n, .past = begin - w->begin, .length = w->end - w->begin};
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = s->logits};
    TRY(tsri_session_forward(s->session, &sequence, 1, &results));
    for (int64_t i = 0; i < n; i++) {
        const double nats = nats_of(s->logits + i * s->vocab, s->vocab, s->ids[begin + i + 1]);
        if (!isfinite(nats))
            return tsri_base_fail(TSR_E_DEVICE,
                                  "the logits of token %" PRId64
                                  " are not numbers: the weights are "
                                  "damaged, or they overflow in this dtype",
                                  begin + i);
        s->window.nats += nats;
    }
    s->window.tokens += (uint64_t)n;
    if (s->options->progress &&
        s->options->progress(s->options->progress_data, s->all.tokens + s->window.tokens,
                             (uint64_t)s->n - 1))
        return tsri_base_fail(TSR_E_CANCELLED, "the evaluation was cancelled");
    return tsr_share_poll(s->share);
}

/* A session for a window of `length` tokens. With longrope its context chooses the factors, which in
 * transformers the length of the window does: the text, or its last window, may be a short one. */
static tsr_status need_session(scoring *s, int64_t length) {
    const tsri_model_rope *rope = &s->model->spec.decoder.rope;
    const bool is_short =
        rope->scaling == TSRI_SCALING_LONGROPE && length <= rope->original_positions;
    const int64_t context =
        is_short && s->size > rope->original_positions ? rope->original_positions : s->size;
    if (s->session && tsri_session_context(s->session) == context)
        return TSR_OK;
    tsri_session_destroy(&s->session);
    return tsri_session_create(s->model, 1, context, &s->session);
}

static tsr_status score_window(scoring *s, const tsri_task_window *w) {
    const int64_t length = w->end - w->begin,
                  context = w->from - 1 - w->begin; /* tokens that are read but not scored */
    s->window = (sum){0};
    TRY(need_session(s, length));
    if (context) {
        int32_t argmax;
        const tsri_model_sequence sequence = {
            .ids = s->ids + w->begin, .n = context, .length = length};
        const tsri_model_results results = {.rows = TSRI_ROWS_LAST, .argmax = &argmax};
        TRY(tsri_session_forward(s->session, &sequence, 1, &results));
    }
    for (int64_t at = w->from - 1; at < w->end - 1; at += s->piece) {
        const int64_t left = w->end - 1 - at;
        TRY(score_piece(s, w, at, left < s->piece ? left : s->piece));
    }
    return TSR_OK;
}

/* ---- the windows of all ranks ---- */

static int make(void *data, int wait, uint64_t most, const void **block, size_t *n) {
    scoring *s = data;
    (void)wait;
    (void)most;
    *block = &s->next;
    *n = sizeof s->next;
    return tsri_task_window_next(s->n, s->size, s->stride, &s->next);
}

static int take(void *data, const void *result, size_t n) {
    scoring *s = data;
    const sum *done = result;
    (void)n;
    s->all.nats += done->nats;
    s->all.tokens += done->tokens;
    s->windows++;
    return 0;
}

static int stop(void *data) {
    const scoring *s = data;
    return s->options->progress &&
           s->options->progress(s->options->progress_data, s->all.tokens, (uint64_t)s->n - 1);
}

static tsr_status score_windows(scoring *s) {
    for (;;) {
        const void *block;
        size_t n;
        tsri_task_window w;
        TRY(tsr_share_next(s->share, 1, &block, &n));
        if (!n)
            return TSR_OK;
        memcpy(&w, block, sizeof w);
        TRY(score_window(s, &w));
        TRY(tsr_share_give(s->share, &s->window, sizeof s->window));
    }
}

static tsr_status score(tsri_model *model, scoring *s, tsr_perplexity *out) {
    const tsr_share_options sharing = {.struct_size = sizeof sharing,
                                       .together = tsri_run_rank_count(model->run) > 1,
                                       .make = make,
                                       .take = take,
                                       .stop = stop,
                                       .data = s};
    s->model = model;
    s->size = out->window;
    s->stride = out->stride;
    s->vocab = model->spec.vocab;
    s->piece = MOST_LOGITS / s->vocab;
    s->piece = s->piece < 1 ? 1 : s->piece > out->window ? out->window : s->piece;
    TRY(tsri_base_new((size_t)(s->piece * s->vocab), sizeof *s->logits, &s->logits));
    TRY(need_session(s, out->window));
    TRY(tsr_share_begin(s->options->ranks, &sharing, &s->share));
    const uint64_t begun = tsri_base_now_ns();
    const tsr_status status = score_windows(s);
    out->nanoseconds = tsri_base_now_ns() - begun;
    out->windows = s->windows;
    return status;
}

/* Rank 0 makes the ids of the text; the others get them. */
static tsr_status read_ids(tsr_model *model, const char *text, size_t size, scoring *s) {
    tsr_ranks *ranks = s->options->ranks;
    size_t n = 0;
    const bool first = tsri_ranks_rank(ranks) == 0;
    if (first) {
        TRY(check_text(text, size));
        TRY(tsr_encode(model, text, size, TSR_ENCODE_ADD_SPECIAL | TSR_ENCODE_PARSE_SPECIAL,
                       &s->ids, &n));
        if (n < 2)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "the text has %zu token; at least two are needed: the first has "
                                  "none before it, and so is not scored",
                                  n);
    }
    s->n = (int64_t)n;
    TRY(tsri_ranks_broadcast(ranks, 0, &s->n, sizeof s->n));
    if (!first)
        TRY(tsri_base_new((size_t)s->n, sizeof *s->ids, &s->ids));
    return tsri_ranks_broadcast(ranks, 0, s->ids, (uint64_t)s->n * sizeof *s->ids);
}

tsr_status tsr_evaluate_perplexity(tsr_model *model, const char *text, size_t size,
                                   const tsr_perplexity_options *options, tsr_perplexity *out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsr_perplexity_options known;
    TRY(tsri_base_adopt("tsr_perplexity_options", options, &known, sizeof known));
    if (tsri_ranks_rank(known.ranks) == 0)
        TRY(NEED(text));
    TRY(tsri_base_check_out("tsr_perplexity", out));
    tsri_model *m = tsri_model_of(model);
    scoring s = {.options = &known};
    tsr_perplexity p = {.struct_size = sizeof p, .bytes = size};
    TRY(check_model(m));
    TRY(check_sizes(m, s.options, &p));
    tsr_status status = read_ids(model, text, size, &s);
    if (status == TSR_OK)
        status = score(m, &s, &p);
    tsr_share_end(&s.share);
    tsri_session_destroy(&s.session);
    free(s.logits);
    tsr_ids_free(s.ids);
    if (status != TSR_OK)
        return status;
    p.tokens = s.all.tokens;
    if (p.tokens) {
        p.loss = s.all.nats / (double)p.tokens;
        p.perplexity = exp(p.loss);
        p.bits_per_byte = s.all.nats / log(2) / (double)size;
    }
    tsri_base_give(&p, sizeof p, out);
    return TSR_OK;
}
