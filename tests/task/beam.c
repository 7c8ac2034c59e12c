/* Beam search, compared with a plain search over tables and with a search of all texts. */
#include "task/generate/beam.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { MOST_V = 48, MOST_T = 16, MOST_K = 6, WORST = -1000000000 };

typedef struct text { /* a hypothesis of the plain search */
    int32_t ids[MOST_T + 4];
    int n;
    double sum, score;
    bool ended;
} text;

static uint64_t seed;
static int32_t V;
static unsigned char is[MOST_V];

/* The table: logits after a text, as a function of its tokens. */
static void table(const int32_t *ids, int64_t n, float *out) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 77;
    for (int64_t i = 0; i < n; i++)
        state = (state ^ (uint64_t)(ids[i] + 1)) * 0xd6e8feb86659fd93u + 0x1234567;
    for (int32_t v = 0; v < V; v++)
        out[v] = (float)(tsri_base_uniform(state, 3, (uint64_t)v) * 6 - 3);
}

static int draw(uint64_t n, int below) {
    return (int)(tsri_base_uniform(seed, 9, n) * below);
}

/* ---- the plain search: it always keeps all beams; dead ones have a sum that can't win ---- */

static double penalty_of(const tsri_task_token_rules *r, const text *t, int32_t id, double value) {
    for (int i = r->start_apart; i < t->n; i++)
        if (t->ids[i] == id)
            return value < 0 ? value * r->repetition_penalty : value / r->repetition_penalty;
    return value;
}

static bool banned_by_repeat(const tsri_task_token_rules *r, const text *t, int32_t id) {
    const int g = (int)r->no_repeat_ngram;
    for (int i = r->start_apart; g && i + g <= t->n; i++) {
        int same = 0;
        while (same < g - 1 && t->ids[i + same] == t->ids[t->n - (g - 1) + same])
            same++;
        if (same == g - 1 && t->ids[i + g - 1] == id)
            return true;
    }
    return false;
}

static bool banned_by_word(const tsri_task_token_rules *r, const text *t, int32_t id) {
    for (size_t w = 0, begin = 0; w < r->bad.n; begin = r->bad.ends[w++]) {
        const int n = (int)(r->bad.ends[w] - begin) - 1;
        if (r->bad.ids[begin + (size_t)n] == id && n <= t->n &&
            !memcmp(t->ids + t->n - n, r->bad.ids + begin, (size_t)n * 4))
            return true;
    }
    return false;
}

static double logp_of(const tsri_task_token_rules *r, const text *t, int prompt, int most,
                      const float *row, double lse, int32_t id) {
    const int made = t->n - prompt;
    if (r->forced_last >= 0 && made == most - 1)
        return id == r->forced_last ? 0 : -INFINITY;
    if (r->forced_first >= 0 && t->n == 1)
        return id == r->forced_first ? 0 : -INFINITY;
    const int first =
        r->forced_first >= 0 && prompt == 1 ? 1 : 0; /* the first one that is not forced */
    if ((is[id] & TSRI_TASK_NEVER) || (made == first && (is[id] & TSRI_TASK_NOT_FIRST)) ||
        ((made < r->least || t->n < r->least_length) && (is[id] & TSRI_TASK_END)) ||
        banned_by_repeat(r, t, id) || banned_by_word(r, t, id))
        return -INFINITY;
    return r->penalise_logits ? penalty_of(r, t, id, row[id]) - lse
                              : penalty_of(r, t, id, row[id] - lse);
}

/* The logarithm of the sum over the allowed tokens, where probabilities are renormalised; else 0.
 */
static double rest_of(const tsri_task_token_rules *r, const text *t, int prompt, int most,
                      const float *row, double lse) {
    double sum = 0;
    for (int32_t v = 0; v < V; v++)
        sum += exp(logp_of(r, t, prompt, most, row, lse, v));
    return r->renormalize && sum > 0 ? log(sum) : 0;
}

static int by_sum(const void *a, const void *b) {
    const text *x = a, *y = b;
    return (x->sum < y->sum) - (x->sum > y->sum);
}

