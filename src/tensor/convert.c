/* tensor/convert.c - rows of numbers from one dtype to another. */
#include "tensor/convert.h"

#include "base/error.h"
#include "tensor/blocks.h"
#include "tensor/quantize.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Rounds d to f32 so that the last bit tells whether anything was cut off. Rounding the result
 * again, to f16 or bf16, is then the same as rounding d itself. */
static float round_to_odd(double d) {
    const float f = (float)d;
    if ((double)f == d || isnan(d))
        return f;
    uint32_t u = tsri_tensor_to_bits(f);
    if (fabs((double)f) > fabs(d))
        u -= 1;
    return tsri_tensor_from_bits(u | 1);
}

/* Likewise for integers above 2^53, which a double cannot hold. */
static double integer_to_odd(int64_t v) {
    const uint64_t magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (magnitude < UINT64_C(1) << 53)
        return (double)v;
    const double d = (double)((magnitude & ~UINT64_C(0x7ff)) | (magnitude & 0x7ff ? 0x800 : 0));
    return v < 0 ? -d : d;
}

static int64_t saturate(double d) {
    const double r = rint(d); /* the default rounding mode: nearest, ties to even */
    if (isnan(r))
        return 0;
    return r >= 0x1p63 ? INT64_MAX : r < -0x1p63 ? INT64_MIN : (int64_t)r;
}

static int64_t clamp(int64_t v, int64_t lowest, int64_t highest) {
    return v < lowest ? lowest : v > highest ? highest : v;
}

/* A number that is being converted: real where the source is a float, otherwise an integer. */
typedef struct number {
    bool is_real;
    double real;
    int64_t integer;
} number;

#define ITEM(type, name)                        \
    static type load_##name(const void *p) {    \
        type v;                                 \
        memcpy(&v, p, sizeof v);                \
        return v;                               \
    }                                           \
    static void store_##name(void *p, type v) { \
        memcpy(p, &v, sizeof v);                \
    }
ITEM(float, f32)
ITEM(double, f64)
ITEM(uint16_t, u16)
ITEM(int64_t, i64)
ITEM(int32_t, i32)
ITEM(int16_t, i16)
ITEM(int8_t, i8)
ITEM(uint8_t, u8)

static number load(tsr_dtype from, const char *p) {
    switch (from) {
    case TSR_F32:
        return (number){true, (double)load_f32(p), 0};
    case TSR_F64:
        return (number){true, load_f64(p), 0};
    case TSR_F16:
        return (number){true, (double)tsri_tensor_f16_to_f32(load_u16(p)), 0};
    case TSR_BF16:
        return (number){true, (double)tsri_tensor_bf16_to_f32(load_u16(p)), 0};
    case TSR_I64:
        return (number){false, 0, load_i64(p)};
    case TSR_I32:
        return (number){false, 0, load_i32(p)};
    case TSR_I16:
        return (number){false, 0, load_i16(p)};
    case TSR_I8:
        return (number){false, 0, load_i8(p)};
    case TSR_BOOL:
        return (number){false, 0, load_u8(p) != 0};
    default:
        return (number){false, 0, load_u8(p)};
    }
}

static void store(tsr_dtype to, char *p, number v) {
    const double real = v.is_real       ? v.real
                        : to == TSR_F64 ? (double)v.integer
                                        : integer_to_odd(v.integer);
    const int64_t integer = v.is_real ? saturate(v.real) : v.integer;
    switch (to) {
    case TSR_F32:
        store_f32(p, (float)real);
        break;
    case TSR_F64:
        store_f64(p, real);
        break;
    case TSR_F16:
        store_u16(p, tsri_tensor_f32_to_f16(round_to_odd(real)));
        break;
    case TSR_BF16:
        store_u16(p, tsri_tensor_f32_to_bf16(round_to_odd(real)));
        break;
    case TSR_I64:
        store_i64(p, integer);
        break;
    case TSR_I32:
        store_i32(p, (int32_t)clamp(integer, INT32_MIN, INT32_MAX));
        break;
    case TSR_I16:
        store_i16(p, (int16_t)clamp(integer, INT16_MIN, INT16_MAX));
        break;
    case TSR_I8:
        store_i8(p, (int8_t)clamp(integer, INT8_MIN, INT8_MAX));
        break;
    case TSR_BOOL:
        store_u8(p, v.is_real ? v.real != 0 : v.integer != 0);
        break;
    default:
        store_u8(p, (uint8_t)clamp(integer, 0, UINT8_MAX));
        break;
    }
}

