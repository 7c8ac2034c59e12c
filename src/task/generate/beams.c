/* task/generate/beams.c - searches many texts in the slots of one session; when the search of a
 * text ends, the next text takes its slots.
 *
 * Where ranks share the layers, the texts are in as many groups as there are ranks, which take turns: what
 * one group has begun is under way on some ranks while the others work on what other groups have begun.
 * Elsewhere there is one group. */
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
    bool encoded;               /* its source is */
} lane;

/* What a group of lanes begins in turn, if there is something to do. */
typedef enum stage { PROMPTS, TOKENS, TEXTS, STAGES } stage;

typedef struct group {           /* every n-th lane, where there are n groups */
    int32_t first;               /* its first lane */
    tsri_model_sequence *inputs; /* sequences of a batch, or sources to encode */
    tsri_task_row *rows;
    float *top_logits, *top_lse, *logits;
    int32_t *top_ids, *argmax;
    size_t logits_room;
    stage next;
    bool under_way; /* a pass is, which ends with `pass` */
    uint64_t pass;
    int32_t n;                  /* sequences of the step under way; 0: no step is */
    tsri_model_results results; /* which it gives */
} group;

struct tsri_task_beams {
    tsri_model *model;
    tsri_session *session;
    tsri_task_beams_options options;
    lane *lanes; /* [texts] */
    group *groups;
    int32_t n_groups;
    float **cross; /* [layers] for the coverage penalty, or NULL */
    float *attention;
    size_t cross_room, attention_room;
    int32_t top_room; /* candidates that each row has room for */
    bool encoder;
};

