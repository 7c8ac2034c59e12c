/* backends/reference/products/linear.c - linear and glu_linear, and the same by one of several weights.
 *
 * exact   With a norm or a residual, the bytes are those of the ops apart (graph/join_norms.c): the
 *         normed row, and the product before the residual, are rounded to f32, as in every kernel.
 *
 * source  Shazeer 2020, arXiv:2002.05202 (gated units) */
#include "backends/reference/norms/norm.h"

#include "base/error.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"
#include "tensor/operands.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <math.h>
#include <string.h>

TSRI_OPERANDS(linear); /* glu_linear has no residual: its norm is one place before */
enum { GATED_NORM = RESIDUAL };

static double bias_of(const tsri_reference_view *bias, int64_t n) {
    return bias->data ? tsri_reference_load(bias, n * bias->stride[0]) : 0;
}

/* The operands of either op, and how products are formed. */
typedef struct product {
    tsri_reference_view given, norm; /* x as the op has it; norm may be missing */
    tsri_reference_view x, w, bias;  /* x: the rows that are multiplied */
    bool transposed, int8;           /* transposed: output n is row n of w, else column n of it */
    double eps;
    int64_t x_at;      /* place of the current row of x */
    double *quantised; /* int8: what is left of that row */
} product;

static product operands(const tsri_reference_call *call, const tsr_linear_attrs *attrs,
                        uint32_t norm) {
    product p = {.given = tsri_reference_in(call, X),
                 .norm = tsri_reference_in(call, norm),
                 .w = tsri_reference_in(call, W),
                 .bias = tsri_reference_in(call, BIAS),
                 .transposed = attrs->trans_w != 0,
                 .int8 = attrs->compute == TSR_COMPUTE_INT8,
                 .eps = attrs->norm_eps};
    p.x = p.given;
    p.quantised = call->scratch;
    if (p.norm.data)
        p.x = (tsri_reference_view){.data = (char *)call->scratch,
                                    .dtype = TSR_F32,
                                    .rank = 1,
                                    .dim = {tsri_reference_columns(&p.given)},
                                    .stride = {1}};
    if (p.norm.data)
        p.quantised += tsri_reference_columns(&p.given);
    return p;
}

/* A normed row of x, in f32, which takes less than K doubles; a quantised one, in double. */
int64_t tsri_reference_linear_scratch(const tsr_op *op, const int64_t *sizes) {
    const uint32_t norm = op->id == TSR_OP_LINEAR ? NORM : GATED_NORM;
    const int64_t K = tsri_tensor_value(tsri_tensor_columns(op->in[X]), sizes);
    return (op->n_in > norm && op->in[norm] ? K : 0) +
           (tsri_tensor_is_kept_blocks((tsr_dtype)op->in[W]->dtype) ? K : 0);
}

static float without_two_bits(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits &= ~(uint32_t)3;
    memcpy(&v, &bits, sizeof bits);
    return v;
}

/* Quantises each block of a row of x, and leaves what its integers stand for. */
static void quantise(const product *p) {
    const int64_t step = tsri_reference_step(&p->x);
    for (int64_t k = 0; k < tsri_reference_columns(&p->x); k += TSRI_TENSOR_BLOCK) {
        float x[TSRI_TENSOR_BLOCK], largest = 0;
        for (int i = 0; i < TSRI_TENSOR_BLOCK; i++) {
            x[i] = (float)tsri_reference_load(&p->x, p->x_at + (k + i) * step);
            largest = fmaxf(largest, fabsf(x[i]));
        }
        const float up = largest >= 0x1p-120f ? 127.0f / largest : 0,
                    down = largest >= 0x1p-120f ? without_two_bits(largest / 127.0f) : 0;
        for (int i = 0; i < TSRI_TENSOR_BLOCK; i++) {
            const float scaled = x[i] * up; /* rounded to f32, as in every kernel variant */
            p->quantised[k + i] = (double)rintf(scaled) * down;
        }
    }
}

static void take_row(product *p, int64_t r) {
    static const tsri_reference_view no_bias = {0};
    p->x_at = p->norm.data ? 0 : tsri_reference_row_at(&p->x, r);
    if (p->norm.data)
        tsri_reference_normalise(&p->given, tsri_reference_row_at(&p->given, r), TSR_NORM_RMS,
                                 p->eps, &p->norm, &no_bias, &p->x, 0);
    if (p->int8)
        quantise(p);
}

/* The product of the quantised row of x with the blocks of output n, in double. */
static double int8_sum(const product *p, int64_t n) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)p->w.dtype);
    const char *block = p->w.data + n * p->w.stride[0] / type->block * type->bytes;
    double sum = 0;
    for (int64_t k = 0; k < tsri_reference_columns(&p->x); k += type->block, block += type->bytes) {
        float w[TSRI_TENSOR_LARGEST_BLOCK];
        tsri_tensor_unpack((tsr_dtype)p->w.dtype, block, w, (size_t)type->block);
        for (int i = 0; i < type->block; i++)
            sum += p->quantised[k + i] * w[i];
    }
    return sum;
}

/* <row of x, output n of w> + bias[n] */
static double output(const product *p, int64_t n) {
    if (p->int8)
        return bias_of(&p->bias, n) + int8_sum(p, n);
    return bias_of(&p->bias, n) + tsri_reference_dot(&p->x, p->x_at, tsri_reference_step(&p->x),
                                                     &p->w, n * p->w.stride[p->transposed ? 0 : 1],
                                                     p->w.stride[p->transposed ? 1 : 0],
                                                     tsri_reference_columns(&p->x));
}

