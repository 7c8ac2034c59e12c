/* cases/attention/rope.c - the cases of rope. */
#include "cases/cases.h"

#include <math.h>

/* An angle position * inv_freq is rounded once: off by u A for angles up to A; cos and sin by 4
 * ulp; then two products and a sum, of |x| <= 1. */
static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t H, int64_t D,
                      uint32_t rotary, bool interleaved, int32_t last, const char *what) {
    tsri_case *c = tsri_case_add(list, TSR_OP_ROPE, "B=%lld T=%lld H=%lld D=%lld rotary=%u%s%s",
                                 (long long)B, (long long)T, (long long)H, (long long)D, rotary,
                                 interleaved ? " interleaved" : "", what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(H),
                 TSRI_CASE_K(D));
    tsri_case_operand *positions =
        tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_B, TSRI_CASE_T);
    positions->fill = TSRI_CASE_INTEGER;
    positions->low = last > 1000 ? last - 50 : 0, positions->high = last;
    tsri_case_operand *inv_freq =
        tsri_case_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, TSRI_CASE_K(rotary / 2));
    inv_freq->fill = TSRI_CASE_POWERS;
    inv_freq->high = 10000;
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->attrs.rope = (tsr_rope_attrs){
        .struct_size = sizeof c->attrs.rope, .rotary = rotary, .interleaved = interleaved};
    c->bound[0].absolute = 2 * ((double)last + 12) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "2 (A + 12) u, angles up to A = %d: the angle is rounded once, cos and sin "
                     "are within 4 ulp",
                     last);
    return c;
}

void tsri_cases_rope(tsri_case_list *list) {
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        add(list, 2, 5, 3, 16, 16, interleaved, 100, "");
        add(list, 1, 1, 1, 2, 2, interleaved, 3, "");
        add(list, 1, 17, 2, 10, 6, interleaved, 40, " part of the head");
        add(list, 2, 3, 2, 80, 40, interleaved, 60, " part of a large head");
        add(list, 3, 2, 5, 128, 128, interleaved, 4000, "");
        add(list, 1, 0, 2, 8, 8, interleaved, 10, " no position");
        add(list, 2, 4, 3, 20, 20, interleaved, 50, " from wider rows")->in[0].view =
            TSRI_CASE_SLICED;
    }
    tsri_case *c = add(list, 2, 3, 2, 8, 8, false, 20, " magnitude 1.25");
    c->attrs.rope.magnitude = 1.25f;
    c->bound[0].absolute *= 1.5;
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        add(list, 2, 5, 3, 16, 16, interleaved, 100, " inverse")->attrs.rope.inverse = 1;
        add(list, 3, 7, 2, 10, 6, interleaved, 40, " inverse, part of the head")
            ->attrs.rope.inverse = 1;
    }
    add(list, 1, 1, 32, 64, 64, false, 1023, " a token")->timed = true;
    add(list, 1, 512, 32, 64, 64, false, 511, " a prompt")->timed = true;
    add(list, 1, 512, 32, 64, 64, true, 511, " a prompt")->timed = true;
}
