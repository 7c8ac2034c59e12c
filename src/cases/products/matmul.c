/* cases/products/matmul.c - the cases of matmul: sizes around the tiles that kernels use (16, 64),
 * both transposes, batches that broadcast, strided operands, stored dtypes. */
#include "cases/cases.h"

static const int64_t sizes[][3] = {/* M K N */ {15, 16, 17},
                                   {1, 1, 1},
                                   {1, 7, 17},
                                   {7, 1, 15},
                                   {17, 17, 17},
                                   {5, 257, 33},
                                   {64, 64, 64},
                                   {65, 127, 63},
                                   {150, 70, 210}, /* several tiles of 128 */
                                   {3, 4, 130},
                                   {31, 70, 129},
                                   {16, 65, 64},
                                   {127, 9, 129},
                                   {128, 8, 128},
                                   {129, 20, 127},
                                   {0, 5, 7}};

/* K products and sums, each rounded once, in any order: K u of the sum of the terms; and a few u
 * for alpha and the stored dtype. */
static void bound(tsri_case *c, int64_t K) {
    c->bound[0].terms = (double)(K + 3) * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    c->in[0].absolute = c->in[1].absolute = true;
    c->term_attrs = c->attrs;
    tsri_case_reason(c, "(K + 3) u sum|a||b|, K = %lld: each product and sum is rounded once",
                     (long long)K);
}

static tsri_case *add(tsri_case_list *list, int64_t M, int64_t K, int64_t N, bool trans_a,
                      bool trans_b, const char *what) {
    const tsr_dim m = TSRI_CASE_T, k = TSRI_CASE_K(K), n = TSRI_CASE_K(N);
    tsri_case *c =
        tsri_case_add(list, TSR_OP_MATMUL, "M=%lld K=%lld N=%lld%s%s%s", (long long)M, (long long)K,
                      (long long)N, trans_a ? " a'" : "", trans_b ? " b'" : "", what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, trans_a ? k : m, trans_a ? m : k);
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 2, trans_b ? n : k, trans_b ? k : n);
    c->sizes[1] = M;
    c->attrs.matmul = (tsr_matmul_attrs){
        .struct_size = sizeof c->attrs.matmul, .trans_a = trans_a, .trans_b = trans_b};
    bound(c, K);
    return c;
}

/* Products of bf16: two roundings of 2^-8, and sums that a unit may cut off. */
static void bf16(tsri_case *c, int64_t K) {
    c->attrs.matmul.compute = c->term_attrs.matmul.compute = TSR_COMPUTE_BF16;
    c->bound[0].terms += 2.01 * 0x1p-8 + (double)K * TSRI_CASE_U;
    tsri_case_reason(
        c,
        "(2.01 b + (2 K + 3) u) sum|a||b|, b = 2^-8, K = %lld: a, b, sums that are cut "
        "off",
        (long long)K);
}

static void add_batch(tsri_case_list *list, int64_t b_batch, bool swapped) {
    const tsr_dim T = TSRI_CASE_T, k = TSRI_CASE_K(19), n = TSRI_CASE_K(13);
    tsri_case *c =
        tsri_case_add(list, TSR_OP_MATMUL, "batch [2,3]%s%s", b_batch == 1 ? ", b broadcast" : "",
                      swapped ? ", heads swapped" : "");
    tsri_case_operand *a =
        tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(3), T, k);
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 4, b_batch == 1 ? TSRI_CASE_K(1) : TSRI_CASE_B,
                 TSRI_CASE_K(3), k, n);
    a->view = swapped ? TSRI_CASE_SWAPPED : TSRI_CASE_PACKED;
    c->sizes[0] = 2;
    c->sizes[1] = 5;
    c->attrs.matmul = (tsr_matmul_attrs){.struct_size = sizeof c->attrs.matmul, .alpha = 0.25f};
    bound(c, 19);
}

/* Every transpose with sizes around the tiles: 6, 16 and 32 rows, 64 columns, pairs and 32 of k; more
 * of k than is packed at once; stored dtypes; integers. */
static void add_bf16(tsri_case_list *list) {
    static const int64_t shapes[][3] = {/* M K N */ {1, 1, 8}, {7, 33, 65},
                                        {50, 64, 64},          {33, 95, 130},
                                        {270, 32, 9},          {19, 1061, 70}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int t = 0; t < 4; t++)
            bf16(add(list, shapes[i][0], shapes[i][1], shapes[i][2], t & 1, t & 2, " bf16"),
                 shapes[i][1]);
    for (int t = 0; t < 4; t++) {
        tsri_case *c = add(list, 9, 70, 66, false, t & 1, t & 2 ? " bf16, b bf16" : " bf16, b f16");
        c->in[1].dtype = t & 2 ? TSR_BF16 : TSR_F16;
        bf16(c, 70);
    }
    tsri_case *c = add(list, 20, 43, 70, true, true, " bf16, integers");
    bf16(c, 43);
    for (int i = 0; i < 2; i++) {
        c->in[i].fill = TSRI_CASE_INTEGER;
        c->in[i].low = -8, c->in[i].high = 8;
    }
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums of integers below 2^24 are");
    for (int t = 0; t < 3; t++) {
        c = add(list, 256, 768, 768, t == 1, t == 2, " bf16");
        bf16(c, 768);
        c->timed = true;
    }
}

void tsri_cases_matmul(tsri_case_list *list) {
    static const tsr_dtype stored[] = {TSR_F32, TSR_F16, TSR_BF16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add(list, sizes[i][0], sizes[i][1], sizes[i][2], false, false, "");
    for (int t = 1; t < 4; t++)
        add(list, 18, 33, 31, t & 1, t & 2, "");
    for (int t = 0; t < 4; t++) /* more rows than 264, more of K than 256 */
        add(list, 301, 7, 70, t & 1, t & 2, ""), add(list, 9, 521, 130, t & 1, t & 2, "");
    for (size_t i = 0; i < 3; i++) {
        tsri_case *c = add(list, 6, 48, 65, false, true,
                           i == 0   ? " weight f32"
                           : i == 1 ? " weight f16"
                                    : " weight bf16");
        c->in[1].kind = TSR_KIND_WEIGHT;
        c->in[1].dtype = stored[i];
    }
    tsri_case *c = add(list, 9, 20, 21, false, false, " a from wider rows");
    c->in[0].view = TSRI_CASE_SLICED;
    c = add(list, 9, 20, 21, false, false, " integers");
    for (int i = 0; i < 2; i++) {
        c->in[i].fill = TSRI_CASE_INTEGER;
        c->in[i].low = -8, c->in[i].high = 8;
    }
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums of integers below 2^24 are");
    c = add(list, 9, 32, 7, false, false, " large and tiny");
    c->in[0].fill = TSRI_CASE_EXTREME;
    c->in[0].low = -1e15, c->in[0].high = 1e15;
    c = add(list, 4, 5, 6, false, false, " signed zeros");
    c->in[0].fill = TSRI_CASE_ZEROS;
    c->sparse = true;
    add_batch(list, 2, false);
    add_batch(list, 1, false);
    add_batch(list, 2, true);
    add_bf16(list);
    for (int t = 0; t < 3; t++) /* as in training: the product, and both gradients */
        add(list, 256, 768, 768, t == 1, t == 2, "")->timed = true;
}
