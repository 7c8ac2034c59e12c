/* cases/reduce/sample.c - the cases of sample. Every variant draws the same. */
#include "cases/cases.h"

#include <math.h>
#include <string.h>

enum {
    ALL = -1,          /* top_p of 1; of `random`, the upper end */
    HALF = 1 << 30,    /* min_p of a half */
    MOST = -429496730, /* top_p of 0.9 */
    FEW = 1 << 22      /* top_p of 0.001 */
};

/* A GPU has 64 work-items for a row. */
void tsri_cases_sample(tsri_case_list *list) {
    static const struct {
        int64_t R, k;
        tsri_case_fill fill;
        double low, high;
        float rate;
        int32_t settings[4][4]; /* top_k, top_p, min_p, random, of rows in turn */
        const char *what;
    } forms[] = {
        {8,
         40,
         TSRI_CASE_POWERS,
         0,
         1e3,
         300,
         {{0, ALL, 0, 77777777}, {3, ALL, 0, -5}, {0, MOST, 0, ALL}, {40, ALL, HALF, 1 << 30}},
         " falling"},
        {1, 1, TSRI_CASE_UNIFORM, -8, 8, 1, {{0, ALL, 0, ALL}, {1}, {0}, {1}}, ""},
        {5,
         33,
         TSRI_CASE_EQUAL,
         3,
         3,
         2,
         {{0, ALL, 0, 0}, {0, ALL, 0, ALL}, {7, ALL, ALL, 1 << 30}, {0, MOST, HALF, ALL}},
         " all equal"},
        {4,
         63,
         TSRI_CASE_UNIFORM,
         -8,
         8,
         0,
         {{0, ALL, 0, 5}, {0, ALL, 0, ALL}, {2}, {0}},
         " rate 0"},
        {4,
         64,
         TSRI_CASE_POWERS,
         0,
         1e4,
         4000,
         {{0, FEW, 0, ALL}, {1, ALL, 0, ALL}, {0, 0, 0, ALL}, {-3, ALL, 1, 9}},
         " one is left"},
        {7,
         65,
         TSRI_CASE_POWERS,
         0,
         20,
         3e38f,
         {{0, ALL, 0, ALL}, {0, MOST, HALF, 12}, {2, ALL, 0, ALL}, {0, ALL, 0, 0}},
         " cold"},
        {7,
         65,
         TSRI_CASE_POWERS,
         0,
         20,
         1e-30f,
         {{0, ALL, 0, ALL}, {0, MOST, HALF, 12}, {2, ALL, 0, ALL}, {0, ALL, 0, 0}},
         " hot"},
        {16,
         129,
         TSRI_CASE_UNIFORM,
         -8,
         8,
         0.7f,
         {{0, ALL, 0, ALL}, {0, MOST, 0, 1 << 30}, {60, ALL, 0, ALL}, {0, ALL, 1 << 27, -99}},
         " in any order"},
        {9,
         5,
         TSRI_CASE_NUMBERS,
         0,
         0,
         1,
         {{0, ALL, 0, ALL}, {0, ALL, 0, 3}, {0, MOST, 0, 0}, {0, ALL, 0, ALL}},
         " not finite"},
        {9,
         5,
         TSRI_CASE_NUMBERS,
         0,
         0,
         0,
         {{0, ALL, 0, 0}, {0, ALL, 0, 3}, {2}, {0}},
         " not finite"},
        {30,
         37,
         TSRI_CASE_SOME_NAN,
         0.2,
         0,
         9,
         {{0, ALL, 0, ALL}, {0, MOST, 0, 1 << 29}, {30, ALL, 0, ALL}, {0, ALL, 0, 99}},
         " NaN among them"},
        {20,
         50,
         TSRI_CASE_MASK,
         0.5,
         0,
         1,
         {{0, ALL, 0, ALL}, {0, MOST, 0, 1 << 29}, {30, ALL, 0, ALL}, {0, ALL, 1, -2}},
         " -inf among them"},
        {0, 9, TSRI_CASE_UNIFORM, -8, 8, 1, {{0, ALL, 0, 1}, {0}, {0}, {0}}, ""},
        {2,
         256,
         TSRI_CASE_POWERS,
         0,
         100,
         20,
         {{0, ALL, 0, ALL}, {0, MOST, 0, ALL}, {0}, {0}},
         " falling"},
        {3,
         1000,
         TSRI_CASE_POWERS,
         0,
         9,
         9,
         {{0, ALL, 0, ALL}, {0, MOST, 0, ALL}, {999, ALL, 0, -7}, {0}},
         " falling"},
        {1, 40, TSRI_CASE_POWERS, 0, 1e3, 10, {{0, MOST, 0, 1 << 30}, {0}, {0}, {0}}, " one row"},
        {64,
         256,
         TSRI_CASE_POWERS,
         0,
         1e3,
         200,
         {{0, MOST, 0, ALL}, {0, MOST, 0, ALL}, {0, MOST, 0, ALL}, {0, MOST, 0, ALL}},
         " many rows"}};
    enum { N_FORMS = sizeof forms / sizeof *forms }; /* the last two are timed */
    static const float odd[] = {INFINITY, 1, NAN, -INFINITY};
    for (int i = 0; i < N_FORMS; i++) {
        tsri_case *c =
            tsri_case_add(list, TSR_OP_SAMPLE, "R=%lld k=%lld rate %g%s", (long long)forms[i].R,
                          (long long)forms[i].k, (double)forms[i].rate, forms[i].what);
        const tsr_dim k = TSRI_CASE_K(forms[i].k);
        tsri_case_operand *values = tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_N, k);
        values->fill = forms[i].fill;
        values->low = forms[i].low;
        values->high = forms[i].high;
        memcpy(values->numbers, odd, sizeof odd);
        tsri_case_operand *indices = tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_N, k);
        indices->fill = TSRI_CASE_INTEGER;
        indices->low = 0;
        indices->high = 1 << 20;
        tsri_case_operand *rate = tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_N);
        rate->fill = TSRI_CASE_EQUAL;
        rate->low = (double)forms[i].rate;
        tsri_case_operand *settings =
            tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_N, TSRI_CASE_K(4));
        settings->fill = TSRI_CASE_LIST;
        settings->n_list = TSRI_CASE_MAX_LIST;
        memcpy(settings->list, forms[i].settings, sizeof settings->list);
        c->sizes[4] = forms[i].R;
        c->sparse = true;
        c->timed = i >= N_FORMS - 2;
        tsri_case_reason(c, "exact: weights and their sums are integers");
    }
}
