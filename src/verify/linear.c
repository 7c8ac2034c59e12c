/* M in every range of rows that backends tell apart (1, 2-8, 9-63, from 64), K and N around their
 * panels, dtypes, activations, fused tails. */
#include "verify/verify.h"

static const char *const activation_names[] = {"none", "relu", "gelu",   "gelu_tanh",
                                               "silu", "tanh", "sigmoid"};

typedef struct shape {
    int64_t B, T, K, N;
} shape;

/* As matmul; then the activation, whose slope is at most 1.13 (gelu, silu) and whose own error is
 * 16 u of its argument (exp, erf and tanh within 16 ulp), then bias and residual, which are terms
 * too. */
static void bound(tsri_verify_case *c, int64_t K, bool activated) {
    c->bound[0].terms = ((double)(K + 4) * 1.13 + (activated ? 20 : 0)) * TSRI_VERIFY_U;
    c->bound[0].absolute =
        activated ? 4 * TSRI_VERIFY_U : TSRI_VERIFY_TINY; /* sigmoid and tanh: of 1 */
    for (int i = 0; i < 4; i++)
        c->in[i].absolute = true;
    c->term_attrs = c->attrs;
    c->term_attrs.linear.activation = TSR_ACT_NONE;
    tsri_verify_reason(c,
                       "1.13 (K + 4) u sum|terms|, K = %lld: one rounding a product and sum, slope "
                       "of the activation 1.13%s",
                       (long long)K, activated ? "; 20 u for the activation itself" : "");
}

static tsri_verify_case *add(tsri_verify_list *list, shape s, tsr_dtype dtype, bool trans,
                             uint32_t activation, bool bias, bool residual, const char *what) {
    static const char *const dtypes[] = {[TSR_F32] = "f32", [TSR_F16] = "f16", [TSR_BF16] = "bf16"};
    const tsr_dim k = TSRI_VERIFY_K(s.K), n = TSRI_VERIFY_K(s.N);
    tsri_verify_case *c = tsri_verify_add(
        list, TSR_OP_LINEAR, "M=%lldx%lld K=%lld N=%lld %s%s %s%s%s%s", (long long)s.B,
        (long long)s.T, (long long)s.K, (long long)s.N, dtypes[dtype], trans ? " w'" : "",
        activation_names[activation], bias ? " bias" : "", residual ? " residual" : "", what);
    tsri_verify_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_VERIFY_B, TSRI_VERIFY_T, k);
    tsri_verify_in(c, 1, TSR_KIND_WEIGHT, dtype, 2, trans ? n : k, trans ? k : n);
    if (bias)
        tsri_verify_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, n);
    if (residual)
        tsri_verify_in(c, 3, TSR_KIND_INPUT, TSR_F32, 3, TSRI_VERIFY_B, TSRI_VERIFY_T, n);
    c->sizes[0] = s.B;
    c->sizes[1] = s.T;
    c->attrs.linear = (tsr_linear_attrs){
        .struct_size = sizeof c->attrs.linear, .trans_w = trans, .activation = activation};
    c->sparse = activation == TSR_ACT_RELU;
    bound(c, s.K, activation > TSR_ACT_RELU);
    return c;
}

void tsri_verify_linear_cases(tsri_verify_list *list) {
    static const shape shapes[] = {{1, 3, 32, 48},  {1, 1, 1, 1},    {1, 1, 64, 64},
                                   {2, 1, 63, 65},  {1, 8, 65, 63},  {3, 3, 17, 130},
                                   {2, 31, 7, 129}, {1, 64, 48, 96}, {5, 13, 40, 200},
                                   {1, 65, 128, 5}, {2, 64, 33, 64}, {1, 0, 16, 16}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i], TSR_F32, true, TSR_ACT_NONE, i % 2, i % 3 == 1, "");
    for (int m = 0; m < 3;
         m++) /* the three dtypes, in each orientation, with one row, a few and many */
        for (size_t d = 0; d < 3; d++)
            for (int trans = 0; trans < 2; trans++)
                add(list,
                    (shape){1,
                            m == 0   ? 1
                            : m == 1 ? 6
                                     : 70,
                            72, 100},
                    dtypes[d], trans, TSR_ACT_NONE, d == 1, d == 2, " lattice");
    for (uint32_t a = TSR_ACT_RELU; a <= TSR_ACT_SIGMOID; a++)
        add(list, (shape){2, a % 2 ? 1 : 5, 24, 66}, TSR_F32, true, a, true, a % 2, "");
    tsri_verify_case *c = add(list, (shape){2, 5, 40, 33}, TSR_F32, true, TSR_ACT_NONE, true, false,
                              " x out of wider rows");
    c->in[0].view = TSRI_VERIFY_SLICED;
    c = add(list, (shape){2, 5, 40, 33}, TSR_F16, true, TSR_ACT_NONE, true, true, " whole numbers");
    for (int i = 0; i < 4; i++) {
        c->in[i].fill = TSRI_VERIFY_INTEGER;
        c->in[i].low = -8, c->in[i].high = 8;
    }
    c->bound[0] = (tsri_verify_bound){0};
    tsri_verify_reason(c, "exact: sums of whole numbers below 2^24 are");
    c = add(list, (shape){1, 2, 9, 70}, TSR_F32, true, TSR_ACT_GELU_TANH, true, false, " large");
    c->in[0].low = -1e6, c->in[0].high = 1e6;
    c->sparse = true;
}
