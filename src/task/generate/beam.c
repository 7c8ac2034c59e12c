/* task/generate/beam.c - beam search over one text: chooses the best continuations of all beams,
 * and keeps the best finished hypotheses. */
#include "task/generate/beam.h"

#include "base/error.h"
#include "base/memory.h"
#include "task/generate/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 64 };                        /* tokens that a new hypothesis has room for */
enum { SEEN = 1, BANNED = 2 };             /* it occurs in the text; it may not follow the text */
static const double LEAST_COVERAGE = 1e-9; /* keeps its logarithm finite */

typedef struct candidate {
    double order; /* what candidates are compared by: sum; in greedy search, the penalised logit */
    double sum;
    int32_t id, beam;
} candidate;

struct tsri_task_beam {
    const tsri_task_token_rules *rules;
    tsri_task_hypothesis *now, *next; /* [K] the live beams; room for the next ones */
    tsri_task_hypothesis *best;       /* [K + 1] finished, best first; the last is spare */
    tsri_task_bans *bans;             /* [K] for each live beam */
    candidate *list;                  /* [keep] best first */
    const float **attention;          /* [K] of the current step */
    unsigned char *seen;              /* [V] scratch: SEEN and BANNED of one beam */
    int32_t keep, listed, live, finished, slot;
    int64_t prompt, generated, most, sources;
    size_t room, sources_room;
    bool done;
};

/* ---- memory ---- */

static void clear_hypotheses(tsri_task_hypothesis *h, int32_t n) {
    for (int32_t i = 0; h && i < n; i++) {
        free(h[i].ids);
        free(h[i].keys);
        free(h[i].coverage);
    }
    free(h);
}

void tsri_task_beam_destroy(tsri_task_beam **beam) {
    tsri_task_beam *b = *beam;
    if (!b)
        return;
    const int32_t K = b->rules->beams;
    for (int32_t i = 0; b->bans && i < K; i++)
        free(b->bans[i].ids);
    clear_hypotheses(b->now, K);
    clear_hypotheses(b->next, K);
    clear_hypotheses(b->best, K + 1);
    free(b->bans);
    free(b->list);
    free(b->attention);
    free(b->seen);
    free(b);
    *beam = NULL;
}

tsr_status tsri_task_beam_create(const tsri_task_token_rules *rules, int32_t slot,
                                 tsri_task_beam **out) {
    tsri_task_beam *b;
    const size_t K = (size_t)rules->beams;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *b, &b));
    b->rules = rules;
    b->slot = slot;
    /* Enough that K of them are not end tokens, however many end tokens are listed. */
    b->keep = K == 1 ? 1 : rules->beams * (rules->ends > 1 ? 1 + rules->ends : 2);
    tsr_status status = tsri_base_new(K, sizeof *b->now, &b->now);
    if (status == TSR_OK)
        status = tsri_base_new(K, sizeof *b->next, &b->next);
    if (status == TSR_OK)
        status = tsri_base_new(K + 1, sizeof *b->best, &b->best);
    if (status == TSR_OK)
        status = tsri_base_new(K, sizeof *b->bans, &b->bans);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)b->keep, sizeof *b->list, &b->list);
    if (status == TSR_OK)
        status = tsri_base_new(K, sizeof *b->attention, &b->attention);
    if (status == TSR_OK && (rules->repetition_penalty != 1 || rules->renormalize))
        status = tsri_base_new((size_t)rules->V, 1, &b->seen);
    if (status != TSR_OK)
        tsri_task_beam_destroy(&b);
    *out = b;
    return status;
}

static tsr_status grow_one(tsri_task_hypothesis *h, size_t had, size_t room) {
    size_t ids = had, keys = had;
    TRY(tsri_base_grow(&h->ids, &ids, room, sizeof *h->ids));
    return tsri_base_grow(&h->keys, &keys, room, sizeof *h->keys);
}

static tsr_status reserve(tsri_task_beam *b, int64_t tokens) {
    const int32_t K = b->rules->beams;
    size_t room = b->room ? b->room : ROOM;
    while (room < (size_t)tokens)
        room *= 2;
    if (room == b->room)
        return TSR_OK;
    for (int32_t i = 0; i < K; i++) {
        TRY(grow_one(&b->now[i], b->room, room));
        TRY(grow_one(&b->next[i], b->room, room));
        TRY(grow_one(&b->best[i], b->room, room));
        TRY(tsri_task_bans_reserve(&b->bans[i], b->rules, room));
    }
    TRY(grow_one(&b->best[K], b->room, room));
    b->room = room;
    return TSR_OK;
}

