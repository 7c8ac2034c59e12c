/* The sampler, compared with probabilities that are computed step by step. */
#include "task/generate/sampler.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

enum { V = 12, DRAWS = 20000, MANY = 5000 };

static const float logits[V] = {0.5f, -1, 2.25f, 2.25f, -30, 1.75f, 0, 3, -0.25f, 1, -2, 0.125f};

static float row_of_many[MANY];

static tsr_generate_options plain(void) {
    return (tsr_generate_options){.struct_size = sizeof(tsr_generate_options),
                                  .temperature = 1,
                                  .top_p = 1,
                                  .repeat_penalty = 1,
                                  .seed = 7};
}

static double log_sum(void) {
    double sum = 0;
    for (int i = 0; i < V; i++)
        sum += exp(logits[i]);
    return log(sum);
}

static bool before(const double *x, int a, int b) {
    return x[a] > x[b] || (x[a] == x[b] && a < b);
}

/* Probabilities in the documented order: penalty, temperature, the k largest, top_p, min_p. */
static void expected(const tsr_generate_options *o, const tsri_task_seen *seen, double p[V]) {
    double x[V], sum = 0, above[V] = {0}, largest = 0;
    for (int i = 0; i < V; i++) {
        x[i] = logits[i];
        if (seen && seen[i].in_text)
            x[i] = x[i] > 0 ? x[i] / o->repeat_penalty : x[i] * o->repeat_penalty;
        if (seen && seen[i].generated)
            x[i] -= o->presence_penalty + o->frequency_penalty * (double)seen[i].generated;
        x[i] += seen ? (double)seen[i].bias : 0;
    }
    for (int i = 0; i < V; i++) {
        int rank = 0;
        for (int k = 0; k < V; k++)
            rank += before(x, k, i);
        p[i] = o->top_k && rank >= o->top_k ? 0 : exp(x[i] / o->temperature);
        sum += p[i];
    }
    for (int i = 0; i < V; i++)
        for (int k = 0; k < V; k++)
            above[i] += before(x, k, i) ? p[k] / sum : 0;
    for (int i = 0; i < V; i++)
        largest = p[i] > largest ? p[i] : largest;
    for (int i = 0; i < V; i++)
        if (above[i] >= o->top_p || p[i] < o->min_p * largest)
            p[i] = 0;
    sum = 0;
    for (int i = 0; i < V; i++)
        sum += p[i];
    for (int i = 0; i < V; i++)
        p[i] /= sum;
}

static void draw_many(const tsr_generate_options *o, const tsri_task_seen *seen, int count[V]) {
    tsri_task_sampler *sampler;
    OK(tsri_task_sampler_create(o, V, &sampler));
    tsri_task_sampler_row(sampler, logits, seen, NULL);
    for (int i = 0; i < DRAWS; i++) {
        int32_t id;
        float logprob;
        OK(tsri_task_sampler_draw(sampler, i, &id, &logprob));
        cr_assert(id >= 0 && id < V);
        count[id]++;
    }
    tsri_task_sampler_destroy(&sampler);
}

/* Within five standard deviations, and never where the probability is 0. */
static void compare(const char *what, const tsr_generate_options *o, const tsri_task_seen *seen) {
    double p[V];
    int count[V] = {0};
    expected(o, seen, p);
    draw_many(o, seen, count);
    for (int i = 0; i < V; i++) {
        const double mean = DRAWS * p[i], bound = 5 * sqrt(DRAWS * p[i] * (1 - p[i])) + 1e-9;
        cr_expect(fabs(count[i] - mean) <= bound, "%s: id %d %d times, wanted %.1f +- %.1f", what,
                  i, count[i], mean, bound);
    }
}

