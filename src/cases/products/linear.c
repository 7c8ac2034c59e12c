/* cases/products/linear.c - the cases of linear: M in every range of rows that backends distinguish
 * (1, 2-8, 9-63, from 64), K and N around their panels, dtypes, activations, fused epilogues. */
#include "cases/norms/norm.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

#include <string.h>

static const char *const activation_names[] = {"none", "relu", "gelu",   "gelu_tanh",
                                               "silu", "tanh", "sigmoid"};

typedef struct shape {
    int64_t B, T, K, N;
} shape;

/* As matmul; then the activation, with a slope of at most 1.13 (gelu, silu) and an error of its own
 * of 16 u of its argument (exp, erf and tanh are within 16 ulp); bias and residual are terms
 * too. Of the K + 4 roundings, K are those of a kernel's products and their sum, two those of its
 * bias and residual, and two the reference's: of y, and of the product before a residual. */
static void bound(tsri_case *c, int64_t K, bool activated) {
    c->bound[0].terms = ((double)(K + 4) * 1.13 + (activated ? 20 : 0)) * TSRI_CASE_U;
    c->bound[0].absolute =
        activated ? 4 * TSRI_CASE_U : TSRI_CASE_TINY; /* sigmoid and tanh: of 1 */
    for (int i = 0; i < 4; i++)
        c->in[i].absolute = true;
    c->term_attrs = c->attrs;
    c->term_attrs.linear.activation = TSR_ACT_NONE;
    tsri_case_reason(c,
                     "1.13 (K + 4) u sum|terms|, K = %lld: a rounding per product and sum, slope "
                     "of the activation 1.13%s",
                     (long long)K, activated ? "; 20 u for the activation itself" : "");
}

static tsri_case *add(tsri_case_list *list, shape s, tsr_dtype dtype, bool trans,
                      uint32_t activation, bool bias, bool residual, const char *what) {
    const tsr_dim k = TSRI_CASE_K(s.K), n = TSRI_CASE_K(s.N);
    tsri_case *c = tsri_case_add(list, TSR_OP_LINEAR, "M=%lldx%lld K=%lld N=%lld %s%s %s%s%s%s",
                                 (long long)s.B, (long long)s.T, (long long)s.K, (long long)s.N,
                                 tsri_tensor_dtype_name(dtype), trans ? " w'" : "",
                                 activation_names[activation], bias ? " bias" : "",
                                 residual ? " residual" : "", what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, k);
    tsri_case_in(c, 1, TSR_KIND_WEIGHT, dtype, 2, trans ? n : k, trans ? k : n);
    if (bias)
        tsri_case_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, n);
    if (residual)
        tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, n);
    c->sizes[0] = s.B;
    c->sizes[1] = s.T;
    c->attrs.linear = (tsr_linear_attrs){
        .struct_size = sizeof c->attrs.linear, .trans_w = trans, .activation = activation};
    c->sparse = activation == TSR_ACT_RELU;
    bound(c, s.K, activation > TSR_ACT_RELU);
    return c;
}

/* So many sums of whole numbers are scaled and added up for one output: a small block of 32 has one; 256
 * inputs of other types have up to 16 scales, or 8 scales and 8 minima. */
static int64_t scaled_sums(const tsri_case *c, int64_t K) {
    return K / (tsri_tensor_is_small_blocks(c->in[1].dtype) ? 32 : 16);
}

/* By their fill, x has the same integers on all devices, and so the same sums of blocks. What can
 * differ are these scaled sums, the two scales of a block (a division to within 5 u, a product), bias,
 * activation and residual. */
static void int8(tsri_case *c, int64_t K, bool activated) {
    c->attrs.linear.compute = TSR_COMPUTE_INT8;
    c->in[0].fill = TSRI_CASE_STEPS;
    c->in[0].high = 3;
    bound(c, scaled_sums(c, K) + 9, activated);
    tsri_case_reason(
        c,
        "1.13 (S + 13) u sum|terms|, S = %lld: exact sums of whole numbers, one rounding "
        "each, the scales of w and x, slope of the activation 1.13%s",
        (long long)scaled_sums(c, K), activated ? "; 20 u for the activation itself" : "");
}