static int by_score(const void *a, const void *b) {
    const text *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

static int plain(const tsri_task_token_rules *r, const int32_t *start, int n, int most,
                 text *best) {
    static text now[MOST_K], next[MOST_K * MOST_V];
    const int K = r->beams, keep = K * (r->ends > 1 ? 1 + r->ends : 2);
    int done = 0;
    for (int i = 0; i < K; i++) {
        now[i] = (text){.n = n, .sum = i ? WORST : 0};
        memcpy(now[i].ids, start, (size_t)n * 4);
    }
    for (int made = 1; made <= most; made++) {
        int listed = 0, live = 0;
        for (int i = 0; i < K; i++) {
            float row[MOST_V];
            double sum = 0;
            table(now[i].ids, now[i].n, row);
            for (int32_t v = 0; v < V; v++)
                sum += exp(row[v]);
            const double rest = rest_of(r, &now[i], n, most, row, log(sum));
            for (int32_t v = 0; v < V; v++) {
                text *t = &next[listed++];
                *t = now[i];
                t->sum += logp_of(r, &now[i], n, most, row, log(sum), v) - rest;
                t->ids[t->n++] = v;
                t->ended = made == most || (is[v] & TSRI_TASK_END);
            }
        }
        qsort(next, (size_t)listed, sizeof *next, by_sum);
        for (int rank = 0; rank < keep && rank < listed; rank++) {
            if (!next[rank].ended && live < K) {
                now[live++] = next[rank];
            } else if (next[rank].ended && rank < K && next[rank].sum > WORST / 2) {
                best[done] = next[rank];
                best[done].score =
                    next[rank].sum / pow(made + (double)r->counted, r->length_penalty);
                done++;
                qsort(best, (size_t)done, sizeof *best, by_score);
                done = done > K ? K : done;
            }
        }
        for (; live < K; live++)
            now[live].sum = WORST;
        const bool far = r->stopping == TSR_EARLY_NEVER && r->length_penalty > 0;
        const double reach =
            now[0].sum / pow((far ? most : made) + (double)r->counted, r->length_penalty);
        if (now[0].sum < WORST / 2 ||
            (done == K && (r->stopping == TSR_EARLY_FIRST || !(reach > best[K - 1].score))))
            break;
    }
    return done;
}

/* ---- the tested search ---- */

static int by_logit(const void *a, const void *b) {
    const float *x = a, *y = b;
    return (x[0] < y[0]) - (x[0] > y[0]);
}

static void give(tsri_task_beam *beam, bool rows) {
    static float logits[MOST_K][MOST_V];
    static int32_t ids[MOST_K][MOST_V];
    tsri_task_row row[MOST_K];
    const int32_t wanted = tsri_task_beam_wanted(beam);
    for (int32_t i = 0; i < tsri_task_beam_live(beam); i++) {
        const tsri_task_hypothesis *h = tsri_task_beam_at(beam, i);
        float pairs[MOST_V][2];
        double sum = 0;
        table(h->ids, h->n, logits[i]);
        row[i] = (tsri_task_row){.logits = logits[i], .n = wanted};
        for (int32_t v = 0; v < V; v++) {
            sum += exp(logits[i][v]);
            pairs[v][0] = logits[i][v];
            pairs[v][1] = (float)v;
        }
        if (rows || !wanted)
            continue;
        qsort(pairs, (size_t)V, sizeof *pairs, by_logit);
        for (int32_t k = 0; k < wanted; k++) {
            logits[i][k] = pairs[k][0];
            ids[i][k] = (int32_t)pairs[k][1];
        }
        row[i].lse = (float)log(sum);
        row[i].ids = ids[i];
    }
    OK(tsri_task_beam_step(beam, row));
}

static void search(tsri_task_beam *beam, const int32_t *start, int n, int most, bool rows) {
    OK(tsri_task_beam_begin(beam, start, n, most, 0));
    for (int steps = 0; tsri_task_beam_live(beam); steps++) {
        cr_assert(steps < most);
        for (int32_t i = 0; i < tsri_task_beam_live(beam); i++) {
            const tsri_task_hypothesis *h = tsri_task_beam_at(beam, i);
            for (int64_t k = 0; k + 1 < h->n; k++)
                cr_assert(h->keys[k] >= 10 && h->keys[k] < 10 + MOST_K);
        }
        give(beam, rows);
    }
}

static void set_flags(tsri_task_token_rules *r) {
    memset(is, 0, sizeof is);
    for (int i = 0; i < r->ends; i++)
        is[i + 1] |= TSRI_TASK_END;
    for (int i = 0; i < r->never; i++)
        is[V - 1 - i] |= TSRI_TASK_NEVER;
    for (int i = 0; i < r->not_first; i++)
        is[V - 2 - i] |= TSRI_TASK_NOT_FIRST;
    r->is = is;
}

static tsri_task_token_rules random_rules(void) {
    static const double lengths[] = {-1, 0, 0.6, 1, 2}, repetitions[] = {1, 1, 1.3};
    static int32_t words[] = {8, 6, 7, 8, 3}; /* texts begin with 8 */
    static size_t ends[] = {3, 5};
    tsri_task_token_rules r = {.beams = 2 + draw(0, MOST_K - 1),
                               .stopping = (tsr_early_stopping)draw(1, 3),
                               .length_penalty = lengths[draw(2, 5)],
                               .repetition_penalty = repetitions[draw(3, 3)],
                               .no_repeat_ngram = draw(4, 4),
                               .least = draw(5, 3) ? 0 : draw(6, 5),
                               .least_length = draw(16, 4) ? 0 : draw(17, 8),
                               .renormalize = draw(18, 3) == 0,
                               .penalise_logits = draw(18, 3) == 0 && draw(19, 2),
                               .start_apart = draw(20, 2) == 0,
                               .counted = draw(21, 2) ? 0 : draw(22, 4),
                               .ends = draw(7, 4),
                               .never = draw(8, 3),
                               .not_first = draw(9, 3),
                               .forced_first = draw(10, 4) ? -1 : 4,
                               .forced_last = draw(11, 4) ? -1 : 1};
    r.bad = (tsri_task_words){words, ends, (size_t)draw(12, 3)};
    r.V = V = 32 + draw(13, MOST_V - 32);
    set_flags(&r);
    return r;
}

/* Compares both searches; returns how many hypotheses they finish. */
static int as_plain(const tsri_task_token_rules *r, int most) {
    const int32_t start[] = {8, 9, 10};
    const int n = 1 + draw(14, 3);
    text best[MOST_K + MOST_K];
    const int done = plain(r, start, n, most, best);
    tsri_task_beam *beam;
    OK(tsri_task_beam_create(r, 10, &beam));
    for (int again = 0; again < 2;
         again++) { /* with lists, then with whole rows; the search begins anew */
        search(beam, start, n, most, again == 1);
        cr_assert(tsri_task_beam_finished(beam) == done, "seed %d: %d, wanted %d", (int)seed,
                  tsri_task_beam_finished(beam), done);
        for (int i = 0; i < done; i++) {
            const tsri_task_hypothesis *h = tsri_task_beam_best(beam, i);
            cr_assert(h->n == best[i].n && !memcmp(h->ids, best[i].ids, (size_t)h->n * 4),
                      "seed %d, hypothesis %d", (int)seed, i);
            cr_assert(fabs(h->score - best[i].score) < 1e-4, "seed %d: %g, wanted %g", (int)seed,
                      h->score, best[i].score);
        }
    }
    tsri_task_beam_destroy(&beam);
    return done;
}

Test(beam, as_the_plain_search) {
    int finished = 0;
    for (seed = 1; seed <= 1500; seed++) {
        const tsri_task_token_rules r = random_rules();
        finished += as_plain(&r, 1 + draw(15, MOST_T - 1));
    }
    cr_assert(finished > 3000);
}

/* Few tokens, of which many end a text: all beams finish early, so the stopping rule decides. */
Test(beam, stops_when_the_plain_search_stops) {
    static const double lengths[] = {-1, -0.5, -0.1, 0.3, 1, 2};
    for (seed = 1; seed <= 1500; seed++) {
        tsri_task_token_rules r = {.beams = 2 + draw(0, 3),
                                   .stopping = (tsr_early_stopping)draw(1, 3),
                                   .length_penalty = lengths[draw(2, 6)],
                                   .repetition_penalty = 1,
                                   .ends = 2 + draw(3, 2),
                                   .forced_first = -1,
                                   .forced_last = -1};
        r.V = V = 12;
        set_flags(&r);
        as_plain(&r, MOST_T);
    }
}

static double best_of_all(int32_t *ids, int n, int most, int made, double sum, double A) {
    float row[MOST_V];
    double lse = 0, best = -INFINITY;
    table(ids, n, row);
    for (int32_t v = 0; v < V; v++)
        lse += exp(row[v]);
    for (int32_t v = 0; v < V; v++) {
        const double next = sum + row[v] - log(lse);
        ids[n] = v;
        const double got = v == 1 || made + 1 == most
                               ? next / pow(made + 1, A)
                               : best_of_all(ids, n + 1, most, made + 1, next, A);
        best = got > best ? got : best;
    }
    return best;
}

Test(beam, wide_enough_finds_the_best_of_all) {
    V = 4;
    for (seed = 1; seed <= 40; seed++) {
        tsri_task_token_rules r = {.V = V,
                                   .beams = 256,
                                   .stopping = TSR_EARLY_NEVER,
                                   .length_penalty = 0.25 * draw(1, 9),
                                   .repetition_penalty = 1,
                                   .ends = 1,
                                   .forced_first = -1,
                                   .forced_last = -1};
        int32_t ids[MOST_T] = {2};
        tsri_task_beam *beam;
        set_flags(&r);
        OK(tsri_task_beam_create(&r, 0, &beam));
        OK(tsri_task_beam_begin(beam, ids, 1, 4, 0));
        while (tsri_task_beam_live(beam)) {
            static float rows[256][4];
            tsri_task_row row[256];
            for (int32_t i = 0; i < tsri_task_beam_live(beam); i++) {
                table(tsri_task_beam_at(beam, i)->ids, tsri_task_beam_at(beam, i)->n, rows[i]);
                row[i] = (tsri_task_row){.logits = rows[i]};
            }
            OK(tsri_task_beam_step(beam, row));
        }
        const double wanted = best_of_all(ids, 1, 4, 0, 0, r.length_penalty);
        cr_expect(fabs(tsri_task_beam_best(beam, 0)->score - wanted) < 1e-5);
        tsri_task_beam_destroy(&beam);
    }
}

static const tsri_task_token_rules plain_rules = {.V = 6,
                                                  .beams = 2,
                                                  .length_penalty = 1,
                                                  .repetition_penalty = 1,
                                                  .is = is,
                                                  .ends = 1,
                                                  .forced_first = -1,
                                                  .forced_last = -1};

Test(beam, keys_follow_the_parents) {
    tsri_task_token_rules r = plain_rules;
    tsri_task_beam *beam;
    const int32_t prompt[] = {2, 3, 4};
    memset(is, 0, sizeof is);
    is[1] = TSRI_TASK_END;
    OK(tsri_task_beam_create(&r, 7, &beam));
    OK(tsri_task_beam_begin(beam, prompt, 3, 8, 0));
    const float first[] = {-9, -9, 1.1f, 1, -9, -9}, low[] = {-5, -9, -5, -5, -5, -5},
                high[] = {9, -9, 8, -9, -9, -9};
    OK(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = first}}));
    cr_assert(tsri_task_beam_live(beam) == 2);
    cr_assert(tsri_task_beam_at(beam, 0)->ids[3] == 2 && tsri_task_beam_at(beam, 1)->ids[3] == 3);
    /* Both next beams continue the second one, whose keys are in slot 8. */
    OK(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = low}, {.logits = high}}));
    for (int i = 0; i < 2; i++) {
        const tsri_task_hypothesis *h = tsri_task_beam_at(beam, i);
        const int32_t keys[] = {7, 7, 7, 8};
        cr_expect(h->n == 5 && h->ids[3] == 3 && h->ids[4] == (i ? 2 : 0));
        cr_expect(memcmp(h->keys, keys, sizeof keys) == 0);
    }
    tsri_task_beam_destroy(&beam);
}

