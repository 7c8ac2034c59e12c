/* task/generate/beams.c - searches many texts in the slots of one session; when the search of a
 * text ends, the next text takes its slots. */
#include "task/generate/beams.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_TOP = 256 }; /* the host finds a longer list faster, from the whole row */

typedef struct lane { /* the slots for one text */
    tsri_task_beam *beam;
    const tsri_task_text *text; /* NULL: free */
    int64_t fed;                /* how many tokens of its hypotheses are in the slots */
} lane;

struct tsri_task_beams {
    tsri_model *model;
    tsri_session *session;
    tsri_task_beams_options options;
    lane *lanes;                 /* [texts] */
    tsri_model_sequence *inputs; /* [texts * K] sequences of a batch, or sources to encode */
    tsri_task_row *rows;         /* [texts * K] */
    float *top_logits, *top_lse, *logits;
    int32_t *top_ids, *argmax;
    float **cross; /* [layers] for the coverage penalty, or NULL */
    float *attention;
    size_t logits_room, cross_room, attention_room;
    int32_t top_room; /* candidates that each row has room for */
    bool encoder;
};

void tsri_task_beams_destroy(tsri_task_beams **search) {
    tsri_task_beams *s = *search;
    if (!s)
        return;
    for (int32_t i = 0; s->lanes && i < s->options.texts; i++)
        tsri_task_beam_destroy(&s->lanes[i].beam);
    for (int32_t i = 0; s->cross && i < s->model->spec.decoder.layers; i++)
        free(s->cross[i]);
    tsri_session_destroy(&s->session);
    free(s->lanes);
    free(s->inputs);
    free(s->rows);
    free(s->top_logits);
    free(s->top_lse);
    free(s->top_ids);
    free(s->logits);
    free(s->argmax);
    free(s->cross);
    free(s->attention);
    free(s);
    *search = NULL;
}

static tsr_status make_room(tsri_task_beams *s) {
    const int32_t K = s->options.rules->beams;
    const size_t rows = (size_t)s->options.texts * (size_t)K;
    s->top_room = s->model->spec.vocab < DEVICE_TOP ? s->model->spec.vocab : DEVICE_TOP;
    const size_t top = rows * (size_t)s->top_room;
    TRY(tsri_base_new((size_t)s->options.texts, sizeof *s->lanes, &s->lanes));
    TRY(tsri_base_new(rows, sizeof *s->inputs, &s->inputs));
    TRY(tsri_base_new(rows, sizeof *s->rows, &s->rows));
    TRY(tsri_base_new(top, sizeof *s->top_logits, &s->top_logits));
    TRY(tsri_base_new(top, sizeof *s->top_ids, &s->top_ids));
    TRY(tsri_base_new(rows, sizeof *s->top_lse, &s->top_lse));
    TRY(tsri_base_new(rows, sizeof *s->argmax, &s->argmax));
    if (s->encoder && s->options.rules->coverage_penalty != 0)
        TRY(tsri_base_new((size_t)s->model->spec.decoder.layers, sizeof *s->cross, &s->cross));
    for (int32_t i = 0; i < s->options.texts; i++)
        TRY(tsri_task_beam_create(s->options.rules, i * K, &s->lanes[i].beam));
    return TSR_OK;
}

tsr_status tsri_task_beams_create(tsri_model *model, const tsri_task_beams_options *options,
                                  tsri_task_beams **out) {
    tsri_task_beams *s;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->model = model;
    s->options = *options;
    s->encoder = model->spec.encoder.layers > 0;
    const tsri_session_sizes sizes = {.slots = options->texts * options->rules->beams,
                                      .context = options->context,
                                      .sources = s->encoder ? options->texts : 0,
                                      .source_context = s->encoder ? options->source_context : 0};
    tsr_status status = tsri_session_create_sized(model, &sizes, &s->session);
    if (status == TSR_OK)
        status = make_room(s);
    if (status != TSR_OK)
        tsri_task_beams_destroy(&s);
    *out = s;
    return status;
}

/* ---- texts come and go ---- */

static int32_t live_beams(const lane *l) {
    return l->text ? tsri_task_beam_live(l->beam) : 0;
}

static tsr_status begin(lane *l, const tsri_task_text *text) {
    l->text = text;
    l->fed = 0;
    return tsri_task_beam_begin(l->beam, text->prompt, text->n_prompt, text->most, text->n_source);
}

