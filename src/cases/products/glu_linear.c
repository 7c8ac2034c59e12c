/* cases/products/glu_linear.c - the cases of glu_linear. */
#include "cases/norms/norm.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

/* Gate and up are sums g and u as in linear, with errors e_g and e_u. act(g) u is off by
 * |u| 1.13 e_g + |act(g)| e_u, and |act(g)| <= |g| (1 for sigmoid and tanh): relative to the
 * product of the sums of terms, twice the error of one. The activation and the product add 24 u. */
static tsri_case *add(tsri_case_list *list, int64_t T, int64_t K, int64_t F, tsr_dtype dtype,
                      bool trans, uint32_t activation, bool bias, const char *what) {
    const tsr_dim k = TSRI_CASE_K(K), f = TSRI_CASE_K(2 * F);
    tsri_case *c =
        tsri_case_add(list, TSR_OP_GLU_LINEAR, "M=%lld K=%lld F=%lld %s%s act %u%s%s", (long long)T,
                      (long long)K, (long long)F, tsri_tensor_dtype_name(dtype), trans ? " w'" : "",
                      activation, bias ? " bias" : "", what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, k);
    tsri_case_in(c, 1, TSR_KIND_WEIGHT, dtype, 2, trans ? f : k, trans ? k : f);
    if (bias)
        tsri_case_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, f);
    c->sizes[1] = T;
    c->attrs.glu_linear = (tsr_glu_linear_attrs){
        .struct_size = sizeof c->attrs.glu_linear, .trans_w = trans, .activation = activation};
    c->term_attrs = c->attrs;
    c->term_attrs.glu_linear.activation = TSR_ACT_NONE;
    for (int i = 0; i < 3; i++)
        c->in[i].absolute = true;
    c->bound[0].terms = (2.3 * (double)(K + 4) + 24) * TSRI_CASE_U;
    c->bound[0].absolute = 4 * TSRI_CASE_U;
    c->sparse = activation == TSR_ACT_RELU;
    tsri_case_reason(c,
                     "(2.3 (K + 4) + 24) u sum|gate terms| sum|up terms|, K = %lld: two sums, "
                     "the slope of the activation, its own 20 u",
                     (long long)K);
    return c;
}

/* As in linear.c, int8 products and norms. */
static void int8(tsri_case *c, int64_t K) {
    c->attrs.glu_linear.compute = c->term_attrs.glu_linear.compute = TSR_COMPUTE_INT8;
    c->in[0].fill = TSRI_CASE_STEPS;
    const int64_t sums = K / (tsri_tensor_is_small_blocks(c->in[1].dtype) ? 32 : 16);
    c->bound[0].terms = (2.3 * (double)(sums + 13) + 24) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "(2.3 (S + 13) + 24) u sum|gate terms| sum|up terms|, S = %lld: as "
                     "linear's int8, twice",
                     (long long)sums);
}

static void norm(tsri_case *c, int64_t K) {
    tsri_case_norm_weight(c, 3, K, c->attrs.glu_linear.compute == TSR_COMPUTE_INT8);
    c->attrs.glu_linear.norm_eps = c->term_attrs.glu_linear.norm_eps = 1e-5f;
    c->bound[0].terms += 2.3 * ((double)K + 8) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "as without the norm, K = %lld, and 2.3 (K + 8) u sum|gate terms| sum|up "
                     "terms| for the norm: as linear's, twice",
                     (long long)K);
}

static void add_norms(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{1, 4, 5},    {1, 64, 40},   {2, 128, 33},
                                        {3, 96, 64},  {8, 1032, 20}, {1, 2080, 8},
                                        {9, 132, 65}, {70, 64, 31},  {17, 32, 3}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16},
                           blocks[] = {TSR_GGML_Q8_0, TSR_GGML_Q4_0, TSR_GGML_MXFP4, TSR_GGML_Q5_1};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t T = shapes[i][0], K = shapes[i][1], F = shapes[i][2];
        for (size_t d = 0; d < 3; d++)
            norm(add(list, T, K, F, dtypes[d], true, TSR_ACT_SILU, i % 2, " norm"), K);
        for (size_t d = 0; d < sizeof blocks / sizeof *blocks && K % 32 == 0; d++)
            for (int eight = 0; eight < 2; eight++) {
                tsri_case *c = add(list, T, K, F, blocks[d], true, TSR_ACT_SILU, i % 2,
                                   eight ? " int8, norm" : " norm");
                if (eight)
                    int8(c, K);
                norm(c, K);
            }
    }
}