/* Of hypotheses with equal scores, the one found first comes first: the one with the lower id. */
Test(beam, equal_scores) {
    tsri_task_token_rules r = plain_rules;
    tsri_task_beam *beam;
    const int32_t prompt[] = {3};
    const float row[] = {0, 0, 2, 0, 2, 1};
    memset(is, 0, sizeof is);
    is[1] = TSRI_TASK_END;
    OK(tsri_task_beam_create(&r, 0, &beam));
    OK(tsri_task_beam_begin(beam, prompt, 1, 1, 0));
    OK(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = row}}));
    cr_assert(tsri_task_beam_live(beam) == 0 && tsri_task_beam_finished(beam) == 2);
    cr_expect(tsri_task_beam_best(beam, 0)->ids[1] == 2);
    cr_expect(tsri_task_beam_best(beam, 1)->ids[1] == 4);
    tsri_task_beam_destroy(&beam);
}

Test(beam, coverage) {
    tsri_task_token_rules r = plain_rules;
    tsri_task_beam *beam;
    const int32_t prompt[] = {2};
    r.beams = 1;
    r.coverage_penalty = 0.5;
    memset(is, 0, sizeof is);
    is[1] = TSRI_TASK_END;
    OK(tsri_task_beam_create(&r, 0, &beam));
    OK(tsri_task_beam_begin(beam, prompt, 1, 8, 2));
    const float go[] = {3, 0, 0, 0, 0, 0}, end[] = {0, 3, 0, 0, 0, 0};
    const float some[] = {0.25f, 0.75f}, more[] = {0.25f, 0.5f};
    OK(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = go, .attention = some}}));
    OK(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = end, .attention = more}}));
    const double logp = 3 - log(exp(3) + 5);
    cr_assert(tsri_task_beam_live(beam) == 0 && tsri_task_beam_finished(beam) == 1);
    cr_expect(fabs(tsri_task_beam_best(beam, 0)->score - (logp + 0.5 * log(0.5))) < 1e-6);
    tsri_task_beam_destroy(&beam);
}