static tsr_status reserve_sources(tsri_task_beam *b, int64_t S) {
    const int32_t K = b->rules->beams;
    const size_t had = b->sources_room;
    if (b->rules->coverage_penalty == 0 || (size_t)S <= had)
        return TSR_OK;
    for (int32_t i = 0; i < K; i++) {
        size_t one = had, two = had, three = had;
        TRY(tsri_base_grow(&b->now[i].coverage, &one, (size_t)S, sizeof(float)));
        TRY(tsri_base_grow(&b->next[i].coverage, &two, (size_t)S, sizeof(float)));
        TRY(tsri_base_grow(&b->best[i].coverage, &three, (size_t)S, sizeof(float)));
    }
    size_t last = had;
    TRY(tsri_base_grow(&b->best[K].coverage, &last, (size_t)S, sizeof(float)));
    b->sources_room = (size_t)S;
    return TSR_OK;
}

/* ---- candidates ---- */

/* Adds a candidate to the list. False: the list is full of candidates that are at least as good. */
static bool offer(tsri_task_beam *b, candidate c) {
    int32_t at = b->listed;
    if (at == b->keep) {
        if (!(c.order > b->list[at - 1].order))
            return false;
        at--;
    } else {
        b->listed++;
    }
    for (; at > 0 && c.order > b->list[at - 1].order; at--)
        b->list[at] = b->list[at - 1];
    b->list[at] = c;
    return true;
}

static tsr_status offer_largest(tsri_task_beam *b, int32_t beam, const tsri_task_row *row) {
    const tsri_task_hypothesis *h = &b->now[beam];
    if (row->logits && (!isfinite(row->logits[0]) || !isfinite(row->lse)))
        return tsri_task_bad_logits(h->n, row->logits[0]);
    if (row->ids[0] < 0)
        return tsri_task_not_drawn(h->n, row->ids[0]);
    for (int32_t i = 0; i < row->n; i++) {
        const double sum = h->sum + (row->logits ? (double)row->logits[i] - row->lse : 0);
        if (tsri_task_bans_hit(&b->bans[beam], row->ids[i]))
            continue;
        if (!(sum > -INFINITY) ||
            !offer(b, (candidate){.order = sum, .sum = sum, .id = row->ids[i], .beam = beam}))
            break;
    }
    return TSR_OK;
}

static double log_sum_exp(const float *row, int32_t V) {
    double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < V; i++)
        top = row[i] > top ? row[i] : top;
    for (int32_t i = 0; i < V; i++)
        sum += exp(row[i] - top);
    return top + log(sum);
}

static double penalised(double value, double penalty) {
    return value < 0 ? value * penalty : value / penalty;
}

/* Marks the tokens that occur in the text, and those that may not follow it. */
static void mark(tsri_task_beam *b, int32_t beam) {
    const tsri_task_hypothesis *h = &b->now[beam];
    const tsri_task_bans *bans = &b->bans[beam];
    for (int64_t i = b->rules->start_apart; b->seen && i < h->n; i++)
        b->seen[h->ids[i]] |= SEEN;
    for (size_t i = 0; b->seen && i < bans->n; i++)
        b->seen[bans->ids[i]] |= BANNED;
}

static void unmark(tsri_task_beam *b, int32_t beam) {
    const tsri_task_hypothesis *h = &b->now[beam];
    const tsri_task_bans *bans = &b->bans[beam];
    for (int64_t i = 0; b->seen && i < h->n; i++)
        b->seen[h->ids[i]] = 0;
    for (size_t i = 0; b->seen && i < bans->n; i++)
        b->seen[bans->ids[i]] = 0;
}

/* A value of a row after the repetition penalty. */
static double value_of(const tsri_task_beam *b, int32_t id, double value) {
    return b->seen && b->seen[id] & SEEN ? penalised(value, b->rules->repetition_penalty) : value;
}

/* A log-probability as it is added up. Greedy search puts the penalty on logits, and not on sums;
 * with penalise_logits, the sum over the allowed tokens makes a penalised logit a log-probability. */
static double added(const tsri_task_beam *b, int32_t id, double logit, double lse) {
    if (b->rules->penalise_logits)
        return value_of(b, id, logit) - lse;
    return b->rules->beams == 1 ? logit - lse : value_of(b, id, logit - lse);
}