/* As in linear.c. */
static void add_blocks(tsri_case_list *list, tsr_dtype dtype) {
    static const int64_t shapes[][3] = {{3, 32, 40},  {1, 32, 1},    {1, 64, 64},    {8, 96, 33},
                                        {9, 64, 65},  {64, 96, 128}, {67, 32, 31},   {1, 2048, 64},
                                        {5, 160, 64}, {0, 32, 8},    {1, 1088, 192}, {5, 1088, 192},
                                        {17, 32, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int eight = 0; eight < 2; eight++) {
            const int64_t K = shapes[i][1];
            tsri_case *c =
                add(list, shapes[i][0], K, shapes[i][2], dtype, true,
                    i % 3 == 2 ? TSR_ACT_GELU : TSR_ACT_SILU, i % 2, eight ? " int8" : "");
            if (eight)
                int8(c, K);
        }
}

static void add_large_blocks(tsri_case_list *list, tsr_dtype dtype) {
    static const int64_t shapes[][3] = {{1, 256, 64},  {3, 512, 33},  {7, 256, 128}, {27, 768, 64},
                                        {52, 256, 65}, {1, 512, 192}, {17, 256, 3},  {9, 256, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int eight = 0; eight < 2; eight++) {
            tsri_case *c = add(list, shapes[i][0], shapes[i][1], shapes[i][2], dtype, true,
                               i % 2 ? TSR_ACT_GELU : TSR_ACT_SILU, i % 2, eight ? " int8" : "");
            if (eight)
                int8(c, shapes[i][1]);
        }
}

/* As in linear.c, a sum g of halves is off by e_g = 10.03 h G + 4 K 2^-14, where G, the sum of its
 * terms' magnitudes, is at most K here. So g u is off by 2.3 * 10.03 h G U and, with 4 K 2^-14 in
 * either factor times at most K of the other, by 2.3 * 4 * 2^-14 K^2. */
static void narrow(tsri_case *c, tsr_compute compute, int64_t K) {
    const bool half = compute == TSR_COMPUTE_F16;
    c->attrs.glu_linear.compute = c->term_attrs.glu_linear.compute = compute;
    c->bound[0].terms +=
        2.3 * 1.01 * (half ? 10.03 * 0x1p-11 : 2.01 * 0x1p-8 + (double)K * TSRI_CASE_U);
    if (!half && c->attrs.glu_linear.activation == TSR_ACT_GELU)
        c->bound[0].terms += TSRI_CASE_GELU_OF_BF16;
    c->bound[0].absolute += half ? 2.3 * 4 * 0x1p-14 * 1.01 * (double)(K * K) : 0;
    tsri_case_reason(c,
                     half
                         ? "(2.3 (10.2 h + (K + 4) u) + 24 u) sum|gate terms| sum|up terms| + 9.3 "
                           "K^2 2^-14, h = 2^-11, K = %lld: as linear's f16, twice"
                         : "(2.3 (2.03 b + (2 K + 4) u) + 24 u) sum|gate terms| sum|up terms|, b = "
                           "2^-8, K = %lld: as linear's bf16, twice; gelu: 9e-5 more",
                     (long long)K);
}

static void add_narrow(tsri_case_list *list, tsr_compute compute) {
    const bool f16 = compute == TSR_COMPUTE_F16;
    static const int64_t shapes[][3] = {{3, 32, 40},    {1, 1, 1},    {8, 63, 33},   {9, 17, 65},
                                        {64, 40, 96},   {67, 24, 31}, {0, 8, 8},     {1, 70, 576},
                                        {1, 4133, 128}, {9, 33, 64},  {40, 64, 192}, {70, 40, 128}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_GGML_Q8_0, TSR_GGML_Q4_0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        narrow(add(list, shapes[i][0], shapes[i][1], shapes[i][2], TSR_F32, true,
                   i % 4 == 3 ? TSR_ACT_GELU : TSR_ACT_SILU, i % 2, f16 ? " f16" : " bf16"),
               compute, shapes[i][1]);
    for (int m = 0; m < 2; m++) {
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int trans = tsri_tensor_is_kept_blocks(dtypes[d]); trans < 2; trans++)
                narrow(add(list, m ? 40 : 5, 64, 48, dtypes[d], trans, TSR_ACT_SILU, d % 2,
                           f16 ? " f16 lattice" : " bf16 lattice"),
                       compute, 64);
        tsri_case *c = add(list, m ? 37 : 4, 24, 20, TSR_F32, true, TSR_ACT_NONE, false,
                           f16 ? " f16, integers" : " bf16, integers");
        narrow(c, compute, 24);
        for (int i = 0; i < 2; i++) {
            c->in[i].fill = TSRI_CASE_INTEGER;
            c->in[i].low = -4, c->in[i].high = 4;
        }
        c->bound[0] = (tsri_case_bound){0};
        tsri_case_reason(c,
                         "exact: sums of 8 products below 2^11 are, in half; in f32, below 2^24");
    }
}

/* As in linear.c; the tile has both halves of the weight. */
static void add_edges(tsri_case_list *list) {
    static const int64_t floats[][3] = {{129, 9, 3}, {17, 17, 65}, {9, 33, 129}},
                         bytes[][3] = {{65, 32, 3}, {17, 64, 65}, {9, 64, 129}};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        for (int bf16 = 0; bf16 < 2; bf16++) {
            tsri_case *c =
                add(list, floats[i][0], floats[i][1], floats[i][2], bf16 ? TSR_BF16 : TSR_F16,
                    i != 1, TSR_ACT_SILU, true, bf16 ? " bf16, edge" : " f16, edge");
            narrow(c, bf16 ? TSR_COMPUTE_BF16 : TSR_COMPUTE_F16, floats[i][1]);
            c->edge = true;
        }
        tsri_case *c =
            add(list, bytes[i][0], bytes[i][1], bytes[i][2], i ? TSR_GGML_Q4_0 : TSR_GGML_Q8_0,
                true, TSR_ACT_SILU, true, " int8, edge");
        int8(c, bytes[i][1]);
        c->edge = true;
    }
}

/* A limit brings no error closer, nor does it add one; alpha g is rounded, h(g) = act(alpha g) / alpha is
 * divided within 5 u, u + shift is rounded: 8 u of |h(g)| |u + shift|, which the terms have with shift. */
static void form(tsri_case *c, int64_t K) {
    tsr_glu_linear_attrs *attrs = &c->attrs.glu_linear, *terms = &c->term_attrs.glu_linear;
    attrs->limit = 0.75f;
    attrs->alpha = 1.702f;
    attrs->shift = terms->shift = 1;
    c->bound[0].terms += 8 * TSRI_CASE_U;
    c->bound[0].absolute *= 1 + 1 / (double)K; /* the other factor is at most K + shift */
    tsri_case_reason(c,
                     "as without limit, alpha and shift, with shift among the up terms; 8 u for "
                     "rounding alpha g, a division and a sum, K = %lld",
                     (long long)K);
}

static void add_forms(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{3, 32, 40},   {1, 64, 64},    {8, 96, 128}, {9, 64, 65},
                                        {70, 96, 128}, {1, 1032, 192}, {5, 160, 192}};
    static const tsr_dtype dtypes[] = {TSR_F32,       TSR_F16,       TSR_BF16,
                                       TSR_GGML_Q8_0, TSR_GGML_Q4_0, TSR_GGML_MXFP4};
    static const char what[] = ", limit, alpha, shift";
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            const int64_t T = shapes[i][0], K = shapes[i][1], F = shapes[i][2];
            if (tsri_tensor_is_kept_blocks(dtypes[d])) {
                if (K % 32)
                    continue;
                tsri_case *c = add(list, T, K, F, dtypes[d], true, TSR_ACT_SILU, i % 2, what);
                int8(c, K);
                form(c, K);
            }
            form(add(list, T, K, F, dtypes[d], true, TSR_ACT_SILU, i % 2 == 0, what), K);
        }
    for (int half = 0; half < 2; half++) {
        tsri_case *c = add(list, 40, 64, 192, TSR_F32, true, TSR_ACT_SILU, half, what);
        narrow(c, half ? TSR_COMPUTE_F16 : TSR_COMPUTE_BF16, 64);
        form(c, 64);
    }
}