/* Products of halves have 10 roundings of 2^-11 (op.h). Numbers below 2^-14 may be flushed to 0 in
 * half: x, w, their product, a sum. Those of bf16 have two roundings of 2^-8, and matrix units may
 * cut sums off where f32 rounds them; and gelu's erf is off by up to 1.7e-4 after them. */
static void narrow(tsri_case *c, tsr_compute compute, int64_t K, bool activated) {
    const bool half = compute == TSR_COMPUTE_F16;
    c->attrs.linear.compute = c->term_attrs.linear.compute = compute;
    c->bound[0].terms += 1.13 * (half ? 10.03 * 0x1p-11 : 2.01 * 0x1p-8 + (double)K * TSRI_CASE_U);
    c->bound[0].terms += !half && activated ? TSRI_CASE_GELU_OF_BF16 : 0;
    c->bound[0].absolute += half ? 1.13 * 4 * 0x1p-14 * (double)K : 0;
    tsri_case_reason(c,
                     half ? "1.13 (10 h + (K + 4) u) sum|terms| + 4.6 K 2^-14, h = 2^-11, K = "
                            "%lld: x, w, the product, 7 sums of halves, what half may flush%s"
                          : "1.13 (2.01 b + (2 K + 4) u) sum|terms|, b = 2^-8, K = %lld: x, w, "
                            "sums that are cut off%s",
                     (long long)K,
                     !activated ? ""
                     : half     ? "; 20 u for the activation"
                                : "; 9e-5 + 20 u for gelu");
}

/* For every dtype: a few rows, many, and the fewest of variants for many. A simulator of GPUs is slow, and takes the
 * smallest. */
enum { MANY = 3 };
static const shape few_and_many[MANY] = {{1, 5, 96, 100}, {1, 70, 96, 100}, {1, 17, 32, 5}};

/* Products in f16 and bf16: M, N and K around tiles and groups of 8; each dtype and orientation;
 * integers, which both hold exactly. */
static void add_narrow(tsri_case_list *list, tsr_compute compute) {
    static const shape shapes[] = {{1, 3, 32, 48},   {1, 1, 1, 1},     {1, 8, 65, 63},
                                   {3, 3, 17, 130},  {2, 31, 7, 129},  {1, 64, 48, 96},
                                   {1, 33, 15, 65},  {1, 0, 16, 16},   {1, 1, 1030, 170},
                                   {1, 1, 4133, 66}, {1, 1, 24, 4170}, {1, 1, 16400, 70}};
    static const tsr_dtype dtypes[] = {TSR_F32,       TSR_F16,       TSR_BF16,
                                       TSR_GGML_Q8_0, TSR_GGML_Q4_0, TSR_GGML_MXFP4};
    const char *what = compute == TSR_COMPUTE_F16 ? " f16" : " bf16";
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const uint32_t activation = i % 4 == 3 ? TSR_ACT_GELU : TSR_ACT_NONE;
        tsri_case *c = add(list, shapes[i], TSR_F32, true, activation, i % 2, i % 3 == 1, what);
        narrow(c, compute, shapes[i].K, activation != TSR_ACT_NONE);
    }
    for (int m = 0; m < MANY; m++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int trans = tsri_tensor_is_kept_blocks(dtypes[d]); trans < 2; trans++)
                narrow(add(list, few_and_many[m], dtypes[d], trans, TSR_ACT_NONE, d == 1, d == 2,
                           compute == TSR_COMPUTE_F16 ? " f16 lattice" : " bf16 lattice"),
                       compute, few_and_many[m].K, false);
    for (int m = 0; m < 3 && compute == TSR_COMPUTE_BF16; m++) {
        static const int64_t rows[] = {1, 5, 70};
        narrow(add(list, (shape){1, rows[m], 96, 100}, TSR_BF16, true, TSR_ACT_GELU, true, m == 1,
                   " bf16 gelu"),
               compute, 96, true);
    }
    for (int m = 0; m < 2; m++) {
        tsri_case *c = add(list, (shape){2, m ? 35 : 3, 43, 67}, TSR_F16, true, TSR_ACT_NONE, true,
                           true, compute == TSR_COMPUTE_F16 ? " f16, integers" : " bf16, integers");
        narrow(c, compute, 43, false);
        for (int i = 0; i < 4; i++) {
            c->in[i].fill = TSRI_CASE_INTEGER;
            c->in[i].low = -8, c->in[i].high = 8;
        }
        c->bound[0] = (tsri_case_bound){0};
        tsri_case_reason(c,
                         "exact: in half, sums of 8 products below 2^11 are; in f32, below 2^24");
    }
}