static void clear_group(group *g) {
    void *const arrays[] = {g->inputs,  g->rows,   g->top_logits, g->top_lse,
                            g->top_ids, g->argmax, g->logits};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

void tsri_task_beams_destroy(tsri_task_beams **search) {
    tsri_task_beams *s = *search;
    if (!s)
        return;
    for (int32_t i = 0; s->lanes && i < s->options.texts; i++)
        tsri_task_beam_destroy(&s->lanes[i].beam);
    for (int32_t i = 0; s->cross && i < s->model->spec.decoder.layers; i++)
        free(s->cross[i]);
    for (int32_t i = 0; i < s->n_groups; i++)
        clear_group(&s->groups[i]);
    tsri_session_destroy(&s->session);
    free(s->lanes);
    free(s->groups);
    free(s->cross);
    free(s->attention);
    free(s);
    *search = NULL;
}

static tsr_status make_group(group *g, size_t rows, size_t top) {
    TRY(tsri_base_new(rows, sizeof *g->inputs, &g->inputs));
    TRY(tsri_base_new(rows, sizeof *g->rows, &g->rows));
    TRY(tsri_base_new(rows * top, sizeof *g->top_logits, &g->top_logits));
    TRY(tsri_base_new(rows * top, sizeof *g->top_ids, &g->top_ids));
    TRY(tsri_base_new(rows, sizeof *g->top_lse, &g->top_lse));
    return tsri_base_new(rows, sizeof *g->argmax, &g->argmax);
}

/* As many groups as ranks, but one where attention is read, because that memory is shared. */
static int32_t groups_of(const tsri_task_beams *s) {
    const int32_t most = (int32_t)tsri_model_groups(s->model);
    return s->cross ? 1 : s->options.texts < most ? s->options.texts : most;
}

static tsr_status make_room(tsri_task_beams *s) {
    const int32_t K = s->options.rules->beams;
    s->top_room = s->model->spec.vocab < DEVICE_TOP ? s->model->spec.vocab : DEVICE_TOP;
    TRY(tsri_base_new((size_t)s->options.texts, sizeof *s->lanes, &s->lanes));
    if (s->encoder && s->options.rules->coverage_penalty != 0)
        TRY(tsri_base_new((size_t)s->model->spec.decoder.layers, sizeof *s->cross, &s->cross));
    for (int32_t i = 0; i < s->options.texts; i++)
        TRY(tsri_task_beam_create(s->options.rules, i * K, &s->lanes[i].beam));
    TRY(tsri_base_new((size_t)groups_of(s), sizeof *s->groups, &s->groups));
    const int32_t n = groups_of(s), lanes = (s->options.texts + n - 1) / n;
    for (; s->n_groups < n; s->n_groups++) {
        s->groups[s->n_groups].first = s->n_groups;
        TRY(make_group(&s->groups[s->n_groups], (size_t)lanes * (size_t)K, (size_t)s->top_room));
    }
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
    l->encoded = false;
    return tsri_task_beam_begin(l->beam, text->prompt, text->n_prompt, text->most, text->n_source);
}

/* Whether a lane reads its prompt: in steps of their own, and so does a prompt of one token after which
 * whole rows are needed, so that the other lanes need none. */
static bool is_fresh(const lane *l, const tsri_task_token_rules *rules) {
    return l->fed == 0 && (tsri_task_beam_at(l->beam, 0)->n > 1 ||
                           (rules->repetition_penalty == 1 && !tsri_task_beam_wanted(l->beam)));
}

static tsr_status want(tsri_task_beams *s, group *g, int32_t n, bool fresh,
                       tsri_model_results *results);

/* Tells the devices which step follows when the sources of n texts have been encoded. */
static tsr_status announce(tsri_task_beams *s, group *g, int32_t n) {
    int64_t longest = 1, source = 1;
    bool fresh = false;
    tsri_model_results results;
    if (s->cross) /* its results are made when the sequences of a step are known */
        return TSR_OK;
    for (int32_t i = g->first; i < s->options.texts; i += s->n_groups) {
        const lane *l = &s->lanes[i];
        if (!l->text || l->fed)
            continue;
        longest = l->text->n_prompt > longest ? l->text->n_prompt : longest;
        source = l->text->n_source > source ? l->text->n_source : source;
        fresh = fresh || is_fresh(l, s->options.rules);
    }
    TRY(want(s, g, n, fresh, &results));
    return tsri_session_announce(s->session, n, longest, source, s->options.rules->beams > 1,
                                 &results);
}

/* Gives texts to the free ones of the lanes first, first + step, ... */
static tsr_status take_texts(tsri_task_beams *s, int32_t first, int32_t step,
                             const tsri_task_beams_ends *ends) {
    for (int32_t i = first; i < s->options.texts; i += step) {
        const tsri_task_text *text = NULL;
        if (s->lanes[i].text)
            continue;
        TRY(ends->next(ends->data, &text));
        if (!text)
            break;
        TRY(begin(&s->lanes[i], text));
    }
    return TSR_OK;
}

/* Begins to encode the group's texts that are new. */
static tsr_status encode(tsri_task_beams *s, group *g) {
    int32_t n = 0;
    for (int32_t i = g->first; s->encoder && i < s->options.texts; i += s->n_groups) {
        lane *l = &s->lanes[i];
        if (!l->text || l->encoded)
            continue;
        l->encoded = true;
        g->inputs[n++] =
            (tsri_model_sequence){.ids = l->text->source, .n = l->text->n_source, .slot = i};
    }
    if (!n)
        return TSR_OK;
    TRY(announce(s, g, n));
    TRY(tsri_session_begin_encode(s->session, g->inputs, n, &g->pass));
    g->under_way = true;
    return TSR_OK;
}

/* Fills the group's free lanes, once a quarter of them are free: encoding many texts at once is
 * faster. */
static tsr_status fill(tsri_task_beams *s, group *g, const tsri_task_beams_ends *ends) {
    int32_t all = 0, unused = 0;
    for (int32_t i = g->first; i < s->options.texts; i += s->n_groups) {
        all++;
        unused += !s->lanes[i].text;
    }
    if (!unused || unused * 4 < all)
        return TSR_OK;
    TRY(take_texts(s, g->first, s->n_groups, ends));
    return encode(s, g);
}

static tsr_status empty(tsri_task_beams *s, const group *g, const tsri_task_beams_ends *ends) {
    for (int32_t i = g->first; i < s->options.texts; i += s->n_groups) {
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

/* Collects the beams of the group's lanes that read a prompt, or of those that read a token; returns
 * how many there are. */
static int32_t gather(tsri_task_beams *s, group *g, bool fresh) {
    const int32_t K = s->options.rules->beams;
    int32_t n = 0;
    for (int32_t i = g->first; i < s->options.texts; i += s->n_groups) {
        lane *l = &s->lanes[i];
        const int32_t live = live_beams(l);
        if (!live || is_fresh(l, s->options.rules) != fresh)
            continue;
        for (int32_t k = 0; k < live; k++) {
            const tsri_task_hypothesis *h = tsri_task_beam_at(l->beam, k);
            g->inputs[n++] = (tsri_model_sequence){.ids = h->ids + l->fed,
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
static int32_t candidates(const tsri_task_beams *s, const group *g, bool fresh) {
    int32_t most = 0, size = 1;
    for (int32_t i = g->first; i < s->options.texts; i += s->n_groups) {
        const lane *l = &s->lanes[i];
        if (!live_beams(l) || is_fresh(l, s->options.rules) != fresh)
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

static tsr_status want_attention(tsri_task_beams *s, const group *g, int32_t n,
                                 tsri_model_results *results) {
    const tsri_model_stack *decoder = &s->model->spec.decoder;
    size_t total = 0, means = 0;
    for (int32_t i = 0; i < n; i++) {
        const size_t S = (size_t)s->lanes[g->inputs[i].source].text->n_source;
        total += (size_t)decoder->heads * (size_t)g->inputs[i].n * S;
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

/* The attention of each sequence's last token, as the mean over the heads that are read. */
static void take_attention(tsri_task_beams *s, group *g) {
    const tsri_model_spec *spec = &s->model->spec;
    const tsri_model_stack *decoder = &spec->decoder;
    const int32_t few = spec->alignment_heads,
                  heads = few > 0 && few < decoder->heads ? few : decoder->heads;
    const float *from = s->cross[decoder->layers - 1 - spec->alignment_back];
    float *to = s->attention;
    for (int32_t i = 0; i < g->n; i++) {
        const int64_t S = s->lanes[g->inputs[i].source].text->n_source, T = g->inputs[i].n;
        for (int64_t u = 0; u < S; u++) {
            double sum = 0;
            for (int32_t h = 0; h < heads; h++)
                sum += from[(h * T + T - 1) * S + u];
            to[u] = (float)(sum / heads);
        }
        g->rows[i].attention = to;
        from += decoder->heads * T * S;
        to += S;
    }
}

static tsr_status want(tsri_task_beams *s, group *g, int32_t n, bool fresh,
                       tsri_model_results *results) {
    const int32_t k = candidates(s, g, fresh);
    const size_t V = (size_t)s->model->spec.vocab;
    *results = (tsri_model_results){.rows = TSRI_ROWS_LAST};
    if (s->cross)
        TRY(want_attention(s, g, n, results));
    if (k == 1 && s->options.rules->beams == 1 && !s->options.scores) {
        results->argmax = g->argmax;
    } else if (k) {
        results->top_k = k;
        results->top_logits = g->top_logits;
        results->top_ids = g->top_ids;
        results->top_lse = g->top_lse;
    } else {
        TRY(tsri_base_grow(&g->logits, &g->logits_room, (size_t)n * V, sizeof *g->logits));
        results->logits = g->logits;
    }
    return TSR_OK;
}

static void take_rows(tsri_task_beams *s, group *g) {
    const tsri_model_results *results = &g->results;
    const int64_t V = s->model->spec.vocab, k = results->top_k;
    for (int32_t i = 0; i < g->n; i++) {
        if (results->argmax)
            g->rows[i] = (tsri_task_row){.ids = g->argmax + i, .n = 1};
        else if (k)
            g->rows[i] = (tsri_task_row){.logits = g->top_logits + i * k,
                                         .ids = g->top_ids + i * k,
                                         .n = (int32_t)k,
                                         .lse = g->top_lse[i]};
        else
            g->rows[i] = (tsri_task_row){.logits = g->logits + i * V};
    }
    if (s->cross)
        take_attention(s, g);
}

static tsr_status begin_step(tsri_task_beams *s, group *g, bool fresh) {
    const int32_t n = gather(s, g, fresh);
    if (!n)
        return TSR_OK;
    TRY(want(s, g, n, fresh, &g->results));
    TRY(tsri_session_begin(s->session, g->inputs, n, &g->results, &g->pass));
    g->under_way = true;
    g->n = n;
    return TSR_OK;
}

/* Ends what the group has begun, and takes the results of a step. */
static tsr_status end(tsri_task_beams *s, group *g) {
    const int32_t K = s->options.rules->beams;
    if (!g->under_way)
        return TSR_OK;
    TRY(tsri_session_end(s->session, g->pass));
    take_rows(s, g);
    for (int32_t i = 0; i < g->n;) {
        lane *l = &s->lanes[g->inputs[i].slot / K];
        const tsri_task_row *rows = g->rows + i;
        l->fed = tsri_task_beam_at(l->beam, 0)->n;
        i += tsri_task_beam_live(l->beam);
        TRY(tsri_task_beam_step(l->beam, rows));
    }
    g->under_way = false;
    g->n = 0;
    return TSR_OK;
}

/* A group's turn: ends what it has begun, and begins the next thing that it has to do. */
static tsr_status turn(tsri_task_beams *s, group *g, const tsri_task_beams_ends *ends) {
    TRY(end(s, g));
    for (int i = 0; i < STAGES && !g->under_way; i++) {
        const stage now = g->next;
        g->next = (stage)((now + 1) % STAGES);
        if (now == TEXTS) {
            TRY(empty(s, g, ends));
            TRY(fill(s, g, ends));
        } else {
            TRY(begin_step(s, g, now == PROMPTS));
        }
    }
    return TSR_OK;
}

static tsr_status run(tsri_task_beams *s, const tsri_task_beams_ends *ends) {
    TRY(take_texts(s, 0, 1, ends)); /* so that few texts are in all groups, too */
    for (int32_t i = 0; i < s->n_groups; i++)
        TRY(encode(s, &s->groups[i]));
    while (is_busy(s))
        for (int32_t i = 0; i < s->n_groups; i++)
            TRY(turn(s, &s->groups[i], ends));
    return TSR_OK;
}

tsr_status tsri_task_beams_run(tsri_task_beams *s, const tsri_task_beams_ends *ends) {
    for (int32_t i = 0; i < s->options.texts; i++) /* a run that failed may have left texts */
        s->lanes[i].text = NULL;
    for (int32_t i = 0; i < s->n_groups; i++) {
        s->groups[i].next = PROMPTS;
        s->groups[i].under_way = false;
        s->groups[i].n = 0;
    }
    const tsr_status status = run(s, ends);
    if (status != TSR_OK)
        tsri_session_give_up(s->session);
    return status;
}