tsr_status tsri_reference_linear(const tsri_reference_call *call) {
    tsr_linear_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    product p = operands(call, &attrs, NORM);
    const tsri_reference_view residual = tsri_reference_in(call, RESIDUAL),
                              y = tsri_reference_out(call, 0);
    const int64_t R = tsri_reference_rows(&y), N = tsri_reference_columns(&y);
    for (int64_t r = 0; r < R; r++) {
        const int64_t y_at = tsri_reference_row_at(&y, r);
        take_row(&p, r);
        const int64_t residual_at = residual.data ? tsri_reference_row_at(&residual, r) : 0;
        for (int64_t n = 0; n < N; n++) {
            double value = tsri_reference_activate(attrs.activation, output(&p, n));
            if (residual.data) /* added to what a linear without it stores */
                value = (double)(float)value +
                        tsri_reference_load(&residual,
                                            residual_at + n * tsri_reference_step(&residual));
            tsri_reference_store(&y, y_at + n * tsri_reference_step(&y), value);
        }
    }
    return TSR_OK;
}

static tsr_activation_attrs form_of(const tsr_glu_linear_attrs *attrs) {
    return (tsr_activation_attrs){.activation = attrs->activation,
                                  .limit = attrs->limit,
                                  .alpha = attrs->alpha,
                                  .shift = attrs->shift};
}

tsr_status tsri_reference_glu_linear(const tsri_reference_call *call) {
    tsr_glu_linear_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsr_linear_attrs ungated = {
        .trans_w = attrs.trans_w, .compute = attrs.compute, .norm_eps = attrs.norm_eps};
    const tsr_activation_attrs form = form_of(&attrs);
    product p = operands(call, &ungated, GATED_NORM);
    const tsri_reference_view y = tsri_reference_out(call, 0);
    const int64_t R = tsri_reference_rows(&y), F = tsri_reference_columns(&y);
    for (int64_t r = 0; r < R; r++) {
        const int64_t y_at = tsri_reference_row_at(&y, r);
        take_row(&p, r);
        for (int64_t f = 0; f < F; f++) {
            const double gate = output(&p, f), up = output(&p, F + f);
            tsri_reference_store(&y, y_at + f * tsri_reference_step(&y),
                                 tsri_reference_gated(&form, gate, up));
        }
    }
    return TSR_OK;
}

/* --- one of E weights for each row --- */

enum { EXPERTS = BIAS, EXPERT_BIAS }; /* the operands that linear has elsewhere */

int64_t tsri_reference_expert_linear_scratch(const tsr_op *op, const int64_t *sizes) {
    return tsri_tensor_is_kept_blocks((tsr_dtype)op->in[W]->dtype)
               ? tsri_tensor_value(tsri_tensor_columns(op->in[X]), sizes)
               : 0;
}

/* Element i of the first dimension. */
static tsri_reference_view element_of(const tsri_reference_view *whole, int64_t i) {
    tsri_reference_view one = *whole;
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)whole->dtype);
    if (!whole->data)
        return one;
    one.rank--;
    memmove(one.dim, one.dim + 1, one.rank * sizeof *one.dim);
    memmove(one.stride, one.stride + 1, one.rank * sizeof *one.stride);
    one.data += i * whole->stride[0] / type->block * type->bytes;
    return one;
}

/* With `gated`, an output is glu of a gate and an up in that form. */
static tsr_status run_experts(const tsri_reference_call *call, const tsr_linear_attrs *attrs,
                              const tsr_activation_attrs *gated) {
    const tsri_reference_view x = tsri_reference_in(call, X), w = tsri_reference_in(call, W),
                              experts = tsri_reference_in(call, EXPERTS),
                              bias = tsri_reference_in(call, EXPERT_BIAS),
                              y = tsri_reference_out(call, 0);
    const int64_t J = experts.dim[1], N = tsri_reference_columns(&y);
    product p = {.given = x,
                 .x = x,
                 .transposed = attrs->trans_w != 0,
                 .int8 = attrs->compute == TSR_COMPUTE_INT8,
                 .quantised = call->scratch};
    for (int64_t pair = 0; pair < experts.dim[0] * J; pair++) {
        const int64_t e =
            tsri_reference_load_int(&experts, tsri_reference_element_at(&experts, pair));
        TRY(tsri_reference_check_index(call->op, "expert", e,
                                       attrs->whole ? attrs->whole : w.dim[0]));
        if (e < attrs->first || e - attrs->first >= w.dim[0])
            continue;
        p.w = element_of(&w, e - attrs->first);
        p.bias = element_of(&bias, e - attrs->first);
        take_row(&p, x.dim[1] == J ? pair : pair / J);
        for (int64_t n = 0; n < N; n++) {
            const double sum = output(&p, n);
            tsri_reference_store(&y, tsri_reference_row_at(&y, pair) + n * tsri_reference_step(&y),
                                 gated ? tsri_reference_gated(gated, sum, output(&p, N + n))
                                       : tsri_reference_activate(attrs->activation, sum));
        }
    }
    return TSR_OK;
}

tsr_status tsri_reference_expert_linear(const tsri_reference_call *call) {
    tsr_linear_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    return run_experts(call, &attrs, NULL);
}

tsr_status tsri_reference_expert_glu_linear(const tsri_reference_call *call) {
    tsr_glu_linear_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsr_activation_attrs form = form_of(&attrs);
    const tsr_linear_attrs ungated = {.trans_w = attrs.trans_w,
                                      .compute = attrs.compute,
                                      .first = attrs.first,
                                      .whole = attrs.whole};
    return run_experts(call, &ungated, &form);
}