/* The smallest cases that go past the edges of a matrix unit's tile (variants/shared/group.h): rows, one more
 * than 128, which is a multiple of every tile's; outputs; inputs, one more than the step. Those for a few
 * rows have tiles of 8 to 32 rows, up to 256 outputs and steps of 32. Nothing is a multiple of 4. */
static void add_edges(tsri_case_list *list) {
    static const shape floats[] = {{1, 129, 9, 5}, {1, 17, 17, 129}, {1, 9, 33, 257}},
                       bytes[] = {{1, 65, 32, 5}, {1, 17, 64, 129}, {1, 9, 64, 257}};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        for (int bf16 = 0; bf16 < 2; bf16++) {
            tsri_case *c = add(list, floats[i], bf16 ? TSR_BF16 : TSR_F16, i != 1, TSR_ACT_NONE,
                               true, true, bf16 ? " bf16, edge" : " f16, edge");
            narrow(c, bf16 ? TSR_COMPUTE_BF16 : TSR_COMPUTE_F16, floats[i].K, false);
            c->edge = true;
        }
        tsri_case *c = add(list, bytes[i], i ? TSR_GGML_Q4_0 : TSR_GGML_Q8_0, true, TSR_ACT_NONE,
                           true, true, " int8, edge");
        int8(c, bytes[i].K, false);
        c->edge = true;
    }
}

/* x through a norm. Relative to the magnitude of the normed x, which that of |x| has too, a sum of K squares
 * is off by (K + 4) u, its root by half, division and weight by 4 u. */
static void norm(tsri_case *c, int64_t K) {
    tsri_case_norm_weight(c, 4, K, c->attrs.linear.compute == TSR_COMPUTE_INT8);
    c->attrs.linear.norm_eps = c->term_attrs.linear.norm_eps = 1e-5f;
    c->bound[0].terms += 1.13 * ((double)K + 8) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "as without the norm, K = %lld, and 1.13 (K + 8) u sum|terms| for the norm: a "
                     "sum of K squares, its root, a division and the weight",
                     (long long)K);
}

/* Rows of x that kernels for a few norm themselves, and more, which a stage norms; K of one float4 for
 * each work-item and less, of several steps, and of more than 256 float4. */