static tsr_status want(tsri_task_beams *s, int32_t n, bool fresh, tsri_model_results *results);

/* Tells the devices which step follows when the sources of n texts have been encoded. */
static tsr_status announce(tsri_task_beams *s, int32_t n) {
    int64_t longest = 1, source = 1;
    tsri_model_results results;
    if (s->cross) /* its results are made when the sequences of a step are known */
        return TSR_OK;
    for (int32_t i = 0; i < s->options.texts; i++) {
        const lane *l = &s->lanes[i];
        if (!l->text || l->fed)
            continue;
        longest = l->text->n_prompt > longest ? l->text->n_prompt : longest;
        source = l->text->n_source > source ? l->text->n_source : source;
    }
    TRY(want(s, n, longest > 1, &results));
    return tsri_session_announce(s->session, n, longest, source, s->options.rules->beams > 1,
                                 &results);
}

/* Fills the free lanes, once a quarter of them are free: encoding many texts at once is faster. */
static tsr_status fill(tsri_task_beams *s, const tsri_task_beams_ends *ends) {
    int32_t n = 0, unused = 0;
    for (int32_t i = 0; i < s->options.texts; i++)
        unused += !s->lanes[i].text;
    if (!unused || unused * 4 < s->options.texts)
        return TSR_OK;
    for (int32_t i = 0; i < s->options.texts; i++) {
        const tsri_task_text *text = NULL;
        if (s->lanes[i].text)
            continue;
        TRY(ends->next(ends->data, &text));
        if (!text)
            break;
        TRY(begin(&s->lanes[i], text));
        s->inputs[n++] = (tsri_model_sequence){.ids = text->source, .n = text->n_source, .slot = i};
    }
    const tsri_model_results nothing = {0};
    if (n && s->encoder)
        TRY(announce(s, n));
    return n && s->encoder ? tsri_session_encode(s->session, s->inputs, n, &nothing) : TSR_OK;
}

static tsr_status empty(tsri_task_beams *s, const tsri_task_beams_ends *ends) {
    for (int32_t i = 0; i < s->options.texts; i++) {
        lane *l = &s->lanes[i];
        const tsri_task_text *text = l->text;
        if (!text || tsri_task_beam_live(l->beam))
            continue;
        l->text = NULL;
        TRY(ends->found(ends->data, text, l->beam));
    }
    return TSR_OK;
}

static bool is_busy(const tsri_task_beams *s) {
    bool busy = false;
    for (int32_t i = 0; i < s->options.texts; i++)
        busy = busy || s->lanes[i].text;
    return busy;
}

/* ---- a step ---- */

static bool is_fresh(const lane *l) {
    return l->fed == 0 && tsri_task_beam_at(l->beam, 0)->n > 1;
}

/* Collects the beams of the lanes that read a prompt, or of those that read a token; returns how
 * many there are. */
static int32_t gather(tsri_task_beams *s, bool fresh) {
    const int32_t K = s->options.rules->beams;
    int32_t n = 0;
    for (int32_t i = 0; i < s->options.texts; i++) {
        lane *l = &s->lanes[i];
        const int32_t live = live_beams(l);
        if (!live || is_fresh(l) != fresh)
            continue;
        for (int32_t k = 0; k < live; k++) {
            const tsri_task_hypothesis *h = tsri_task_beam_at(l->beam, k);
            s->inputs[n++] = (tsri_model_sequence){.ids = h->ids + l->fed,
                                                   .n = h->n - l->fed,
                                                   .past = l->fed,
                                                   .keys = K > 1 ? h->keys : NULL,
                                                   .slot = i * K + k,
                                                   .source = i};
        }
    }
    return n;
}

/* The number of candidates for each row of this batch: what its texts need, rounded up to a power
 * of two so that few different plans are made; 0: whole rows. */
static int32_t candidates(const tsri_task_beams *s, bool fresh) {
    int32_t most = 0, size = 1;
    for (int32_t i = 0; i < s->options.texts; i++) {
        const lane *l = &s->lanes[i];
        if (!live_beams(l) || is_fresh(l) != fresh)
            continue;
        const int32_t wanted = tsri_task_beam_wanted(l->beam);
        if (!wanted)
            return 0;
        most = wanted > most ? wanted : most;
    }
    while (size < most)
        size *= 2;
    return size <= s->top_room ? size : most <= s->top_room ? s->top_room : 0;
}

