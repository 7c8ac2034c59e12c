/* cases/products/matmul_add.c - the cases of matmul_add: shapes as in matmul.c; beta missing, 0, 1
 * and another number; a and b of any strides, as the activations of a batch are. The state is
 * compared, which is filled before. */
#include "cases/cases.h"

static const int64_t sizes[][3] = {/* M K N */ {15, 16, 17},
                                   {1, 1, 1},
                                   {1, 7, 17},
                                   {7, 1, 15},
                                   {5, 257, 33},
                                   {64, 64, 64},
                                   {65, 127, 63},
                                   {31, 70, 129},
                                   {16, 65, 64}};

/* K products and sums, each rounded once, in any order, then alpha, beta and their sum. */
static void bound(tsri_case *c, int64_t K) {
    c->bound[0].terms = (double)(K + 4) * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    for (int i = 0; i < 4; i++)
        c->in[i].absolute = true;
    c->term_attrs = c->attrs;
    tsri_case_reason(
        c, "(K + 4) u (|beta||state| + sum|a||b|), K = %lld: each product and sum is rounded once",
        (long long)K);
}

static void give_beta(tsri_case *c, double beta) {
    tsri_case_operand *operand = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
    operand->fill = TSRI_CASE_EQUAL;
    operand->low = beta;
    operand->absolute = true;
}

static tsri_case *add(tsri_case_list *list, int64_t M, int64_t K, int64_t N, bool trans_a,
                      bool trans_b, const char *what) {
    const tsr_dim m = TSRI_CASE_K(M), k = TSRI_CASE_T, n = TSRI_CASE_K(N);
    tsri_case *c =
        tsri_case_add(list, TSR_OP_MATMUL_ADD, "M=%lld K=%lld N=%lld%s%s%s", (long long)M,
                      (long long)K, (long long)N, trans_a ? " a'" : "", trans_b ? " b'" : "", what);
    tsri_case_in(c, 0, TSR_KIND_STATE, TSR_F32, 2, m, n);
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 2, trans_a ? k : m, trans_a ? m : k);
    tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 2, trans_b ? n : k, trans_b ? k : n);
    c->sizes[1] = K;
    c->reads_state = true;
    c->attrs.matmul_add = (tsr_matmul_attrs){
        .struct_size = sizeof c->attrs.matmul_add, .trans_a = trans_a, .trans_b = trans_b};
    bound(c, K);
    return c;
}

/* Products of bf16: two roundings of 2^-8, and sums that a unit may cut off. The sizes are those of
 * matmul.c. */
static void add_bf16(tsri_case_list *list) {
    static const int64_t shapes[][3] = {/* M K N */ {7, 33, 65}, {50, 64, 64}, {270, 1061, 70}};
    for (int i = 0; i < 9; i++) {
        const int64_t K = shapes[i / 3][1];
        tsri_case *c = add(list, shapes[i / 3][0], K, shapes[i / 3][2], i != 4, i == 5, " bf16");
        c->attrs.matmul_add.compute = c->term_attrs.matmul_add.compute = TSR_COMPUTE_BF16;
        c->bound[0].terms += 2.01 * 0x1p-8 + (double)K * TSRI_CASE_U;
        tsri_case_reason(
            c,
            "(2.01 b + (2 K + 4) u) (|beta||state| + sum|a||b|), b = 2^-8, K = %lld: a, "
            "b, sums that are cut off",
            (long long)K);
        if (i % 3)
            give_beta(c, i % 3 == 1 ? 0 : 0.5);
    }
}

void tsri_cases_matmul_add(tsri_case_list *list) {
    static const double betas[] = {0, 1, -0.75};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add(list, sizes[i][0], sizes[i][1], sizes[i][2], true, false, "");
    for (int t = 0; t < 4; t++)
        give_beta(add(list, 18, 33, 31, t & 1, t & 2, " beta"), 0.5);
    give_beta(add(list, 301, 7, 70, true, false, " beta"), 0.5);  /* more rows than 264 */
    give_beta(add(list, 9, 521, 130, true, false, " beta"), 0.5); /* more of K than 256 */
    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++)
        give_beta(add(list, 20, 9, 70, true, false,
                      i == 0   ? " beta 0"
                      : i == 1 ? " beta 1"
                               : " beta -3/4"),
                  betas[i]);
    tsri_case *c = add(list, 5, 0, 7, true, false, " no rows");
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: the state is kept");
    c = add(list, 9, 20, 21, true, false, " a and b from wider rows");
    c->in[1].view = c->in[2].view = TSRI_CASE_SLICED;
    c = add(list, 9, 20, 21, false, true, " a and b swapped");
    c->in[1].view = c->in[2].view = TSRI_CASE_SWAPPED;
    c = add(list, 19, 20, 65, true, false, " alpha");
    c->attrs.matmul_add.alpha = c->term_attrs.matmul_add.alpha = 0.25f;
    c = add(list, 19, 20, 65, true, false, " b bf16");
    c->in[2].dtype = TSR_BF16;
    c = add(list, 9, 20, 21, true, false, " integers");
    for (int i = 0; i < 3; i++) {
        c->in[i].fill = TSRI_CASE_INTEGER;
        c->in[i].low = -8, c->in[i].high = 8;
    }
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums of integers below 2^24 are");
    add_bf16(list);
    for (int beta = 0; beta < 2; beta++) { /* the gradient of a weight, over 256 tokens */
        c = add(list, 768, 256, 768, true, false, beta ? " beta 1" : "");
        c->timed = true;
        if (beta)
            give_beta(c, 1);
    }
}