/* The pairs of dtypes that whole models are converted by; false for all others. */
static bool convert_weights(tsr_dtype to, char *out, tsr_dtype from, const char *in, size_t n) {
    if (to == TSR_F32 && from == TSR_F16)
        for (size_t i = 0; i < n; i++)
            store_f32(out + 4 * i, tsri_tensor_f16_to_f32(load_u16(in + 2 * i)));
    else if (to == TSR_F32 && from == TSR_BF16)
        for (size_t i = 0; i < n; i++)
            store_f32(out + 4 * i, tsri_tensor_bf16_to_f32(load_u16(in + 2 * i)));
    else if (to == TSR_F16 && from == TSR_F32)
        for (size_t i = 0; i < n; i++)
            store_u16(out + 2 * i, tsri_tensor_f32_to_f16(load_f32(in + 4 * i)));
    else if (to == TSR_BF16 && from == TSR_F32)
        for (size_t i = 0; i < n; i++)
            store_u16(out + 2 * i, tsri_tensor_f32_to_bf16(load_f32(in + 4 * i)));
    else
        return false;
    return true;
}

/* Converts from or to blocks, in pieces that fit a small array on the stack. */
static tsr_status convert_blocks(tsr_dtype to, char *out, tsr_dtype from, const char *in,
                                 size_t n) {
    enum { PIECE = 256 }; /* a multiple of every block */
    float piece[PIECE];
    const tsri_tensor_dtype *source = tsri_tensor_dtype_info(from),
                            *target = tsri_tensor_dtype_info(to);
    for (size_t i = 0; i < n; i += PIECE) {
        const size_t m = n - i < PIECE ? n - i : PIECE;
        const char *part = in + i / (size_t)source->block * (size_t)source->bytes;
        char *place = out + i / (size_t)target->block * (size_t)target->bytes;
        if (source->block > 1)
            tsri_tensor_unpack(from, part, piece, m);
        else
            TRY(tsri_tensor_convert(TSR_F32, piece, from, part, m));
        if (target->block > 1)
            tsri_tensor_quantize(to, piece, place, m);
        else
            TRY(tsri_tensor_convert(to, place, TSR_F32, piece, m));
    }
    return TSR_OK;
}

tsr_status tsri_tensor_convert(tsr_dtype to, void *out, tsr_dtype from, const void *in, size_t n) {
    const tsri_tensor_dtype *source = tsri_tensor_dtype_info(from),
                            *target = tsri_tensor_dtype_info(to);
    if (!source || !target)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "conversion of dtype %d to dtype %d: at least one is not a dtype",
                              (int)from, (int)to);
    const tsri_tensor_dtype *blocks = target->block > source->block ? target : source;
    if (n % (size_t)blocks->block != 0)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "%zu elements of %s: give a multiple of %d, which is the size of a block", n,
            blocks->name, blocks->block);
    if (n == 0)
        return TSR_OK;
    if (to == from) {
        memcpy(out, in, n / (size_t)source->block * (size_t)source->bytes);
        return TSR_OK;
    }
    if (target->block > 1 && !tsri_tensor_is_written_blocks(to))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "conversion of %s to %s: of the block types, only q8_0 and q4_0 can be written",
            source->name, target->name);
    if (source->block > 1 || target->block > 1)
        return convert_blocks(to, out, from, in, n);
    if (convert_weights(to, out, from, in, n))
        return TSR_OK;
    for (size_t i = 0; i < n; i++)
        store(to, (char *)out + i * (size_t)target->bytes,
              load(from, (const char *)in + i * (size_t)source->bytes));
    return TSR_OK;
}
