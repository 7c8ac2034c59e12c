/* tensor/sample.c - the formulas of made-up operands, by what the operands mean. */
#include "tensor/sample.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "tensor/operands.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <stdlib.h>

/* What the formula of an operand needs to know of its op. */
typedef struct counts {
    tsri_tensor_role role;
    int64_t all; /* what the operand counts: places, slots, positions */
    int64_t own; /* positions of this run */
    bool follows, level;
} counts;

static uint32_t scramble(uint32_t n, uint32_t stream) {
    n = n * 2654435761u + stream * 0x9e3779b9u;
    n = (n ^ n >> 15) * 0x2c1b3c6du;
    return n ^ n >> 12;
}

/* One of 0 .. n - 1: first the last, then the first, then any. */
static int64_t place_of(int64_t i, int64_t n) {
    if (n < 1)
        return 0;
    return i == 0 ? n - 1 : i == 1 ? 0 : (int64_t)scramble((uint32_t)i, 7) % n;
}

/* The position at which sequence i begins: the first sequence fills all of them. */
static int64_t past_of(const counts *c, int64_t i) {
    if (c->level && c->all > 2 * c->own)
        return c->all / 2;
    if (c->all <= c->own)
        return 0;
    return c->level ? c->all - c->own : place_of(i, c->all - c->own + 1);
}

static int64_t length_of(const counts *c, int64_t i) {
    const int64_t end = past_of(c, i) + c->own;
    if (c->follows)
        return end < c->all ? end : c->all;
    return c->level || c->all < 1 ? c->all : c->all - i % c->all;
}

static int64_t whole_number(const counts *c, int64_t i) {
    const int64_t n = c->all > 0 ? c->all : 1;
    switch (c->role) {
    case TSRI_TENSOR_INDEX: /* some occur more than once */
        return c->level ? i % n : i % 3 == 2 ? i * i % 11 % n : place_of(i, c->all);
    case TSRI_TENSOR_SLOT:
        return i % n;
    case TSRI_TENSOR_PAST:
        return past_of(c, i);
    case TSRI_TENSOR_LENGTH:
        return length_of(c, i);
    case TSRI_TENSOR_CUT_LENGTH:
        return past_of(c, i) + (c->level || c->own < i % 3 ? c->own : c->own - i % 3);
    case TSRI_TENSOR_POSITION:
        return i * 37 % 2048;
    case TSRI_TENSOR_BITS:
        return (int32_t)scramble((uint32_t)i, 11);
    default:
        return i;
    }
}

static float number(bool positive, uint32_t input, size_t i) {
    const float value = (float)((int)(scramble((uint32_t)i, input) % 17) - 8) / 8.0f;
    return !positive ? value : 0.125f + (value < 0 ? -value : value);
}

/* An odd number of eighths. A block of products of two of these is quantised to 127 a / b with odd a and
 * b, which is never halfway between two integers, nor so near it that a rounding before counts. */
static float odd_number(uint32_t input, size_t i) {
    return (float)(2 * (int)(scramble((uint32_t)i, input) % 10) - 9) / 8.0f;
}

static bool has_odd(const tsr_op *op, const tsri_tensor_operands *operands) {
    for (uint32_t i = 0; i < op->n_in && i < operands->n_in; i++)
        if (op->in[i] && operands->in[i].role == TSRI_TENSOR_ODD)
            return true;
    return false;
}

static counts counts_of(const tsr_op *op, const int64_t *sizes, const tsri_tensor_operand *facts,
                        bool level) {
    const tsri_tensor_operands *operands = tsri_tensor_operands_of(op->id);
    counts c = {.role = (tsri_tensor_role)facts->role, .level = level};
    const bool counts_positions = c.role == TSRI_TENSOR_PAST || c.role == TSRI_TENSOR_LENGTH;
    if (facts->of)
        c.all = tsri_tensor_value(counts_positions ? tsri_tensor_positions(op, facts->of)
                                                   : tsri_tensor_size(op, facts->of),
                                  sizes);
    c.own = tsri_tensor_value(tsri_tensor_size(op, "T"), sizes);
    for (uint32_t i = 0; i < operands->n_in; i++)
        c.follows |= operands->in[i].role == TSRI_TENSOR_PAST;
    return c;
}

