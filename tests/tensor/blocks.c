/* Against tests/golden/blocks, which the official writer of safetensors made: so this reads one of
 * its files, too. */
#include "tensor/blocks.h"

#include "base/error.h"
#include "io/archive.h"
#include "tensor/convert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    tsr_dtype dtype;
    int scales[2]; /* bytes of a block at which a half lies */
} types[] = {
    {"q8_0", TSR_GGML_Q8_0, {0, 0}},     {"q4_0", TSR_GGML_Q4_0, {0, 0}},
    {"q4_1", TSR_GGML_Q4_1, {0, 2}},     {"q5_0", TSR_GGML_Q5_0, {0, 0}},
    {"q5_1", TSR_GGML_Q5_1, {0, 2}},     {"q4_K", TSR_GGML_Q4_K, {0, 2}},
    {"q5_K", TSR_GGML_Q5_K, {0, 2}},     {"q6_K", TSR_GGML_Q6_K, {208, 208}},
    {"q2_K", TSR_GGML_Q2_K, {80, 82}},   {"q3_K", TSR_GGML_Q3_K, {108, 108}},
    {"iq4_nl", TSR_GGML_IQ4_NL, {0, 0}}, {"iq4_xs", TSR_GGML_IQ4_XS, {0, 0}},
    {"mxfp4", TSR_GGML_MXFP4, {-1, -1}}, /* an exponent */
};

static float want[8192], got[8192];
static unsigned char blocks[8192];

static size_t load(const tsri_io_archive *golden, const char *type) {
    char name[32];
    snprintf(name, sizeof name, "%s.blocks", type);
    const tsri_io_array *packed = tsri_io_find(golden, name);
    snprintf(name, sizeof name, "%s.values", type);
    const tsri_io_array *values = tsri_io_find(golden, name);
    cr_assert(packed && values && packed->bytes <= sizeof blocks && values->bytes <= sizeof want,
              "%s", type);
    cr_assert_eq(tsri_io_read(golden, packed, 0, (size_t)packed->bytes, blocks), TSR_OK);
    cr_assert_eq(tsri_io_read(golden, values, 0, (size_t)values->bytes, want), TSR_OK);
    return (size_t)values->elements;
}

Test(tensor, blocks_unpack_bit_for_bit_as_the_format_defines_them) {
    tsri_io_archive *golden;
    cr_assert_eq(
        tsri_io_open(TESSERA_SOURCE_DIR "/tests/golden/blocks/blocks.safetensors", &golden), TSR_OK,
        "%s", tsri_base_reported());
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const size_t n = load(golden, types[t].name);
        memset(got, 0xff, sizeof got);
        cr_assert_eq(tsri_tensor_convert(TSR_F32, got, types[t].dtype, blocks, n), TSR_OK);
        for (size_t i = 0; i < n; i++)
            cr_assert(memcmp(&got[i], &want[i], 4) == 0, "%s, element %zu: %a, not %a",
                      types[t].name, i, (double)got[i], (double)want[i]);
        cr_assert(isnan(got[n]), "%s wrote behind its end", types[t].name);
    }
    tsri_io_close(&golden);
}

Test(tensor, blocks_convert_to_halves_in_one_more_rounding) {
    tsri_io_archive *golden;
    cr_assert_eq(
        tsri_io_open(TESSERA_SOURCE_DIR "/tests/golden/blocks/blocks.safetensors", &golden),
        TSR_OK);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const size_t n = load(golden, types[t].name);
        static uint16_t direct[8192], twice[8192];
        cr_assert_eq(tsri_tensor_convert(TSR_BF16, direct, types[t].dtype, blocks, n), TSR_OK);
        cr_assert_eq(tsri_tensor_convert(TSR_BF16, twice, TSR_F32, want, n), TSR_OK);
        cr_assert_eq(memcmp(direct, twice, 2 * n), 0, "%s", types[t].name);
    }
    tsri_io_close(&golden);
}

Test(tensor, infinite_and_nan_scales_are_found) {
    static unsigned char zero[3 * 210];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int s = 0; s < 2; s++) {
            const tsri_tensor_dtype *info = tsri_tensor_dtype_info(types[t].dtype);
            size_t bad = 99;
            memset(zero, 0, sizeof zero);
            memset(zero + info->bytes, 0x7b, (size_t)info->bytes); /* 0x7b7b is finite */
            cr_expect(
                tsri_tensor_scales_finite(types[t].dtype, zero, 3 * (size_t)info->block, &bad));
            const uint16_t scale = s ? 0xfc00 : 0x7e00;
            if (types[t].scales[s] < 0)
                zero[2 * info->bytes] = s ? 253 : 255;
            else
                memcpy(zero + 2 * info->bytes + types[t].scales[s], &scale, 2);
            cr_expect(
                !tsri_tensor_scales_finite(types[t].dtype, zero, 3 * (size_t)info->block, &bad));
            cr_expect_eq(bad, 2, "%s", types[t].name);
        }
}
