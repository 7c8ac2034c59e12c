/* cases/products/expert_linear.c - the cases of expert_linear and expert_glu_linear: few and many rows,
 * fewer of them than experts and more, experts that none takes, rows that several share, dtypes,
 * orientations, widths around the panels; of blocks one row, two, up to eight, and more than a tile has; parts
 * of the weights. */
#include "cases/cases.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

#include <string.h>

typedef struct shape {
    int64_t R, J, each, K, N,
        E; /* each: x has J rows, else one for all j; N: outputs of a gate or of
                                    the whole */
} shape;

/* The bounds are those of linear and glu_linear: each row of y is one of theirs. `sums` are the
 * roundings of an output, one for each input or, with int8, for each scaled sum. */
static void bound(tsri_case *c, int64_t sums, bool gated, bool activated) {
    c->bound[0].terms =
        (gated ? 2.3 * (double)(sums + 4) + 24 : 1.13 * (double)(sums + 4) + (activated ? 20 : 0)) *
        TSRI_CASE_U;
    c->bound[0].absolute = activated ? 4 * TSRI_CASE_U : TSRI_CASE_TINY;
    tsri_case_reason(c,
                     gated ? "(2.3 (S + 4) + 24) u sum|gate terms| sum|up terms|, S = %lld: as "
                             "glu_linear"
                           : "(1.13 (S + 4) + 20) u sum|terms|, S = %lld: as linear",
                     (long long)sums);
}

static tsri_case *add(tsri_case_list *list, bool gated, shape s, tsr_dtype dtype, bool trans,
                      uint32_t activation, bool bias, const char *what) {
    const tsr_dim E = TSRI_CASE_K(s.E), k = TSRI_CASE_K(s.K),
                  n = TSRI_CASE_K(gated ? 2 * s.N : s.N), J = TSRI_CASE_K(s.J);
    tsri_case *c = tsri_case_add(
        list, gated ? TSR_OP_EXPERT_GLU_LINEAR : TSR_OP_EXPERT_LINEAR,
        "R=%lld J=%lld%s K=%lld N=%lld E=%lld %s%s act %u%s%s", (long long)s.R, (long long)s.J,
        s.each ? " each" : "", (long long)s.K, (long long)s.N, (long long)s.E,
        tsri_tensor_dtype_name(dtype), trans ? " w'" : "", activation, bias ? " bias" : "", what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_T, s.each ? J : TSRI_CASE_K(1), k);
    tsri_case_in(c, 1, TSR_KIND_WEIGHT, dtype, 3, E, trans ? n : k, trans ? k : n);
    tsri_case_operand *experts = tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_T, J);
    experts->fill = TSRI_CASE_INTEGER;
    experts->low = 0, experts->high = (double)(s.E - 1);
    if (bias)
        tsri_case_in(c, 3, TSR_KIND_WEIGHT, TSR_F32, 2, E, n);
    c->in[0].absolute = c->in[1].absolute = c->in[3].absolute = true;
    c->sizes[1] = s.R;
    c->attrs.expert_glu_linear = (tsr_glu_linear_attrs){
        .struct_size = gated ? sizeof c->attrs.expert_glu_linear : sizeof c->attrs.expert_linear,
        .trans_w = trans,
        .activation = activation};
    c->term_attrs = c->attrs;
    c->term_attrs.linear.activation = TSR_ACT_NONE;
    bound(c, s.K, gated, activation != TSR_ACT_NONE);
    return c;
}

static void int8(tsri_case *c, int64_t K, bool gated, bool activated) {
    const int64_t sums = K / (tsri_tensor_is_small_blocks(c->in[1].dtype) ? 32 : 16);
    c->attrs.linear.compute = c->term_attrs.linear.compute = TSR_COMPUTE_INT8;
    c->in[0].fill = TSRI_CASE_STEPS;
    bound(c, sums + 9, gated, activated);
}