Test(sampler, probabilities) {
    static const tsri_task_seen seen[V] = {[4] = {.in_text = true},
                                           [7] = {.in_text = true, .generated = 1},
                                           [2] = {.in_text = true},
                                           [8] = {.in_text = true, .generated = 3}};
    static const tsri_task_seen biased[V] = {
        [7] = {.in_text = true, .generated = 2, .bias = -1}, [10] = {.bias = 3.5f}};
    tsr_generate_options o = plain();
    compare("all", &o, NULL);
    o.temperature = 0.3f;
    compare("temperature 0.3", &o, NULL);
    o.temperature = 4;
    compare("temperature 4", &o, NULL);
    o = plain();
    o.top_k = 3;
    compare("top_k 3", &o, NULL);
    o.top_k = 2; /* of two equal logits, the lower id is kept */
    compare("top_k 2", &o, NULL);
    o.top_k = 100;
    compare("top_k 100", &o, NULL);
    o = plain();
    o.top_p = 0.7f;
    compare("top_p 0.7", &o, NULL);
    o.top_p = 1e-6f;
    compare("top_p 1e-6", &o, NULL);
    double likely[V];
    o.top_p = 1;
    expected(&o, NULL, likely);
    o.top_p = (float)((likely[7] + likely[2]) / 1.0002); /* two tokens are just enough */
    compare("top_p of two", &o, NULL);
    o = plain();
    o.min_p = 0.2f;
    compare("min_p 0.2", &o, NULL);
    o.min_p = 1;
    compare("min_p 1", &o, NULL);
    o = plain();
    o.repeat_penalty = 1.5f;
    compare("penalty", &o, seen);
    o.repeat_penalty = 0.8f;
    compare("penalty below 1", &o, seen);
    o.repeat_penalty = 3; /* negative logits get it, too, and the temperature makes them matter */
    o.temperature = 3;
    compare("penalty of negative logits", &o,
            (const tsri_task_seen[V]){[1].in_text = true, [8].in_text = true, [10].in_text = true});
    o = plain();
    o.presence_penalty = 1.5f;
    compare("presence penalty", &o, seen);
    o.frequency_penalty = -0.5f;
    compare("presence and frequency penalty", &o, seen);
    o.presence_penalty = 0;
    compare("frequency penalty below 0", &o, seen);
    o = plain();
    o.n_logit_bias = 1; /* the biases are in `biased` */
    compare("bias", &o, biased);
    o = plain();
    o.top_k = 3; /* shares are those among the three: .51 for the first, .76 for two */
    o.top_p = 0.7f;
    compare("top_p after top_k", &o, NULL);
    o = plain();
    o.temperature = 4; /* relative to the likeliest: .83, .73, .61, .54; the next has .47 */
    o.min_p = 0.5f;
    compare("min_p after temperature", &o, NULL);
    o = (tsr_generate_options){.temperature = 0.7f,
                               .top_k = 6,
                               .top_p = 0.9f,
                               .min_p = 0.1f,
                               .repeat_penalty = 1.2f,
                               .presence_penalty = 0.25f,
                               .frequency_penalty = 0.1f,
                               .n_logit_bias = 1,
                               .seed = 99};
    compare("all together", &o, seen);
    compare("all together with biases", &o, biased);
}

Test(sampler, seed_and_position) {
    tsr_generate_options o = plain();
    int32_t first[100], id;
    int differ = 0;
    float logprob;
    for (int round = 0; round < 3; round++) {
        tsri_task_sampler *sampler;
        o.seed = round < 2 ? 5 : 6;
        OK(tsri_task_sampler_create(&o, V, &sampler));
        tsri_task_sampler_row(sampler, logits, NULL, NULL);
        for (int i = 99; i >= 0; i--) { /* in any order */
            OK(tsri_task_sampler_draw(sampler, i, &id, &logprob));
            if (round == 0)
                first[i] = id;
            else if (round == 1)
                cr_expect(id == first[i]);
            else
                differ += id != first[i];
        }
        tsri_task_sampler_destroy(&sampler);
    }
    cr_expect(differ > 20);
}

Test(sampler, greedy_and_logprobs) {
    tsr_generate_options o = plain();
    tsri_task_sampler *sampler;
    int32_t id;
    float logprob;
    o.temperature = 0;
    o.logprobs = 3;
    OK(tsri_task_sampler_create(&o, V, &sampler));
    cr_expect(tsri_task_sampler_top_k(sampler, 0) == 3);
    tsri_task_sampler_row(sampler, logits, NULL, NULL);
    OK(tsri_task_sampler_draw(sampler, 0, &id, &logprob));
    cr_expect(id == 7 && fabs(logprob - (3 - log_sum())) < 1e-5);
    static const int32_t best[] = {7, 2, 3};
    for (int i = 0; i < 3; i++) {
        const tsr_candidate c = tsri_task_sampler_candidates(sampler)[i];
        cr_expect(c.id == best[i] && fabs(c.logprob - (logits[best[i]] - log_sum())) < 1e-5);
    }
    tsri_task_sampler_destroy(&sampler);
}