Test(beam, what_is_no_number_is_an_error) {
    tsri_task_token_rules r = plain_rules;
    tsri_task_beam *beam;
    const int32_t prompt[] = {2}, ids[] = {0, 1, 2, 3};
    float row[6] = {0};
    memset(is, 0, sizeof is);
    OK(tsri_task_beam_create(&r, 0, &beam));
    for (int k = 0; k < 6; k++)
        row[k] = NAN;
    OK(tsri_task_beam_begin(beam, prompt, 1, 8, 0));
    cr_expect(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = row}}) == TSR_E_DEVICE);
    OK(tsri_task_beam_begin(beam, prompt, 1, 8, 0));
    cr_expect(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = row, .ids = ids, .n = 4}}) ==
              TSR_E_DEVICE);
    row[3] = INFINITY;
    OK(tsri_task_beam_begin(beam, prompt, 1, 8, 0));
    cr_expect(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = row}}) == TSR_E_DEVICE);
    tsri_task_beam_destroy(&beam);
}

/* What the op argmax gives for such a row. */
Test(beam, an_id_below_0_is_an_error) {
    tsri_task_token_rules r = plain_rules;
    tsri_task_beam *beam;
    const int32_t prompt[] = {2}, ids[] = {-3};
    r.beams = 1;
    memset(is, 0, sizeof is);
    OK(tsri_task_beam_create(&r, 0, &beam));
    OK(tsri_task_beam_begin(beam, prompt, 1, 8, 0));
    cr_expect(tsri_task_beam_step(beam, (tsri_task_row[]){{.ids = ids, .n = 1}}) == TSR_E_DEVICE);
    cr_expect(strstr(tsr_error_last(), "the largest is inf"), "%s", tsr_error_last());
    tsri_task_beam_destroy(&beam);
}