static tsr_status want_attention(tsri_task_beams *s, int32_t n, tsri_model_results *results) {
    const tsri_model_stack *decoder = &s->model->spec.decoder;
    size_t total = 0, means = 0;
    for (int32_t i = 0; i < n; i++) {
        const size_t S = (size_t)s->lanes[s->inputs[i].source].text->n_source;
        total += (size_t)decoder->heads * (size_t)s->inputs[i].n * S;
        means += S;
    }
    for (int32_t i = 0; i < decoder->layers; i++) {
        size_t room = s->cross_room;
        TRY(tsri_base_grow(&s->cross[i], &room, total, sizeof(float)));
        if (i == decoder->layers - 1)
            s->cross_room = room;
    }
    results->cross = s->cross;
    return tsri_base_grow(&s->attention, &s->attention_room, means, sizeof *s->attention);
}

/* The attention of each sequence's last token, as the mean over the heads of the last layer. */
static void take_attention(tsri_task_beams *s, int32_t n) {
    const tsri_model_stack *decoder = &s->model->spec.decoder;
    const float *from = s->cross[decoder->layers - 1];
    float *to = s->attention;
    for (int32_t i = 0; i < n; i++) {
        const int64_t S = s->lanes[s->inputs[i].source].text->n_source, T = s->inputs[i].n;
        for (int64_t u = 0; u < S; u++) {
            double sum = 0;
            for (int32_t h = 0; h < decoder->heads; h++)
                sum += from[(h * T + T - 1) * S + u];
            to[u] = (float)(sum / decoder->heads);
        }
        s->rows[i].attention = to;
        from += decoder->heads * T * S;
        to += S;
    }
}

static tsr_status want(tsri_task_beams *s, int32_t n, bool fresh, tsri_model_results *results) {
    const int32_t k = candidates(s, fresh);
    const size_t V = (size_t)s->model->spec.vocab;
    *results = (tsri_model_results){.rows = TSRI_ROWS_LAST};
    if (s->cross)
        TRY(want_attention(s, n, results));
    if (k == 1 && s->options.rules->beams == 1 && !s->options.scores) {
        results->argmax = s->argmax;
    } else if (k) {
        results->top_k = k;
        results->top_logits = s->top_logits;
        results->top_ids = s->top_ids;
        results->top_lse = s->top_lse;
    } else {
        TRY(tsri_base_grow(&s->logits, &s->logits_room, (size_t)n * V, sizeof *s->logits));
        results->logits = s->logits;
    }
    return TSR_OK;
}

static void take_rows(tsri_task_beams *s, int32_t n, const tsri_model_results *results) {
    const int64_t V = s->model->spec.vocab, k = results->top_k;
    for (int32_t i = 0; i < n; i++) {
        if (results->argmax)
            s->rows[i] = (tsri_task_row){.ids = s->argmax + i, .n = 1};
        else if (k)
            s->rows[i] = (tsri_task_row){.logits = s->top_logits + i * k,
                                         .ids = s->top_ids + i * k,
                                         .n = (int32_t)k,
                                         .lse = s->top_lse[i]};
        else
            s->rows[i] = (tsri_task_row){.logits = s->logits + i * V};
    }
    if (s->cross)
        take_attention(s, n);
}

static tsr_status step(tsri_task_beams *s, bool fresh) {
    tsri_model_results results;
    const int32_t n = gather(s, fresh), K = s->options.rules->beams;
    if (!n)
        return TSR_OK;
    TRY(want(s, n, fresh, &results));
    TRY(tsri_session_forward(s->session, s->inputs, n, &results));
    take_rows(s, n, &results);
    for (int32_t i = 0; i < n;) {
        lane *l = &s->lanes[s->inputs[i].slot / K];
        const tsri_task_row *rows = s->rows + i;
        l->fed = tsri_task_beam_at(l->beam, 0)->n;
        i += tsri_task_beam_live(l->beam);
        TRY(tsri_task_beam_step(l->beam, rows));
    }
    return TSR_OK;
}

tsr_status tsri_task_beams_run(tsri_task_beams *s, const tsri_task_beams_ends *ends) {
    for (int32_t i = 0; i < s->options.texts; i++)
        s->lanes[i].text = NULL; /* a run that failed may have left texts */
    TRY(fill(s, ends));
    while (is_busy(s)) {
        TRY(step(s, true));
        TRY(step(s, false));
        TRY(empty(s, ends));
        TRY(fill(s, ends));
    }
    return TSR_OK;
}
