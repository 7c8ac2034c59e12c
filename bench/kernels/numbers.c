/* Made-up numbers of each dtype for the operands of single kernels. */
#include "kernels.h"

#include <string.h>

enum { BLOCK = 32, Q8_BYTES = 34, Q4_BYTES = 18 };

static uint32_t mix(uint32_t number, int64_t i) {
    uint32_t h = (uint32_t)i * 2654435761u + number * 40503u + (uint32_t)((uint64_t)i >> 32);
    h = (h ^ h >> 15) * 2246822519u;
    return h ^ h >> 13;
}

static int whole(const bench_operand *operand, uint32_t number, int64_t i, int64_t columns) {
    if (operand->peak && i % columns == 0)
        return 127;
    const uint32_t h = mix(number, i);
    return operand->tensor.dtype == TSR_GGML_Q4_0 ? (int)(h & 15) - 8 : (int)(h % 255) - 127;
}

/* Exact for the numbers of bench_fill: few significant bits, no denormals. */
static uint16_t f16_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xff;
    return (uint16_t)(exponent ? sign | (exponent - 112) << 10 | (bits >> 13 & 0x3ff) : sign);
}

static uint16_t bf16_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void fill_block(const bench_operand *operand, uint32_t number, int64_t i, int64_t columns,
                       uint8_t *out) {
    const uint16_t scale = f16_of(operand->unit);
    memcpy(out, &scale, sizeof scale);
    for (int j = 0; j < BLOCK; j++) {
        const int q = whole(operand, number, i + j, columns);
        if (operand->tensor.dtype == TSR_GGML_Q8_0)
            out[2 + j] = (uint8_t)(int8_t)q;
        else if (j < BLOCK / 2)
            out[2 + j] = (uint8_t)(q + 8);
        else
            out[2 + j - BLOCK / 2] |= (uint8_t)((q + 8) << 4);
    }
}

void bench_fill(const bench_operand *operand, uint32_t number, int64_t i, int64_t columns, size_t n,
                void *out) {
    const uint32_t dtype = operand->tensor.dtype;
    const int64_t end = i + (int64_t)n;
    const size_t block = dtype == TSR_GGML_Q8_0 ? Q8_BYTES : Q4_BYTES;
    if (dtype == TSR_GGML_Q8_0 || dtype == TSR_GGML_Q4_0)
        for (uint8_t *to = out; i < end; i += BLOCK, to += block)
            fill_block(operand, number, i, columns, to);
    else if (dtype == TSR_I32)
        for (int32_t *to = out; i < end; i++)
            *to++ = operand->constant;
    else if (dtype == TSR_F32)
        for (float *to = out; i < end; i++)
            *to++ = (float)whole(operand, number, i, columns) * operand->unit;
    else
        for (uint16_t *to = out; i < end; i++) {
            const float v = (float)whole(operand, number, i, columns) * operand->unit;
            *to++ = dtype == TSR_F16 ? f16_of(v) : bf16_of(v);
        }
}

size_t bench_bytes(uint32_t dtype, int64_t n) {
    const size_t count = (size_t)n;
    return dtype == TSR_GGML_Q8_0                  ? count / BLOCK * Q8_BYTES
           : dtype == TSR_GGML_Q4_0                ? count / BLOCK * Q4_BYTES
           : dtype == TSR_F16 || dtype == TSR_BF16 ? count * 2
                                                   : count * 4;
}

tsr_dtype bench_dtype(const char *word) {
    static const struct {
        const char *word;
        tsr_dtype dtype;
    } words[] = {{"f32", TSR_F32},
                 {"f16", TSR_F16},
                 {"bf16", TSR_BF16},
                 {"q8", TSR_GGML_Q8_0},
                 {"q4", TSR_GGML_Q4_0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].word, word))
            return words[i].dtype;
    return TSR_DTYPE_NONE;
}
