/* task/generate/sampler.c - draws a token from logits, after penalties and biases, temperature,
 * top k, top p and min p. */
#include "task/generate/sampler.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

enum {
    DEVICE_TOP = 256, /* the host finds a longer list faster, by sorting the row */
    BLOCK = 32        /* ids; as tsri_task_bans_allowed takes them */
};

typedef struct entry {
    float logit, raw; /* as the options change it, and as the model gave it */
    int32_t id;
} entry;

struct tsri_task_sampler {
    const tsr_generate_options *options;
    int32_t V, n;
    float lse;
    entry *entries; /* [V]; the first n belong to the current position */
    float *logits;  /* [V] theirs */
    tsr_candidate *candidates;
    size_t candidates_room;
};

bool tsri_task_changes_logits(const tsr_generate_options *o) {
    return o->repeat_penalty != 1 || o->presence_penalty != 0 || o->frequency_penalty != 0 ||
           o->n_logit_bias;
}

tsr_status tsri_task_sampler_create(const tsr_generate_options *options, int32_t V,
                                    tsri_task_sampler **out) {
    tsri_task_sampler *s;
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->V = V;
    tsr_status status = tsri_base_new((size_t)V, sizeof *s->entries, &s->entries);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)V, sizeof *s->logits, &s->logits);
    if (status == TSR_OK)
        status = tsri_task_sampler_use(s, options);
    if (status != TSR_OK)
        tsri_task_sampler_destroy(&s);
    *out = s;
    return status;
}

void tsri_task_sampler_destroy(tsri_task_sampler **sampler) {
    if (!*sampler)
        return;
    free((*sampler)->entries);
    free((*sampler)->logits);
    free((*sampler)->candidates);
    free(*sampler);
    *sampler = NULL;
}

tsr_status tsri_task_sampler_use(tsri_task_sampler *s, const tsr_generate_options *options) {
    s->options = options;
    return tsri_base_grow(&s->candidates, &s->candidates_room, options->logprobs,
                          sizeof *s->candidates);
}

int32_t tsri_task_sampler_top_k(const tsri_task_sampler *s, int64_t banned) {
    const tsr_generate_options *o = s->options;
    int64_t k = o->temperature == 0 ? 1 : o->top_k;
    if (tsri_task_changes_logits(o) || k == 0)
        return 0;
    if (k < (int32_t)o->logprobs)
        k = (int32_t)o->logprobs;
    k += banned;
    if (k > s->V)
        k = s->V;
    return k <= DEVICE_TOP ? (int32_t)k : 0;
}

static int by_logit(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->logit != y->logit ? (x->logit < y->logit) - (x->logit > y->logit)
                                : (x->id > y->id) - (x->id < y->id);
}

/* Puts the `most` best entries first, in their order. */
static void sort_best(entry *entries, int32_t n, int32_t most) {
    int32_t low = 0, high = n - 1; /* the border between the best and the others is within these */
    while (most < n && low < high) {
        const entry middle = entries[low + (high - low) / 2];
        int32_t i = low, j = high;
        while (i <= j) {
            while (by_logit(&entries[i], &middle) < 0)
                i++;
            while (by_logit(&entries[j], &middle) > 0)
                j--;
            if (i <= j) {
                const entry swap = entries[i];
                entries[i++] = entries[j];
                entries[j--] = swap;
            }
        }
        if (most - 1 <= j)
            high = j;
        else if (most - 1 >= i)
            low = i;
        else
            break;
    }
    qsort(entries, (size_t)(most < n ? most : n), sizeof *entries, by_logit);
}

/* How many of the likeliest entries a draw looks at. */
static int32_t drawn_from(const tsri_task_sampler *s) {
    const tsr_generate_options *o = s->options;
    const int32_t k = o->temperature == 0 ? 1 : o->top_k;
    return k > 0 && k < s->V ? k : s->V;
}

static void report(tsri_task_sampler *s) {
    for (uint32_t i = 0; i < s->options->logprobs; i++)
        s->candidates[i] =
            (tsr_candidate){.id = s->entries[i].id, .logprob = s->entries[i].raw - s->lse};
}

static void leave_out(tsri_task_sampler *s, const tsri_task_bans *bans) {
    int32_t n = 0;
    for (int32_t i = 0; bans && i < s->n; i++)
        if (!tsri_task_bans_hit(bans, s->entries[i].id))
            s->entries[n++] = s->entries[i];
    s->n = bans ? n : s->n;
}

static float changed(const tsr_generate_options *o, const tsri_task_seen *seen, float logit) {
    if (seen->in_text)
        logit *= logit > 0 ? 1 / o->repeat_penalty : o->repeat_penalty;
    if (seen->generated)
        logit -= o->presence_penalty + o->frequency_penalty * (float)seen->generated;
    return logit + seen->bias;
}

float tsri_task_log_sum_exp(const float *row, int32_t V) {
    double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < V; i++)
        top = row[i] > top ? row[i] : top;
    for (int32_t i = 0; i < V; i++)
        sum += isnan(row[i]) ? 0 : exp(row[i] - top);
    return (float)(top + log(sum));
}