static void add_blocks(tsri_case_list *list, bool gated) {
    static const shape shapes[] = {
        {3, 2, 0, 256, 64, 4}, {1, 3, 1, 512, 128, 5}, {21, 2, 0, 256, 33, 3}};
    static const tsr_dtype of_32[3][4] = {
        {TSR_GGML_Q8_0, TSR_GGML_Q4_0, TSR_GGML_Q8_0, TSR_GGML_Q4_0},
        {TSR_GGML_MXFP4, TSR_GGML_MXFP4, TSR_GGML_MXFP4, TSR_GGML_MXFP4},
        {TSR_GGML_Q4_1, TSR_GGML_Q5_0, TSR_GGML_Q5_1, TSR_GGML_IQ4_NL}};
    for (int dtype = TSR_GGML_Q4_0; dtype < TSRI_TENSOR_DTYPES; dtype++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int eight = 0; eight < 2 && tsri_tensor_is_kept_blocks((tsr_dtype)dtype);
                 eight++) {
                tsri_case *c =
                    add(list, gated, shapes[i], (tsr_dtype)dtype, true,
                        gated ? TSR_ACT_SILU : TSR_ACT_NONE, i == 1, eight ? " int8" : "");
                if (eight)
                    int8(c, shapes[i].K, gated, gated);
            }
    /* of int8 products alone, in blocks of 32 */
    static const shape bytes[] = {
        {1, 4, 0, 64, 33, 2},  {2, 3, 1, 32, 40, 2},   {2, 1, 0, 1056, 9, 3},
        {7, 2, 1, 32, 31, 2},  {8, 3, 0, 96, 70, 20},  {9, 1, 0, 32, 17, 4},
        {63, 2, 0, 64, 32, 5}, {64, 2, 1, 64, 65, 10}, {90, 3, 0, 32, 96, 2}};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (int kind = 0; kind < 3; kind++)
            int8(add(list, gated, bytes[i], of_32[kind][i % 4], true,
                     i == 3 ? TSR_ACT_GELU : TSR_ACT_NONE, i % 3 == 0, " int8"),
                 bytes[i].K, gated, i == 3);
}

/* As in glu_linear.c. */
static void form(tsri_case *c, int64_t K) {
    tsr_glu_linear_attrs *attrs = &c->attrs.expert_glu_linear,
                         *terms = &c->term_attrs.expert_glu_linear;
    attrs->limit = 0.75f;
    attrs->alpha = 1.702f;
    attrs->shift = terms->shift = 1;
    c->bound[0].terms += 8 * TSRI_CASE_U;
    tsri_case_reason(c,
                     "as without limit, alpha and shift, with shift among the up terms; 8 u for "
                     "rounding alpha g, a division and a sum, K = %lld",
                     (long long)K);
}

static void add_forms(tsri_case_list *list) {
    static const shape shapes[] = {
        {3, 2, 0, 64, 64, 4}, {1, 4, 1, 32, 128, 9}, {40, 2, 0, 96, 64, 3}, {7, 3, 0, 32, 33, 5}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16, TSR_GGML_Q8_0, TSR_GGML_MXFP4};
    static const char what[] = ", limit, alpha, shift";
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            form(add(list, true, shapes[i], dtypes[d], true, TSR_ACT_SILU, i != 2, what),
                 shapes[i].K);
            if (!tsri_tensor_is_kept_blocks(dtypes[d]))
                continue;
            tsri_case *c = add(list, true, shapes[i], dtypes[d], true, TSR_ACT_SILU, true, what);
            int8(c, shapes[i].K, true, true);
            form(c, shapes[i].K);
        }
}

static void part(tsri_case *c, bool gated, uint32_t first, uint32_t whole) {
    static const int32_t experts[] = {4, 0, 3, 10, 5, 2, 8};
    enum { COUNT = sizeof experts / sizeof *experts };
    c->in[2].fill = TSRI_CASE_LIST;
    c->in[2].n_list = COUNT;
    memcpy(c->in[2].list, experts, sizeof experts);
    if (gated) {
        c->attrs.expert_glu_linear.first = c->term_attrs.expert_glu_linear.first = first;
        c->attrs.expert_glu_linear.whole = c->term_attrs.expert_glu_linear.whole = whole;
    } else {
        c->attrs.expert_linear.first = c->term_attrs.expert_linear.first = first;
        c->attrs.expert_linear.whole = c->term_attrs.expert_linear.whole = whole;
    }
}

/* The weights from expert 3 on, of 11: no more pairs than experts, a few for each, and many. The rows of
 * the others' pairs must be left as they are, which is poisoned (verify/run.c): NaN equals NaN. */