static void add_norms(tsri_case_list *list) {
    static const shape shapes[] = {
        {1, 1, 4, 5},     {1, 1, 64, 70},  {2, 1, 128, 65},  {1, 3, 96, 100},   {1, 8, 1032, 67},
        {1, 1, 2080, 48}, {1, 9, 132, 33}, {2, 35, 64, 129}, {1, 130, 160, 66}, {1, 17, 32, 5}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16},
                           blocks[] = {TSR_GGML_Q8_0, TSR_GGML_Q4_0, TSR_GGML_MXFP4, TSR_GGML_Q5_1};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const uint32_t activation = i % 4 == 3 ? TSR_ACT_GELU : TSR_ACT_NONE;
        for (size_t d = 0; d < 3; d++)
            norm(add(list, shapes[i], dtypes[d], true, activation, i % 2, i % 3 == 1, " norm"),
                 shapes[i].K);
        for (size_t d = 0; d < sizeof blocks / sizeof *blocks && shapes[i].K % 32 == 0; d++)
            for (int eight = 0; eight < 2; eight++) {
                tsri_case *c = add(list, shapes[i], blocks[d], true, activation, i % 2, i % 3 == 1,
                                   eight ? " int8, norm" : " norm");
                if (eight)
                    int8(c, shapes[i].K, activation != TSR_ACT_NONE);
                norm(c, shapes[i].K);
            }
    }
    for (int m = 0; m < MANY; m++) {
        const shape s = few_and_many[m];
        tsri_case *c = add(list, s, TSR_F16, true, TSR_ACT_NONE, false, true, " f16, norm");
        narrow(c, TSR_COMPUTE_F16, s.K, false);
        norm(c, s.K);
        c = add(list, s, TSR_BF16, true, TSR_ACT_NONE, false, true, " bf16, norm");
        narrow(c, TSR_COMPUTE_BF16, s.K, false);
        norm(c, s.K);
    }
    tsri_case *c = add(list, (shape){2, 4, 40, 33}, TSR_F32, true, TSR_ACT_NONE, true, false,
                       " norm, x from wider rows"); /* not by fours: nothing on a GPU takes it */
    c->in[0].view = TSRI_CASE_SLICED;
    norm(c, 40);
}

/* Fills w and x with integers that blocks (and int8 x) hold exactly with a scale of 1. Blocks that are not made
 * from numbers have theirs: multiples of 2^-9, below 1. */
static void whole(tsri_case *c, tsr_dtype dtype) {
    static const int32_t q8[] = {127, -3, 0, 64, -127, 5, 99, -1, 17},
                         q4[] = {-8, 7, 3, -1, 0, 5, -6};
    static const int32_t x[] = {127, -1, 2, 30, -77, 0, 3, 127, -127, 11, 6};
    const bool wide = dtype == TSR_GGML_Q8_0;
    c->in[0].fill = c->in[1].fill = TSRI_CASE_LIST;
    c->in[0].n_list = sizeof x / sizeof *x;
    memcpy(c->in[0].list, x, sizeof x);
    c->in[1].n_list = wide ? sizeof q8 / sizeof *q8 : sizeof q4 / sizeof *q4;
    memcpy(c->in[1].list, wide ? q8 : q4, wide ? sizeof q8 : sizeof q4);
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums of integers below 2^24 are (of mxfp4, q4_1, q5_0, q5_1 and "
                        "iq4_nl: of 512ths)");
}

/* Weights in blocks: K of 1, 2, 3 and many blocks, M and N as elsewhere; float and int8
 * products. 17 rows as in few_and_many. */
static void add_blocks(tsri_case_list *list, tsr_dtype dtype) {
    static const shape shapes[] = {
        {1, 3, 32, 48},  {1, 1, 32, 1},    {1, 1, 64, 64},   {2, 1, 96, 65},    {1, 8, 32, 63},
        {3, 3, 64, 130}, {2, 31, 96, 129}, {1, 64, 64, 128}, {5, 13, 160, 200}, {1, 65, 128, 5},
        {2, 64, 96, 64}, {1, 1, 4096, 67}, {1, 9, 2048, 70}, {1, 0, 32, 16},    {1, 17, 32, 5}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int eight = 0; eight < 2; eight++) {
            const uint32_t activation = i % 5 == 4 ? TSR_ACT_SILU : TSR_ACT_NONE;
            tsri_case *c = add(list, shapes[i], dtype, true, activation, i % 2, i % 3 == 1,
                               eight ? " int8" : "");
            if (eight)
                int8(c, shapes[i].K, activation != TSR_ACT_NONE);
        }
    for (int eight = 0; eight < 2; eight++) {
        tsri_case *one = add(list, (shape){1, 1, 64, 66}, dtype, true, TSR_ACT_GELU, true, false,
                             eight ? " int8" : "");
        if (eight)
            int8(one, 64, true);
        tsri_case *c = add(list, (shape){2, 5, 64, 33}, dtype, true, TSR_ACT_NONE, true, false,
                           eight ? " int8, sliced x" : " sliced x");
        if (eight)
            int8(c, 64, false);
        c->in[0].view = TSRI_CASE_SLICED;
        c = add(list, (shape){1, 7, 96, 70}, dtype, true, TSR_ACT_NONE, false, false,
                eight ? " int8, integers" : " integers");
        if (eight)
            int8(c, 96, false);
        whole(c, dtype);
    }
}