/* Whether one of BLOCK logits is above `least`; compilers compare many at once. */
static bool any_above(const float *logits, float least) {
    unsigned any = 0;
    for (int i = 0; i < BLOCK; i++)
        any |= logits[i] > least;
    return any;
}

/* Takes the `most` largest of a row as entries, in their order; seen: of the row as penalties change it. Most of
 * a row is smaller than what was taken before it, or not allowed by a grammar, and is passed over in blocks. */
static void take(tsri_task_sampler *s, const float *row, const tsri_task_seen *seen,
                 const tsri_task_bans *bans, int32_t most) {
    float least = -INFINITY;
    bool full = false;
    s->n = 0;
    for (int32_t first = 0; first < s->V; first += BLOCK) {
        const int32_t n = s->V - first < BLOCK ? s->V - first : BLOCK;
        if (full && !seen && n == BLOCK && !any_above(row + first, least))
            continue;
        uint32_t allowed = bans ? tsri_task_bans_allowed(bans, first) : UINT32_MAX;
        for (int32_t id = first; id < first + n && allowed; id++, allowed >>= 1) {
            /* A NaN sorts last, so that the order stays total; draw refuses a row of NaN alone. */
            const float raw = isnan(row[id]) ? -INFINITY : row[id],
                        logit = seen ? changed(s->options, &seen[id], raw) : raw;
            if (!(allowed & 1) || (full && !(logit > least)) ||
                (bans && tsri_task_bans_hit(bans, id)))
                continue;
            s->entries[s->n++] = (entry){.logit = logit, .raw = raw, .id = id};
            if (s->n / 2 < most)
                continue;
            sort_best(s->entries, s->n, most);
            s->n = most;
            least = s->entries[most - 1].logit;
            full = true;
        }
    }
    sort_best(s->entries, s->n, most);
    s->n = most < s->n ? most : s->n;
}

void tsri_task_sampler_row(tsri_task_sampler *s, const float *row, const tsri_task_seen *seen,
                           const tsri_task_bans *bans) {
    const tsr_generate_options *o = s->options;
    s->lse = tsri_task_tells_logprobs(o) ? tsri_task_log_sum_exp(row, s->V) : 0;
    if (o->logprobs) {
        take(s, row, NULL, NULL, (int32_t)o->logprobs);
        report(s);
    }
    take(s, row, tsri_task_changes_logits(o) ? seen : NULL, bans, drawn_from(s));
}

void tsri_task_sampler_largest(tsri_task_sampler *s, int32_t k, const int32_t *ids,
                               const float *logits, float lse, const tsri_task_bans *bans) {
    s->n = k;
    s->lse = lse;
    for (int32_t i = 0; i < s->n; i++)
        s->entries[i] = (entry){.logit = logits[i], .raw = logits[i], .id = ids[i]};
    report(s);
    leave_out(s, bans);
}

tsr_status tsri_task_bad_logits(int64_t position, float largest) {
    return tsri_base_fail(TSR_E_DEVICE,
                          "the logits at position %lld are not numbers (the largest is %g): "
                          "the weights contain NaN or infinity, or a kernel is "
                          "wrong on this device, which tessera verify would find",
                          (long long)position, (double)largest);
}

tsr_status tsri_task_not_drawn(int64_t position, int32_t drawn) {
    return tsri_task_bad_logits(position, drawn == TSRI_TENSOR_DREW_NAN   ? NAN
                                          : drawn == TSRI_TENSOR_DREW_LOW ? -INFINITY
                                                                          : INFINITY);
}

tsri_tensor_draw tsri_task_draw_of(const tsr_generate_options *o, int64_t position) {
    uint32_t bits[4];
    tsri_base_philox(o->seed, 0, (uint64_t)position, bits);
    return tsri_tensor_draw_of(o->temperature, o->top_k, o->top_p, o->min_p, bits[0]);
}

tsr_status tsri_task_sampler_draw(tsri_task_sampler *s, int64_t position, int32_t *id,
                                  float *logprob) {
    if (!s->n)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "no token is allowed at position %lld: the model's settings and the "
                              "options (such as a grammar) forbid all of them",
                              (long long)position);
    if (!isfinite(s->entries[0].logit))
        return tsri_task_bad_logits(position, s->entries[0].logit);
    for (int32_t i = 0; i < s->n; i++)
        s->logits[i] = s->entries[i].logit;
    const tsri_tensor_draw draw = tsri_task_draw_of(s->options, position);
    const entry *drawn = &s->entries[tsri_tensor_draw_one(&draw, s->logits, 1, s->n)];
    *id = drawn->id;
    *logprob = tsri_task_tells_logprobs(s->options) ? drawn->raw - s->lse : 0;
    return TSR_OK;
}

const tsr_candidate *tsri_task_sampler_candidates(const tsri_task_sampler *s) {
    return s->candidates;
}
