/* cases/attention/softmax.c - the cases of softmax. */
#include "cases/cases.h"

#include <math.h>

/* An exponent scale x + bias - max is off by 3 u of its terms, up to R each; exp by 4 ulp; the sum
 * of S exponentials by S u. All count twice, because the sum divides. Results below the normal
 * range may be flushed to 0. */
static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t S, double range,
                      const char *what) {
    tsri_case *c = tsri_case_add(list, TSR_OP_SOFTMAX, "B=%lld T=%lld S=%lld%s", (long long)B,
                                 (long long)T, (long long)S, what);
    tsri_case_operand *x = tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B,
                                        TSRI_CASE_K(3), TSRI_CASE_T, TSRI_CASE_S);
    x->low = -range, x->high = range;
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->sizes[2] = S;
    c->attrs.softmax = (tsr_softmax_attrs){.struct_size = sizeof c->attrs.softmax};
    c->bound[0].relative = (double)(12 * (range + 1) + (double)(2 * S) + 24) * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    tsri_case_reason(c,
                     "(12 (R + 1) + 2 S + 24) u p: exponents up to R = %.3g, exp within 4 ulp, a "
                     "sum of S = %lld",
                     range, (long long)S);
    return c;
}

static void add_masked(tsri_case_list *list) {
    tsri_case *c = add(list, 2, 5, 5, 2, " causal");
    c->attrs.softmax.causal = 1;
    c = add(list, 2, 3, 20, 2, " causal, cached");
    c->attrs.softmax.causal = 1;
    tsri_case_ints(c, 1, TSRI_CASE_B, 2, (const int32_t[]){17, 4});
    tsri_case_ints(c, 2, TSRI_CASE_B, 2, (const int32_t[]){20, 7});
    c->sparse = true;
    c = add(list, 1, 16, 16, 2, " window 3");
    c->attrs.softmax.causal = 1;
    c->attrs.softmax.window = 3;
    c->sparse = true;
    c = add(list, 1, 16, 16, 2, " window 3 to both sides");
    c->attrs.softmax.window = 3;
    c->sparse = true;
    c = add(list, 3, 4, 9, 2, " padded, one sequence sees no key");
    tsri_case_ints(c, 2, TSRI_CASE_B, 3, (const int32_t[]){9, 0, 5});
    c->sparse = true;
    c = add(list, 2, 5, 9, 2, " bias, scale");
    c->attrs.softmax.scale = 0.3f;
    tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_K(3), TSRI_CASE_T, TSRI_CASE_S);
    c = add(list, 2, 5, 9, 2, " mask of -inf");
    tsri_case_operand *mask = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B,
                                           TSRI_CASE_K(1), TSRI_CASE_K(1), TSRI_CASE_S);
    mask->fill = TSRI_CASE_MASK;
    mask->low = 0.3;
    for (int reach = 0; reach < 30; reach = reach * 5 + 1) { /* 0, 1, 6, and more than S */
        c = add(list, 2, 5, 19, 2, reach ? " relative, cached" : " relative, one number a head");
        c->attrs.softmax.causal = reach > 1;
        tsri_case_ints(c, 1, TSRI_CASE_B, 2, (const int32_t[]){14, 3});
        if (reach == 1)
            tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_S);
        tsri_case_in(c, 4, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_K(3), TSRI_CASE_K(2 * reach + 1));
        c->bound[0].relative += 24 * TSRI_CASE_U; /* R is larger by 2 */
    }
    for (int none = 0; none < 2; none++) {
        c = add(list, 2, 5, 19, 2,
                none ? " sinks, one sequence sees no key" : " sinks, causal, cached");
        c->attrs.softmax.causal = !none;
        if (none)
            tsri_case_ints(c, 2, TSRI_CASE_B, 2, (const int32_t[]){19, 0});
        else
            tsri_case_ints(c, 1, TSRI_CASE_B, 2, (const int32_t[]){14, 3});
        tsri_case_operand *sinks = tsri_case_in(c, 5, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(3));
        sinks->low = -4, sinks->high = 4;
        c->bound[0].relative += 26 * TSRI_CASE_U; /* R is larger by 2, and S by 1 */
        c->sparse = none;
    }
    c = add(list, 2, 3, 310, 2, " window 20, many keys"); /* of which only late ones are visible */
    c->attrs.softmax.causal = 1;
    c->attrs.softmax.window = 20;
    tsri_case_ints(c, 1, TSRI_CASE_B, 2, (const int32_t[]){307, 280});
    c->sparse = true;
    c = add(list, 1, 6, 6, 2, " causal, all negative");
    c->attrs.softmax.causal = 1;
    c->in[0].low = -40, c->in[0].high = -38;
    c->bound[0].relative += 12 * 40 * TSRI_CASE_U;
}

void tsri_cases_softmax(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{2, 3, 17},  {1, 1, 1},    {1, 2, 7},
                                        {2, 1, 63},  {1, 4, 64},   {1, 3, 65},
                                        {2, 2, 257}, {1, 1, 1031}, {0, 2, 5}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i][0], shapes[i][1], shapes[i][2], 3, "");
    add(list, 2, 3, 9, 300, " beyond exp's range")->sparse = true;
    tsri_case *c = add(list, 1, 1, 1031, 1000, " rising beyond exp's range");
    c->in[0].fill = TSRI_CASE_POWERS; /* from 1 to 1000 */
    c->in[0].high = 1e-3;
    c->sparse = true;
    c = add(list, 1, 3, 24, 1, " all equal");
    c->in[0].fill = TSRI_CASE_EQUAL;
    c->in[0].low = 88.5;
    for (int64_t S = 9; S <= 300; S += 291) { /* rows with and without a NaN, and of nothing else */
        c = add(list, 2, 3, S, 1, " NaN among them");
        c->in[0].fill = TSRI_CASE_SOME_NAN;
        c->in[0].low = 0.5 / (double)S;
        c = add(list, 1, 2, S, 1, " all NaN");
        c->in[0].fill = TSRI_CASE_EQUAL;
        c->in[0].low = NAN;
    }
    c = add(list, 2, 3, 10, 3, " heads swapped");
    c->in[0].view = TSRI_CASE_SWAPPED;
    add_masked(list);
    c = add(list, 4, 256, 256, 3, " causal");
    c->attrs.softmax.causal = 1;
    c->timed = true;
    add(list, 4, 1, 1024, 3, "")->timed = true;
}