/* Blocks of 256: K of 1, 2 and 3 of them; rows of x one, two, three and more, and more than a work-item
 * takes; rows that the kernel itself norms and quantises, and those of a stage. */
static void add_large_blocks(tsri_case_list *list, tsr_dtype dtype) {
    static const shape shapes[] = {{1, 1, 256, 1},  {1, 1, 512, 65},  {1, 2, 256, 64},
                                   {1, 3, 768, 70}, {1, 4, 256, 63},  {1, 9, 512, 130},
                                   {2, 1, 256, 16}, {5, 5, 256, 129}, {1, 50, 256, 64},
                                   {1, 17, 256, 5}, {1, 9, 256, 5}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int eight = 0; eight < 2; eight++) {
            const uint32_t activation = i % 5 == 4 ? TSR_ACT_SILU : TSR_ACT_NONE;
            tsri_case *c = add(list, shapes[i], dtype, true, activation, i % 2, i % 3 == 1,
                               eight ? " int8" : "");
            if (eight)
                int8(c, shapes[i].K, activation != TSR_ACT_NONE);
            if (i == 5)
                c->in[0].view = TSRI_CASE_SLICED;
        }
    for (int many = 0; many < 2; many++) {
        tsri_case *c = add(list, (shape){1, many ? 12 : 1, 512, 40}, dtype, true, TSR_ACT_NONE,
                           false, many, " int8, norm");
        int8(c, 512, false);
        norm(c, 512);
    }
}

/* Weights that are trained are plain rows of a state: more rows of x than a work-item takes (264),
 * more inputs than it packs at once (256), a last panel of 1 output, of 17 and of all 64. */
static void add_states(tsri_case_list *list) {
    static const shape shapes[] = {{2, 140, 40, 65}, {1, 7, 300, 81}, {3, 90, 259, 128}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int trans = 0; trans < 2; trans++)
            add(list, shapes[i], i == 1 ? TSR_BF16 : TSR_F32, trans, TSR_ACT_GELU_TANH * (i == 0),
                true, i == 2, " state")
                ->in[1]
                .kind = TSR_KIND_STATE;
}

/* The residual of a part of a weight is columns of wider rows (run/parts.c). So is y, which no case can be:
 * tests/run/parts.c has that. */
static void add_sliced_residuals(tsri_case_list *list) {
    static const shape shapes[] = {{1, 3, 32, 70}, {1, 9, 64, 65}, {2, 35, 32, 100}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16, TSR_GGML_Q8_0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < 4; d++) {
            const bool eight = d == 3;
            tsri_case *c =
                add(list, shapes[i], dtypes[eight ? 2 : d], true, TSR_ACT_NONE, d % 2, true,
                    eight ? " int8, residual from wider rows" : " residual from wider rows");
            if (eight)
                int8(c, shapes[i].K, false);
            c->in[3].view = TSRI_CASE_SLICED;
        }
    for (int half = 0; half < 2; half++) {
        tsri_case *c =
            add(list, shapes[2], TSR_BF16, true, TSR_ACT_NONE, true, true,
                half ? " f16, residual from wider rows" : " bf16, residual from wider rows");
        narrow(c, half ? TSR_COMPUTE_F16 : TSR_COMPUTE_BF16, shapes[2].K, false);
        c->in[3].view = TSRI_CASE_SLICED;
    }
}