static bool may_come(const tsri_task_beam *b, int32_t beam, int32_t id) {
    return !(b->seen[id] & BANNED) && !(b->rules->is[id] & b->bans[beam].flags);
}

/* The logarithm of the sum of the row's probabilities, as they are added up, over the tokens that are
 * allowed; 0 where probabilities are not renormalised. */
static double log_of_rest(const tsri_task_beam *b, int32_t beam, const float *row, double lse) {
    const tsri_task_token_rules *rules = b->rules;
    double banned = 0, sum = 0, top = -INFINITY;
    if (!rules->renormalize)
        return 0;
    for (int32_t id = 0; id < rules->V; id++)
        banned += may_come(b, beam, id) ? 0 : exp(row[id] - lse);
    if ((rules->repetition_penalty == 1 || (rules->beams == 1 && !rules->penalise_logits)) &&
        banned < 0.5) /* banned tokens are far fewer than the others */
        return log1p(-banned);
    for (int32_t id = 0; id < rules->V; id++)
        if (may_come(b, beam, id))
            top = fmax(top, added(b, id, row[id], lse));
    for (int32_t id = 0; id < rules->V; id++)
        if (may_come(b, beam, id))
            sum += exp(added(b, id, row[id], lse) - top);
    return isfinite(top) ? top + log(sum) : 0;
}

static tsr_status offer_row(tsri_task_beam *b, int32_t beam, const float *row) {
    const tsri_task_token_rules *rules = b->rules;
    const tsri_task_hypothesis *h = &b->now[beam];
    const double lse = log_sum_exp(row, rules->V);
    const bool greedy = rules->beams == 1;
    if (!isfinite(lse))
        return tsri_task_bad_logits(h->n, (float)lse);
    mark(b, beam);
    const double rest = log_of_rest(b, beam, row, lse);
    for (int32_t id = 0; id < rules->V; id++) {
        const double sum = h->sum + added(b, id, row[id], lse) - rest,
                     order = greedy ? value_of(b, id, row[id]) : sum;
        const candidate c = {.order = order, .sum = sum, .id = id, .beam = beam};
        const bool better = b->listed < b->keep || order > b->list[b->listed - 1].order;
        if (better && order > -INFINITY && !tsri_task_bans_hit(&b->bans[beam], id))
            offer(b, c);
    }
    unmark(b, beam);
    return TSR_OK;
}

/* ---- hypotheses ---- */

static void follow(const tsri_task_beam *b, const candidate *c, tsri_task_hypothesis *out) {
    const tsri_task_hypothesis *parent = &b->now[c->beam];
    memcpy(out->ids, parent->ids, (size_t)parent->n * sizeof *out->ids);
    memcpy(out->keys, parent->keys, (size_t)(parent->n - 1) * sizeof *out->keys);
    out->keys[parent->n - 1] = b->slot + c->beam;
    out->ids[parent->n] = c->id;
    out->n = parent->n + 1;
    out->sum = c->sum;
    for (int64_t s = 0; b->rules->coverage_penalty != 0 && s < b->sources; s++)
        out->coverage[s] =
            parent->coverage[s] + (b->attention[c->beam] ? b->attention[c->beam][s] : 0);
}

static double normalised(const tsri_task_beam *b, double sum, int64_t length) {
    return sum / pow((double)(length + b->rules->counted), b->rules->length_penalty);
}

static double score(const tsri_task_beam *b, const tsri_task_hypothesis *h) {
    double covered = 0;
    for (int64_t s = 0; b->rules->coverage_penalty != 0 && s < b->sources; s++)
        if (h->coverage[s] < 1)
            covered += log(h->coverage[s] > LEAST_COVERAGE ? h->coverage[s] : LEAST_COVERAGE);
    return normalised(b, h->sum, h->n - b->prompt) + b->rules->coverage_penalty * covered;
}

/* Inserts a finished hypothesis among the best K, after those with the same score. */
static void finish(tsri_task_beam *b, const candidate *c) {
    const int32_t K = b->rules->beams;
    tsri_task_hypothesis made = b->best[K];
    follow(b, c, &made);
    made.score = score(b, &made);
    int32_t at = b->finished;
    while (at > 0 && made.score > b->best[at - 1].score)
        at--;
    b->finished += b->finished < K;
    memmove(b->best + at + 1, b->best + at, (size_t)(K - at) * sizeof *b->best);
    b->best[at] = made;
}