/* The reported probability is the one before the penalty. */
Test(sampler, logprob_of_the_row) {
    tsr_generate_options o = plain();
    tsri_task_sampler *sampler;
    int32_t id;
    float logprob;
    o.temperature = 0;
    o.repeat_penalty = 2;
    for (uint32_t asked = 0; asked < 4; asked++) {
        o.logprobs = asked % 2;
        o.return_logprob = asked / 2;
        OK(tsri_task_sampler_create(&o, V, &sampler));
        tsri_task_sampler_row(
            sampler, logits,
            (const tsri_task_seen[V]){
                [7].in_text = true, [2].in_text = true, [3].in_text = true, [5].in_text = true},
            NULL);
        OK(tsri_task_sampler_draw(sampler, 0, &id, &logprob)); /* the penalty makes 1.5 of 3 */
        const double wanted = asked ? 3 - log_sum() : 0;
        cr_expect(id == 7 && fabs(logprob - wanted) < 1e-5, "%d: %g", id, (double)logprob);
        tsri_task_sampler_destroy(&sampler);
    }
}

static int by_number(const void *a, const void *b) {
    const int32_t *x = a, *y = b;
    return row_of_many[*x] != row_of_many[*y]
               ? (row_of_many[*x] < row_of_many[*y]) - (row_of_many[*x] > row_of_many[*y])
               : (*x > *y) - (*x < *y);
}

/* The k largest of many logits, with ties and minus infinities, for k up to all of them. */
Test(sampler, the_largest_of_a_long_row) {
    static const int32_t ks[] = {1, 2, 7, 40, MANY / 2, MANY / 2 + 1, MANY - 1, MANY, 0};
    static int32_t order[MANY];
    for (int32_t i = 0; i < MANY; i++) {
        const float u = (float)tsri_base_uniform(9, 0, (uint64_t)i);
        row_of_many[i] = i % 97 == 5 ? -INFINITY : floorf(u * 200) / 16;
        order[i] = i;
    }
    qsort(order, MANY, sizeof *order, by_number);
    for (size_t n = 0; n < sizeof ks / sizeof *ks; n++)
        for (int32_t at = 0; at < 20; at++) {
            tsr_generate_options o = plain();
            tsri_task_sampler *sampler;
            int32_t id;
            float logprob;
            o.top_k = ks[n];
            o.temperature = 1000; /* any of them */
            OK(tsri_task_sampler_create(&o, MANY, &sampler));
            tsri_task_sampler_row(sampler, row_of_many, NULL, NULL);
            OK(tsri_task_sampler_draw(sampler, at, &id, &logprob));
            const int32_t k = ks[n] ? ks[n] : MANY;
            bool among = false;
            for (int32_t i = 0; i < k; i++)
                among |= order[i] == id;
            cr_expect(among, "k %d: %d is not among the largest", k, id);
            tsri_task_sampler_destroy(&sampler);
        }
    tsr_generate_options o = plain();
    tsri_task_sampler *sampler;
    int32_t id;
    float logprob;
    o.logprobs = 40;
    o.temperature = 0;
    OK(tsri_task_sampler_create(&o, MANY, &sampler));
    tsri_task_sampler_row(sampler, row_of_many, NULL, NULL);
    for (int32_t i = 0; i < 40; i++)
        cr_expect_eq(tsri_task_sampler_candidates(sampler)[i].id, order[i], "place %d", i);
    OK(tsri_task_sampler_draw(sampler, 0, &id, &logprob));
    cr_expect_eq(id, order[0]);
    tsri_task_sampler_destroy(&sampler);
}

/* A grammar's mask, with a vocabulary that ends before the row does and end tokens that it doesn't count, and other bans: the
 * tokens drawn are those of a list of the allowed ones. */