/* Greedy search adds up log-probabilities of the tokens that are allowed, without the penalty by which
 * it chooses. */
Test(beam, scores_of_one_beam_are_over_the_allowed_tokens) {
    static const double penalties[] = {1, 1.5};
    const int32_t prompt[] = {2};
    const float rows[2][6] = {{1, 0, 3, 0.5f, 2, 9}, {0, 4, 1, 0.25f, 2, -3}};
    const int32_t best[] = {2,
                            1}; /* also with the penalty: 3 / 1.5 is 2, the first of equal ones */
    for (int p = 0; p < 2; p++) {
        tsri_task_token_rules r = plain_rules;
        tsri_task_beam *beam;
        double sum = 0;
        r.beams = r.never = 1;
        r.renormalize = true;
        r.repetition_penalty = penalties[p];
        memset(is, 0, sizeof is);
        is[1] = TSRI_TASK_END;
        is[5] = TSRI_TASK_NEVER;
        OK(tsri_task_beam_create(&r, 0, &beam));
        OK(tsri_task_beam_begin(beam, prompt, 1, 8, 0));
        for (int t = 0; t < 2; t++) {
            double allowed = 0;
            for (int v = 0; v < 5; v++)
                allowed += exp((double)rows[t][v]);
            sum += (double)rows[t][best[t]] - log(allowed);
            cr_assert(tsri_task_beam_live(beam) == 1 && tsri_task_beam_wanted(beam) == 0);
            OK(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = rows[t]}}));
        }
        cr_assert(tsri_task_beam_finished(beam) == 1);
        const tsri_task_hypothesis *h = tsri_task_beam_best(beam, 0);
        cr_expect(h->ids[1] == 2 && h->ids[2] == 1 && fabs(h->score - sum / 2) < 1e-6,
                  "penalty %g: %g, wanted %g", penalties[p], h->score, sum / 2);
        tsri_task_beam_destroy(&beam);
    }
}

Test(beam, everything_is_banned) {
    tsri_task_token_rules r = plain_rules;
    tsri_task_beam *beam;
    const int32_t prompt[] = {2};
    const float row[6] = {0};
    r.never = 6;
    memset(is, TSRI_TASK_NEVER, sizeof is);
    OK(tsri_task_beam_create(&r, 0, &beam));
    OK(tsri_task_beam_begin(beam, prompt, 1, 8, 0));
    cr_expect(tsri_task_beam_wanted(beam) == 6);
    OK(tsri_task_beam_step(beam, (tsri_task_row[]){{.logits = row}}));
    cr_expect(tsri_task_beam_live(beam) == 0 && tsri_task_beam_finished(beam) == 0);
    tsri_task_beam_destroy(&beam);
}
