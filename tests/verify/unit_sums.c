/* tests/verify/unit_sums.c - the sums that matrix units and instructions for bf16 must give. */
#include "verify/unit_sums.h"

#include "base/error.h"
#include "support/cases.h"
#include "tensor/convert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

const char *const units[] = {"mma", "mfma", "wmma11", "wmma12", "dpas8", "dpas16"};
const char *const of_cpus[] = {"amx", "bf16", "cached_bf16"};

enum {
    UNIT_K = 96
}; /* inputs of the cases below, which are whole blocks of every unit and dtype */

/* The sum of products in the order of cl/weighted/amx.clh: 32 at a time, the first ones of pairs and
 * the second ones by themselves. */
static float sum_by_tiles(const float *x, const float *w) {
    float sum = 0;
    for (int k = 0; k < UNIT_K; k += 32) {
        float of[2] = {0, 0};
        for (int i = 0; i < 32; i++)
            of[i % 2] = fmaf(x[k + i], w[k + i], of[i % 2]);
        sum += of[0] + of[1];
    }
    return sum;
}

/* In that of cl/weighted/bf16.clh: of a pair, the second one is first. */
static float sum_by_pairs(const float *x, const float *w) {
    float sum = 0;
    for (int k = 0; k < UNIT_K; k++)
        sum = fmaf(x[k ^ 1], w[k ^ 1], sum);
    return sum;
}

/* In the order of k, as emulated units of GPUs add; other units of GPUs have orders of their own. */
static float sum_ascending(const float *x, const float *w) {
    float sum = 0;
    for (int k = 0; k < UNIT_K; k++)
        sum = fmaf(x[k], w[k], sum);
    return sum;
}

static float sum_by(const char *variant, const float *x, const float *w) {
    return (!strncmp(variant, "amx", 3) ? sum_by_tiles
            : strstr(variant, "bf16")   ? sum_by_pairs
                                        : sum_ascending)(x, w);
}

/* As cl/elementwise/gelu_bf16.clh. */
static float gelu_after_bf16(float v) {
    static const float P[] = {6.429672439e-8f, -4.150550022e-6f, 1.148028742e-4f, -1.811258180e-3f,
                              1.843747034e-2f, -1.311290988e-1f, 7.972167362e-1f};
    const float s = v * v < 15.21f ? v * v : 15.21f;
    float p = P[0];
    for (int i = 1; i < 7; i++)
        p = fmaf(p, s, P[i]);
    const float e = v * p, h = 0.5f * v;
    return fmaf(h, e < -1 ? -1.0f : e > 1 ? 1.0f : e, h);
}

/* Checks that outputs are sums of exact products in the order of the variant. So they do not depend on
 * the number of rows either. */
static void check_unit(const tsri_case *c, const char *variant, const tsri_case_values *values) {
    const tsr_dtype dtype = c->in[1].dtype; /* f16 or bf16, as the op's products are */
    const size_t columns = (size_t)c->in[1].dim[0].factor;
    const float *x = values->in[0], *bias = c->n_in > 2 ? values->in[2] : NULL,
                *residual = c->n_in > 3 ? values->in[3] : NULL, *y = values->out[0];
    for (size_t i = 0; i < values->out_count[0]; i++) {
        float sum, w[UNIT_K], narrowed[UNIT_K];
        uint16_t bits[UNIT_K];
        (void)tsri_tensor_convert(dtype, bits, TSR_F32, x + i / columns * UNIT_K, UNIT_K);
        (void)tsri_tensor_convert(TSR_F32, narrowed, dtype, bits, UNIT_K);
        (void)tsri_tensor_convert(TSR_F32, w, dtype,
                                  (const uint16_t *)values->in[1] + i % columns * UNIT_K, UNIT_K);
        sum = sum_by(variant, narrowed, w);
        sum += bias ? bias[i % columns] : 0;
        sum = c->attrs.linear.activation == TSR_ACT_GELU ? gelu_after_bf16(sum) : sum;
        sum += residual ? residual[i] : 0;
        if (y[i] != sum)
            cr_expect_fail("%s, %s: output %zu is %.9g, not %.9g", variant, c->name, i,
                           (double)y[i], (double)sum);
        if (y[i] != sum)
            return;
    }
}

bool tried_on_unit(const tsri_case *c) {
    const tsr_linear_attrs *attrs = &c->attrs.linear;
    const bool stored = c->op == TSR_OP_LINEAR && attrs->trans_w &&
                        attrs->activation == TSR_ACT_NONE && c->in[1].dim[1].factor == UNIT_K &&
                        ((attrs->compute == TSR_COMPUTE_F16 && c->in[1].dtype == TSR_F16) ||
                         (attrs->compute == TSR_COMPUTE_BF16 && c->in[1].dtype == TSR_BF16));
    const bool wanted = cases_wanted() == TEST_ALL || attrs->compute == TSR_COMPUTE_BF16;
    return !c->timed && wanted && !has_norm(c) && (stored || strstr(c->name, "bf16, integers"));
}

bool is_of_int8(const tsri_case *c) {
    return !c->timed && c->attrs.linear.compute == TSR_COMPUTE_INT8 && c->attrs.linear.trans_w;
}

/* Whether a variant refuses a case for its number of rows. */
static bool is_for_other_rows(const char *sentence) {
    return strstr(sentence, "made for up to 16 rows") ||
           strstr(sentence, "made for up to 9 rows") || strstr(sentence, "made for one row");
}

void run_unit(tsri_verify_place place, const tsri_case_list *list, const char *op,
              const char *variant, bool (*of_kind)(const tsri_case *c), size_t most) {
    const tsri_case *picked[MOST_OF_UNIT];
    fitting found = {.n = 0};
    size_t ran = 0;
    for (size_t i = 0; i < list->n; i++)
        if (of_kind(&list->cases[i]) && found.n < MOST_CASES)
            found.cases[found.n++] = i;
    const size_t n = pick_cases(list, &found, most, picked);
    build_ahead(place, op, variant, picked, n);
    for (size_t k = 0; k < n; k++) {
        tsri_case_values plain = {0}, other = {0};
        const tsr_status status = run_variant(picked[k], place, op, variant, &other);
        cr_expect(status == TSR_OK || is_for_other_rows(tsr_error_last()), "%s, %s: %s", variant,
                  picked[k]->name, tsr_error_last());
        ran += status == TSR_OK;
        if (status == TSR_OK && (is_of_int8(picked[k]) || strstr(picked[k]->name, "integers"))) {
            cr_assert_eq(run_variant(picked[k], place, op, model_variant(picked[k]), &plain),
                         TSR_OK);
            compare_bytes(picked[k], variant, &plain, &other);
        } else if (status == TSR_OK)
            check_unit(picked[k], variant, &other);
        tsri_case_values_clear(&other);
        tsri_case_values_clear(&plain);
    }
    cr_expect(ran, "%s=%s ran no case", op, variant);
}