static void add_parts(tsri_case_list *list, bool gated) {
    static const shape shapes[] = {
        {3, 2, 0, 32, 64, 6}, {19, 2, 1, 64, 64, 4}, {70, 2, 0, 64, 128, 2}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16, TSR_GGML_Q8_0};
    const uint32_t activation = gated ? TSR_ACT_SILU : TSR_ACT_NONE;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < 4; d++) {
            const bool eight = d == 3;
            tsri_case *c = add(list, gated, shapes[i], dtypes[eight ? 2 : d], true, activation,
                               d % 2 == 0, eight ? " int8, part" : " part");
            if (eight)
                int8(c, shapes[i].K, gated, gated);
            part(c, gated, 3, 11);
        }
}

static void add_all(tsri_case_list *list, bool gated) {
    static const shape shapes[] = {
        {3, 2, 0, 32, 64, 4},  {1, 1, 0, 1, 1, 1},     {1, 8, 1, 63, 64, 20},
        {5, 3, 1, 17, 128, 4}, {9, 2, 1, 47, 192, 3},  {70, 4, 0, 33, 70, 3},
        {0, 2, 0, 8, 64, 2},   {67, 2, 0, 24, 64, 40}, {3, 4, 1, 129, 65, 2}};
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    const uint32_t activation = gated ? TSR_ACT_SILU : TSR_ACT_NONE;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, gated, shapes[i], TSR_F32, true, i == 4 ? TSR_ACT_GELU : activation, i % 2, "");
    for (size_t d = 0; d < 3; d++)
        for (int trans = 0; trans < 2; trans++)
            for (int many = 0; many < 2; many++)
                add(list, gated, (shape){many ? 40 : 2, 2, many, 44, 128, 6}, dtypes[d], trans,
                    activation, d == 1, " lattice");
    /* more than 32 pairs of an expert in the mean, and of some more than 64 */
    static const tsr_dtype many[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_GGML_Q8_0, TSR_GGML_Q4_K};
    for (size_t d = 0; d < sizeof many / sizeof *many; d++)
        add(list, gated, (shape){66, 2, d % 2, d < 3 ? 36 : 256, d == 2 ? 68 : 97, 2}, many[d],
            true, activation, d == 1, "");
    add(list, gated, (shape){70, 4, 0, 33, 68, 3}, TSR_F32, false, activation, false, "");
    tsri_case *c = add(list, gated, (shape){13, 2, 0, 40, 64, 5}, TSR_F16, true, TSR_ACT_NONE, true,
                       " integers, one expert for all");
    c->in[0].fill = c->in[1].fill = c->in[3].fill = TSRI_CASE_INTEGER;
    for (int i = 0; i < 4; i++)
        c->in[i].low = i == 2 ? 3 : -4, c->in[i].high = i == 2 ? 3 : 4;
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums and products of integers below 2^24 are");
    add(list, gated, (shape){6, 2, 1, 24, 64, 3}, TSR_F32, true, activation, false,
        " x from wider rows")
        ->in[0]
        .view = TSRI_CASE_SLICED;
    add_blocks(list, gated);
    add_parts(list, gated);
    for (int prompt = 0; prompt < 2; prompt++) /* 8 of 32 experts, for a token and for a prompt */
        for (int d = 0; d < 5; d++) {
            static const tsr_dtype timed[] = {TSR_BF16, TSR_GGML_Q8_0, TSR_GGML_Q8_0,
                                              TSR_GGML_MXFP4, TSR_GGML_MXFP4};
            const bool eight = d == 2 || d == 4;
            const shape s = gated ? (shape){prompt ? 128 : 1, 8, 0, 1024, 512, 32}
                                  : (shape){prompt ? 128 : 1, 8, 1, 512, 1024, 32};
            tsri_case *t =
                add(list, gated, s, timed[d], true, activation, false, eight ? " int8" : "");
            if (eight)
                int8(t, s.K, gated, gated);
            t->timed = true;
        }
}

void tsri_cases_expert_linear(tsri_case_list *list) {
    add_all(list, false);
}

void tsri_cases_expert_glu_linear(tsri_case_list *list) {
    add_all(list, true);
    add_forms(list);
}
