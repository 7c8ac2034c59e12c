/* tensor/dtype.c - the table of dtypes, and conversions between halves and floats. */
#include "tensor/dtype.h"

static const struct {
    tsr_dtype dtype;
    tsri_tensor_dtype info;
} dtypes[] = {
    {TSR_F32, {"f32", 32, 1, 4, 0, false}},
    {TSR_F16, {"f16", 16, 1, 2, 0, false}},
    {TSR_BF16, {"bf16", 16, 1, 2, 0, false}},
    {TSR_F64, {"f64", 64, 1, 8, 0, false}},
    {TSR_I64, {"i64", 64, 1, 8, 0, false}},
    {TSR_I32, {"i32", 32, 1, 4, 0, false}},
    {TSR_I16, {"i16", 16, 1, 2, 0, false}},
    {TSR_I8, {"i8", 8, 1, 1, 0, false}},
    {TSR_U8, {"u8", 8, 1, 1, 0, false}},
    {TSR_BOOL, {"bool", 8, 1, 1, 0, false}},
    {TSR_GGML_Q8_0, {"q8_0", 0, 32, 34, 32, false}},
    {TSR_GGML_Q4_0, {"q4_0", 0, 32, 18, 32, false}},
    {TSR_GGML_Q4_1, {"q4_1", 0, 32, 20, 32, true}},
    {TSR_GGML_Q5_0, {"q5_0", 0, 32, 22, 32, false}},
    {TSR_GGML_Q5_1, {"q5_1", 0, 32, 24, 32, true}},
    {TSR_GGML_Q4_K, {"q4_K", 0, 256, 144, 32, true}},
    {TSR_GGML_Q5_K, {"q5_K", 0, 256, 176, 32, true}},
    {TSR_GGML_Q6_K, {"q6_K", 0, 256, 210, 16, false}},
    {TSR_GGML_Q2_K, {"q2_K", 0, 256, 84, 16, true}},
    {TSR_GGML_Q3_K, {"q3_K", 0, 256, 110, 16, false}},
    {TSR_GGML_IQ4_NL, {"iq4_nl", 0, 32, 18, 32, false}},
    {TSR_GGML_IQ4_XS, {"iq4_xs", 0, 256, 136, 32, false}},
    {TSR_GGML_MXFP4, {"mxfp4", 0, 32, 17, 32, false}},
};

const tsri_tensor_dtype *tsri_tensor_dtype_info(tsr_dtype dtype) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].dtype == dtype)
            return &dtypes[i].info;
    return NULL;
}

bool tsri_tensor_bytes(tsr_dtype dtype, uint64_t n, uint64_t *bytes) {
    const tsri_tensor_dtype *info = tsri_tensor_dtype_info(dtype);
    return info && n % (uint64_t)info->block == 0 &&
           !__builtin_mul_overflow(n / (uint64_t)info->block, (uint64_t)info->bytes, bytes);
}

float tsri_tensor_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00) /* infinity, or a NaN, which becomes quiet */
        return tsri_tensor_from_bits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 |
                                     (magnitude > 0x7c00 ? 0x400000u : 0));
    if (magnitude < 0x400) /* zero or subnormal: a whole number of 2^-24 */
        return tsri_tensor_from_bits(sign | tsri_tensor_to_bits((float)magnitude * 0x1p-24f));
    return tsri_tensor_from_bits(sign | ((magnitude << 13) + (112u << 23)));
}

float tsri_tensor_bf16_to_f32(uint16_t h) {
    const uint32_t quiet = (h & 0x7fff) > 0x7f80 ? 0x400000 : 0;
    return tsri_tensor_from_bits((uint32_t)h << 16 | quiet);
}

uint16_t tsri_tensor_f32_to_f16(float f) {
    const uint32_t u = tsri_tensor_to_bits(f), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    /* At least 65520, which is half a step above the largest half; also infinity */
    if (magnitude >= 0x477ff000)
        return (uint16_t)(sign | 0x7c00);
    if (magnitude <
        0x38800000) /* below 2^-14: near 0.5 the step of a float is 2^-24, so the addition rounds */
        return (uint16_t)(sign | (tsri_tensor_to_bits(tsri_tensor_from_bits(magnitude) + 0.5f) -
                                  0x3f000000));
    return (uint16_t)(sign | (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

uint16_t tsri_tensor_f32_to_bf16(float f) {
    const uint32_t u = tsri_tensor_to_bits(f);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