/* A projection, for a token and for a prompt. */
static void add_timed(tsri_case_list *list) {
    static const tsr_dtype dtypes[] = {TSR_F32,       TSR_F16,       TSR_BF16,      TSR_GGML_Q8_0,
                                       TSR_GGML_Q4_0, TSR_GGML_Q4_K, TSR_GGML_Q6_K, TSR_GGML_MXFP4};
    for (int prompt = 0; prompt < 2; prompt++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            const shape s = {1, prompt ? 128 : 1, 2048, 2048};
            const bool blocks = tsri_tensor_is_kept_blocks(dtypes[d]);
            add(list, s, dtypes[d], true, TSR_ACT_NONE, false, false, "")->timed = true;
            if (dtypes[d] == TSR_F32)
                continue;
            const bool f16 = dtypes[d] == TSR_F16;
            tsri_case *c = add(list, s, dtypes[d], true, TSR_ACT_NONE, false, false,
                               blocks ? " int8"
                               : f16  ? " f16"
                                      : " bf16");
            c->attrs.linear.compute = blocks ? TSR_COMPUTE_INT8
                                      : f16  ? TSR_COMPUTE_F16
                                             : TSR_COMPUTE_BF16;
            c->timed = true;
        }
}

void tsri_cases_linear(tsri_case_list *list) {
    static const shape shapes[] = {
        {1, 3, 32, 48},   {1, 1, 1, 1},     {1, 1, 64, 64},     {2, 1, 63, 65},   {1, 8, 65, 63},
        {3, 3, 17, 130},  {2, 31, 7, 129},  {1, 64, 48, 96},    {5, 13, 40, 200}, {1, 65, 128, 5},
        {2, 64, 33, 64},  {1, 0, 16, 16},   {1, 6, 130, 200},   {1, 4, 66, 65},   {1, 1, 129, 577},
        {1, 5, 1030, 66}, {1, 1, 1030, 66}, {1, 11, 1030, 130}, /* 6 rows, and 5 are left over */
        {1, 127, 9, 129}, {1, 128, 8, 128}, {1, 129, 20, 127}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    static const int64_t few[] = {1, 3, 8};
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
    for (size_t d = 0; d < 3; d++) /* decoding: several steps of 16 bytes, and a part of one */
        for (int m = 0; m < 3; m++)
            add(list, (shape){1, few[m], 1032, 67}, dtypes[d], true, TSR_ACT_NONE, m == 1, m == 2,
                "");
    for (uint32_t a = TSR_ACT_RELU; a <= TSR_ACT_SIGMOID; a++)
        add(list, (shape){2, a % 2 ? 1 : 5, 24, 66}, TSR_F32, true, a, true, a % 2, "");
    tsri_case *c = add(list, (shape){2, 5, 40, 33}, TSR_F32, true, TSR_ACT_NONE, true, false,
                       " x from wider rows");
    c->in[0].view = TSRI_CASE_SLICED;
    add_sliced_residuals(list);
    c = add(list, (shape){2, 5, 40, 33}, TSR_F16, true, TSR_ACT_NONE, true, true, " integers");
    for (int i = 0; i < 4; i++) {
        c->in[i].fill = TSRI_CASE_INTEGER;
        c->in[i].low = -8, c->in[i].high = 8;
    }
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums of integers below 2^24 are");
    c = add(list, (shape){1, 2, 9, 70}, TSR_F32, true, TSR_ACT_GELU_TANH, true, false, " large");
    c->in[0].low = -1e6, c->in[0].high = 1e6;
    c->sparse = true;
    add_states(list);
    add_norms(list);
    add_narrow(list, TSR_COMPUTE_F16);
    add_narrow(list, TSR_COMPUTE_BF16);
    add_edges(list);
    for (int dtype = TSR_GGML_Q4_0; dtype < TSRI_TENSOR_DTYPES; dtype++)
        if (tsri_tensor_is_kept_blocks((tsr_dtype)dtype))
            (tsri_tensor_dtype_info((tsr_dtype)dtype)->block == TSRI_TENSOR_BLOCK
                 ? add_blocks
                 : add_large_blocks)(list, (tsr_dtype)dtype);
    add_timed(list);
}