Test(sampler, masks_of_a_long_row) {
    enum { KNOWN = MANY - 50, END = TSRI_TASK_END, NEVER = TSRI_TASK_NEVER };
    static const int32_t shares[] = {1, 2, 31, 700, MANY}; /* one in so many is allowed */
    static const int32_t ks[] = {1, 3, 40, 0};
    static unsigned char is[MANY] = {[0] = END,        [77] = END,   [KNOWN + 1] = END,
                                     [MANY - 1] = END, [40] = NEVER, [4000] = NEVER};
    static uint32_t mask[MANY / 32 + 1];
    static int32_t order[MANY], ids[MANY];
    static float their[MANY];
    int32_t banned[] = {64, 65, 2048};
    const tsri_task_token_rules rules = {.V = MANY, .beams = 1, .is = is};
    for (int32_t i = 0; i < MANY; i++) {
        row_of_many[i] = floorf((float)tsri_base_uniform(9, 1, (uint64_t)i) * 500) / 64;
        order[i] = i;
    }
    row_of_many[333] = -INFINITY;
    row_of_many[KNOWN + 2] = 50; /* behind the vocabulary */
    row_of_many[MANY - 1] = 7.75f;
    qsort(order, MANY, sizeof *order, by_number);
    for (size_t n = 0; n < sizeof shares / sizeof *shares * 2; n++) {
        memset(mask, 0, sizeof mask);
        for (int32_t id = 0; id < MANY; id++)
            if (tsri_base_uniform(9, 2, (uint64_t)id) * shares[n / 2] < 1 || id >= KNOWN)
                mask[id / 32] |= UINT32_C(1) << id % 32;
        const tsri_task_bans bans = {.rules = &rules,
                                     .ids = banned,
                                     .n = sizeof banned / sizeof *banned,
                                     .flags = NEVER,
                                     .mask = mask,
                                     .known = KNOWN,
                                     .may_end = n % 2};
        int32_t most = 0;
        for (int32_t i = 0; i < MANY; i++) {
            const int32_t id = order[i];
            const bool bit = id < KNOWN && mask[id / 32] >> id % 32 & 1,
                       allowed = is[id] & END ? n % 2 : bit && !(is[id] & NEVER);
            if (!allowed || id == banned[0] || id == banned[1] || id == banned[2])
                continue;
            their[most] = row_of_many[id];
            ids[most++] = id;
        }
        for (size_t k = 0; k < sizeof ks / sizeof *ks && most; k++) {
            tsr_generate_options o = plain();
            tsri_task_sampler *row, *list;
            o.top_k = ks[k];
            o.temperature = 1000; /* any of them */
            OK(tsri_task_sampler_create(&o, MANY, &row));
            OK(tsri_task_sampler_create(&o, MANY, &list));
            tsri_task_sampler_row(row, row_of_many, NULL, &bans);
            tsri_task_sampler_largest(list, ks[k] && ks[k] < most ? ks[k] : most, ids, their, 0,
                                      NULL);
            for (int32_t at = 0; at < 20; at++) {
                int32_t a, b;
                float logprob;
                OK(tsri_task_sampler_draw(row, at, &a, &logprob));
                OK(tsri_task_sampler_draw(list, at, &b, &logprob));
                cr_expect_eq(a, b, "one in %d, k %d: %d, wanted %d", shares[n / 2], ks[k], a, b);
            }
            tsri_task_sampler_destroy(&row);
            tsri_task_sampler_destroy(&list);
        }
    }
}

/* The largest logits, as a device gives them, have the same result as the whole row. */
Test(sampler, largest_only) {
    static const int32_t ids[] = {7, 2, 3, 5};
    tsr_generate_options o = plain();
    tsri_task_sampler *row, *largest;
    float top[4];
    o.top_k = 4;
    for (int i = 0; i < 4; i++)
        top[i] = logits[ids[i]];
    OK(tsri_task_sampler_create(&o, V, &row));
    OK(tsri_task_sampler_create(&o, V, &largest));
    cr_assert(tsri_task_sampler_top_k(largest, 0) == 4);
    tsri_task_sampler_row(row, logits, NULL, NULL);
    tsri_task_sampler_largest(largest, 4, ids, top, (float)log_sum(), NULL);
    for (int i = 0; i < 500; i++) {
        int32_t a, b;
        float pa, pb;
        OK(tsri_task_sampler_draw(row, i, &a, &pa));
        OK(tsri_task_sampler_draw(largest, i, &b, &pb));
        cr_expect(a == b && fabsf(pa - pb) < 1e-5f);
    }
    tsri_task_sampler_destroy(&row);
    tsri_task_sampler_destroy(&largest);
}

Test(sampler, no_numbers) {
    static const struct {
        float value;
        int n; /* how many of the row */
        tsr_status status;
    } cases[] = {{NAN, V, TSR_E_DEVICE},
                 {INFINITY, 1, TSR_E_DEVICE},
                 {-INFINITY, V, TSR_E_DEVICE},
                 {NAN, 1, TSR_OK},
                 {-INFINITY, 1, TSR_OK}};
    tsr_generate_options o = plain();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tsri_task_sampler *sampler;
        float row[V], logprob;
        int32_t id;
        memcpy(row, logits, sizeof row);
        for (int i = 0; i < cases[k].n; i++)
            row[i] = cases[k].value;
        OK(tsri_task_sampler_create(&o, V, &sampler));
        tsri_task_sampler_row(sampler, row, NULL, NULL);
        cr_expect(tsri_task_sampler_draw(sampler, 0, &id, &logprob) == cases[k].status, "case %zu",
                  k);
        if (cases[k].status == TSR_OK)
            cr_expect(id != 0 && isfinite(logprob));
        else
            cr_expect(strstr(tsr_error_last(), "not numbers"));
        tsri_task_sampler_destroy(&sampler);
    }
}