static bool ended(const tsri_task_beam *b) {
    const tsri_task_token_rules *rules = b->rules;
    if (b->live == 0 || b->generated >= b->most)
        return true;
    if (b->finished < rules->beams)
        return false;
    if (rules->beams == 1 || rules->stopping == TSR_EARLY_FIRST)
        return true;
    const bool longest = rules->stopping == TSR_EARLY_NEVER && rules->length_penalty > 0;
    const double reach = normalised(b, b->now[0].sum, longest ? b->most : b->generated);
    return !(reach > b->best[b->finished - 1].score);
}

/* Makes the next beams from the listed candidates. */
static void advance(tsri_task_beam *b) {
    const int32_t K = b->rules->beams;
    const bool last = b->generated + 1 >= b->most;
    int32_t live = 0;
    for (int32_t rank = 0; rank < b->listed; rank++) {
        const candidate *c = &b->list[rank];
        if (!last && !(b->rules->is[c->id] & TSRI_TASK_END)) {
            if (live < K)
                follow(b, c, &b->next[live++]);
        } else if (rank < K) {
            finish(b, c);
        }
    }
    tsri_task_hypothesis *was = b->now;
    b->now = b->next;
    b->next = was;
    b->live = live;
    b->generated++;
    b->listed = 0;
    b->done = ended(b);
}

/* Continues every live beam with this token, without changing its sum. */
static void force(tsri_task_beam *b, int32_t id) {
    for (int32_t i = 0; i < b->live; i++) {
        b->attention[i] = NULL;
        offer(b, (candidate){.order = b->now[i].sum, .sum = b->now[i].sum, .id = id, .beam = i});
    }
    advance(b);
}

static tsr_status settle(tsri_task_beam *b) {
    if (!b->done && b->rules->forced_last >= 0 && b->generated == b->most - 1)
        force(b, b->rules->forced_last);
    if (b->done)
        return TSR_OK;
    TRY(reserve(b, b->prompt + b->generated + 1));
    for (int32_t i = 0; i < b->live; i++)
        tsri_task_bans_set(&b->bans[i], b->now[i].ids, b->now[i].n, b->generated);
    return TSR_OK;
}

tsr_status tsri_task_beam_begin(tsri_task_beam *b, const int32_t *prompt, int64_t n, int64_t most,
                                int64_t S) {
    TRY(reserve(b, n + 2));
    TRY(reserve_sources(b, S));
    memcpy(b->now[0].ids, prompt, (size_t)n * sizeof *prompt);
    for (int64_t i = 0; i + 1 < n; i++)
        b->now[0].keys[i] = b->slot; /* the prompt lies in the first beam's slot */
    for (int64_t s = 0; b->rules->coverage_penalty != 0 && s < S; s++)
        b->now[0].coverage[s] = 0;
    b->now[0].n = b->prompt = n;
    b->now[0].sum = 0;
    b->live = 1;
    b->listed = b->finished = 0;
    b->generated = 0;
    b->most = most;
    b->sources = S;
    b->done = false;
    if (b->rules->forced_first >= 0 && n == 1 && !(b->rules->forced_last >= 0 && most == 1))
        force(b, b->rules->forced_first);
    return settle(b);
}

int32_t tsri_task_beam_live(const tsri_task_beam *b) {
    return b->done ? 0 : b->live;
}

const tsri_task_hypothesis *tsri_task_beam_at(const tsri_task_beam *b, int32_t i) {
    return &b->now[i];
}

int32_t tsri_task_beam_wanted(const tsri_task_beam *b) {
    const tsri_task_token_rules *rules = b->rules;
    int64_t most = 0;
    for (int32_t i = 0; i < b->live; i++) {
        const int64_t count = tsri_task_bans_count(&b->bans[i]);
        most = count > most ? count : most;
    }
    if (rules->repetition_penalty != 1 || (rules->renormalize && most > 0))
        return 0;
    return b->keep + most < rules->V ? (int32_t)(b->keep + most) : rules->V;
}

tsr_status tsri_task_beam_step(tsri_task_beam *b, const tsri_task_row *rows) {
    b->listed = 0;
    for (int32_t i = 0; i < b->live; i++) {
        b->attention[i] = rows[i].attention;
        TRY(rows[i].ids ? offer_largest(b, i, &rows[i]) : offer_row(b, i, rows[i].logits));
    }
    advance(b);
    return settle(b);
}

int32_t tsri_task_beam_finished(const tsri_task_beam *b) {
    return b->finished;
}

const tsri_task_hypothesis *tsri_task_beam_best(const tsri_task_beam *b, int32_t i) {
    return &b->best[i];
}
