/* backends/reference/reduce/choose_experts.c - the op choose_experts. */
#include "backends/reference/reduce/largest.h"

#include <math.h>

/* A row that experts are chosen for. */
typedef struct row {
    tsri_reference_view scores, bias;
    int64_t at; /* of its first score */
    int64_t groups, each, used;
    bool by_two;
} row;

/* An element of a list in order (largest.h). */
typedef struct place {
    float value;
    int64_t index;
} place;

static bool before(place a, place b) {
    return tsri_reference_comes_before(a.value, a.index, b.value, b.index);
}

static double score_of(const row *x, int64_t e) {
    return tsri_reference_load(&x->scores, x->at + e * x->scores.stride[1]);
}

static place choice_of(const row *x, int64_t e) {
    const float score = (float)score_of(x, e);
    if (!x->bias.data)
        return (place){score, e};
    return (place){score + (float)tsri_reference_load(&x->bias, e * x->bias.stride[0]), e};
}

/* How much a group counts. */
static place worth_of(const row *x, int64_t group) {
    const int64_t begin = group * x->each;
    place first = choice_of(x, begin), second = {-INFINITY, INT64_MAX};
    for (int64_t e = begin + 1; e < begin + x->each; e++) {
        const place one = choice_of(x, e);
        if (before(one, first)) {
            second = first;
            first = one;
        } else if (before(one, second)) {
            second = one;
        }
    }
    return (place){x->by_two ? first.value + second.value : first.value, group};
}

static bool is_used(const row *x, int64_t group) {
    const place own = worth_of(x, group);
    int64_t better = 0;
    for (int64_t g = 0; g < x->groups && x->used < x->groups; g++)
        better += before(worth_of(x, g), own);
    return better < x->used;
}

/* The first expert behind `last`; last.index -1: of all. */
static place next(const row *x, place last) {
    place best = {0, -1};
    for (int64_t g = 0; g < x->groups; g++) {
        if (!is_used(x, g))
            continue;
        for (int64_t e = g * x->each; e < (g + 1) * x->each; e++) {
            const place one = choice_of(x, e);
            if ((last.index < 0 || before(last, one)) && (best.index < 0 || before(one, best)))
                best = one;
        }
    }
    return best;
}

tsr_status tsri_reference_choose_experts(const tsri_reference_call *call) {
    const tsr_choose_experts_attrs *attrs = call->op->attrs;
    const tsri_reference_view factors = tsri_reference_out(call, 0),
                              experts = tsri_reference_out(call, 1);
    row x = {.scores = tsri_reference_in(call, 0), .bias = tsri_reference_in(call, 1)};
    x.groups = attrs->groups ? attrs->groups : 1;
    x.used = attrs->groups_used ? attrs->groups_used : x.groups;
    x.each = x.scores.dim[1] / x.groups;
    x.by_two = attrs->by_two != 0;
    for (int64_t r = 0; r < x.scores.dim[0]; r++) {
        place taken = {0, -1};
        double sum = 0;
        x.at = r * x.scores.stride[0];
        for (int64_t i = 0; i < factors.dim[1]; i++) {
            taken = next(&x, taken);
            sum += score_of(&x, taken.index);
            tsri_reference_store(&factors, r * factors.stride[0] + i * factors.stride[1],
                                 score_of(&x, taken.index));
            tsri_reference_store_int(&experts, r * experts.stride[0] + i * experts.stride[1],
                                     taken.index);
        }
        for (int64_t i = 0; attrs->shares && i < factors.dim[1]; i++) {
            const int64_t at = r * factors.stride[0] + i * factors.stride[1];
            tsri_reference_store(&factors, at, tsri_reference_load(&factors, at) / (sum + 1e-20));
        }
    }
    return TSR_OK;
}