/* A gated layer, for a token and for a prompt. */
static void add_timed(tsri_case_list *list) {
    static const tsr_dtype dtypes[] = {TSR_F32,       TSR_F16,       TSR_BF16,      TSR_GGML_Q8_0,
                                       TSR_GGML_Q4_0, TSR_GGML_Q4_K, TSR_GGML_Q6_K, TSR_GGML_MXFP4};
    for (int prompt = 0; prompt < 2; prompt++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            const int64_t T = prompt ? 128 : 1;
            add(list, T, 768, 2048, dtypes[d], true, TSR_ACT_SILU, false, "")->timed = true;
            if (!tsri_tensor_is_kept_blocks(dtypes[d]))
                continue;
            tsri_case *c = add(list, T, 768, 2048, dtypes[d], true, TSR_ACT_SILU, false, " int8");
            c->attrs.glu_linear.compute = TSR_COMPUTE_INT8;
            c->timed = true;
        }
}

void tsri_cases_glu_linear(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{3, 32, 40},   {1, 1, 1},    {1, 64, 64},   {8, 63, 33},
                                        {9, 17, 65},   {64, 40, 96}, {67, 24, 31},  {0, 8, 8},
                                        {7, 129, 128}, {4, 65, 64},  {1, 70, 576},  {5, 1030, 128},
                                        {127, 9, 63},  {128, 8, 64}, {129, 20, 65}, {150, 72, 150}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    static const int64_t few[] = {1, 3, 8};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i][0], shapes[i][1], shapes[i][2], TSR_F32, true, TSR_ACT_SILU, i % 2, "");
    for (int m = 0; m < 3; m++) /* the three dtypes, in each orientation, with one row, a few and
                                   many; widths that fill panels of 64 */
        for (size_t d = 0; d < 3; d++)
            for (int trans = 0; trans < 2; trans++)
                add(list,
                    m == 0   ? 1
                    : m == 1 ? 5
                             : 66,
                    47, m == 1 ? 64 : 128, dtypes[d], trans, TSR_ACT_SILU, d % 2, " lattice");
    for (size_t d = 0; d < 3; d++) /* decoding: several steps of 16 bytes, and a part of one */
        for (int m = 0; m < 3; m++)
            add(list, few[m], 1032, 67, dtypes[d], true, TSR_ACT_SILU, m == 1, "");
    for (uint32_t a = TSR_ACT_RELU; a <= TSR_ACT_GELU_TANH; a++)
        add(list, 4, 24, 20, TSR_F32, true, a, false, "");
    for (int64_t T = 1; T < 70; T = T * 4 + 1) /* 1, 5, 21: as the lattice */
        add(list, T, 47, 128, TSR_F32, true, TSR_ACT_GELU, false, "");
    tsri_case *c = add(list, 4, 24, 20, TSR_F32, true, TSR_ACT_NONE, false, " integers");
    for (int i = 0; i < 2; i++) {
        c->in[i].fill = TSRI_CASE_INTEGER;
        c->in[i].low = -4, c->in[i].high = 4;
    }
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums and products of integers below 2^24 are");
    c = add(list, 4, 24, 20, TSR_F32, true, TSR_ACT_SILU, false, " x from wider rows");
    c->in[0].view = TSRI_CASE_SLICED;
    add_forms(list);
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