void tsri_tensor_sample_blocks(uint32_t stream, size_t first, size_t n, tsr_dtype dtype,
                               void *out) {
    enum { SIGN = 0x80, HALVED = 0x04 };
    static const struct {
        tsr_dtype dtype;
        int scales[2];    /* their places in a block */
        uint8_t highs[2]; /* the high bytes of f16; the low ones are 0. 0: there is no such scale */
        uint8_t exponent; /* the scale is the first byte: this one, or one less */
    } types[] = {
        {TSR_GGML_Q4_1, {0, 2}, {0x28, 0x34}, 0},   /* 2^-5 * 15, 2^-2 */
        {TSR_GGML_Q5_0, {0}, {0x28}, 0},            /* 2^-5 * 16 */
        {TSR_GGML_Q5_1, {0, 2}, {0x24, 0x34}, 0},   /* 2^-6 * 31, 2^-2 */
        {TSR_GGML_IQ4_NL, {0}, {0x1c}, 0},          /* 2^-8 * 127 */
        {TSR_GGML_Q4_K, {0, 2}, {0x10, 0x1c}, 0},   /* 2^-11 * 63 * 15, 2^-8 * 63 */
        {TSR_GGML_Q5_K, {0, 2}, {0x0c, 0x1c}, 0},   /* 2^-12 * 63 * 31, 2^-8 * 63 */
        {TSR_GGML_Q6_K, {208}, {0x0c}, 0},          /* 2^-12 * 128 * 32 */
        {TSR_GGML_Q2_K, {80, 82}, {0x20, 0x28}, 0}, /* 2^-7 * 15 * 3, 2^-5 * 15 */
        {TSR_GGML_Q3_K, {108}, {0x1c}, 0},          /* 2^-8 * 32 * 4 */
        {TSR_GGML_IQ4_XS, {0}, {0x08}, 0},          /* 2^-13 * 32 * 127 */
        {TSR_GGML_MXFP4, {0}, {0}, 124},            /* 2^(124 - 128) * 12 */
    };
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(dtype);
    uint8_t *block = out;
    size_t t = 0;
    while (types[t].dtype != dtype)
        t++;
    for (size_t b = first / (size_t)info->block; b < (first + n) / (size_t)info->block; b++) {
        for (int i = 0; i < info->bytes; i++)
            block[i] =
                (uint8_t)(scramble((uint32_t)(b * (size_t)info->bytes + (size_t)i), stream) >> 9);
        for (int s = 0; s < 2 && types[t].highs[s]; s++) {
            uint8_t *scale = block + types[t].scales[s];
            scale[1] = (uint8_t)((types[t].highs[s] - (scale[1] & 1 ? HALVED : 0)) |
                                 (scale[0] & 1 ? SIGN : 0));
            scale[0] = 0;
        }
        if (types[t].exponent)
            block[0] = (uint8_t)(types[t].exponent - (block[0] & 1));
        block += info->bytes;
    }
}

/* The id or expert that the first row of a part of a weight has. */
static int64_t part_begins(const tsr_op *op) {
    const tsr_embed_attrs *embed = op->attrs;
    const tsr_linear_attrs *linear = op->attrs; /* tsr_glu_linear_attrs has the same fields */
    if (op->id == TSR_OP_EMBED)
        return embed && embed->struct_size >= sizeof *embed && embed->whole ? embed->first : 0;
    if (op->id == TSR_OP_EXPERT_LINEAR || op->id == TSR_OP_EXPERT_GLU_LINEAR)
        return linear && linear->struct_size >= sizeof *linear && linear->whole ? linear->first : 0;
    return 0;
}

tsr_status tsri_tensor_sample(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS], uint32_t input,
                              bool level, size_t first, size_t n, tsr_dtype dtype, void *out) {
    const tsri_tensor_operands *operands = tsri_tensor_operands_of(op->id);
    if (!operands || input >= operands->n_in)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "op %u has no operand %u", op->id, input);
    const tsri_tensor_operand *facts = &operands->in[input];
    if (dtype == TSR_I32) {
        const counts c = counts_of(op, sizes, facts, level);
        /* The rows of other ids are left as they are, so a comparison would see nothing. */
        const int64_t least = part_begins(op);
        for (size_t i = 0; i < n; i++)
            ((int32_t *)out)[i] = (int32_t)(least + whole_number(&c, (int64_t)(first + i)));
        return TSR_OK;
    }
    if (tsri_tensor_is_kept_blocks(dtype) && !tsri_tensor_is_written_blocks(dtype)) {
        tsri_tensor_sample_blocks(input, first, n, dtype, out);
        return TSR_OK;
    }
    float *values = out;
    if (dtype != TSR_F32)
        TRY(tsri_base_new(n ? n : 1, sizeof *values, &values));
    const bool odd = has_odd(op, operands) && facts->role != TSRI_TENSOR_POSITIVE;
    for (size_t i = 0; i < n; i++)
        values[i] = odd ? odd_number(input, first + i)
                        : number(facts->role == TSRI_TENSOR_POSITIVE, input, first + i);
    if (dtype == TSR_F32)
        return TSR_OK;
    const tsr_status status = tsri_tensor_convert(dtype, out, TSR_F32, values, n);
    free(values);
    return status;
}
