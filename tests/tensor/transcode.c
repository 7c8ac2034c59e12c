/* Blocks of a type and those of the type that holds it: the same numbers, bit for bit. */
#include "tensor/transcode.h"

#include "base/random.h"
#include "tensor/blocks.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 256, BYTES = 512, REPEATS = 200 };

static void draw(unsigned char *bytes, size_t n, uint64_t stream) {
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(tsri_base_uniform(9, stream, i) * 256);
}

/* Random bytes, every scale among them: those that are not finite make the holder's not finite. */
Test(transcode, holders_have_the_same_numbers) {
    static const struct {
        tsr_dtype type, holder;
        int scale; /* its place in a block */
    } all[] = {{TSR_GGML_Q5_0, TSR_GGML_Q8_0, 0}, {TSR_GGML_IQ4_NL, TSR_GGML_Q8_0, 0}};
    unsigned char blocks[BYTES], held[BYTES];
    float x[N], y[N];
    size_t bad;
    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        const tsri_tensor_dtype *info = tsri_tensor_dtype_info(all[t].type);
        const size_t block = (size_t)info->block;
        cr_assert_eq(tsri_tensor_holder(all[t].type), all[t].holder);
        for (uint64_t b = 0; b < REPEATS; b++) {
            draw(blocks, N / block * (size_t)info->bytes, b);
            if (b == 0)
                memset(blocks + all[t].scale, 0, 2);
            if (b == 1) {
                blocks[all[t].scale] = 0;
                blocks[all[t].scale + 1] = 0x7c;
            }
            tsri_tensor_transcode(all[t].type, blocks, held, N);
            tsri_tensor_unpack(all[t].type, blocks, x, N);
            tsri_tensor_unpack(all[t].holder, held, y, N);
            const bool finite = tsri_tensor_scales_finite(all[t].type, blocks, N, &bad);
            cr_expect_eq(tsri_tensor_scales_finite(all[t].holder, held, N, &bad), finite);
            for (int i = 0; i < N && finite; i++)
                cr_assert(x[i] == y[i], "%s, block %d, element %d: %a, not %a", info->name, (int)b,
                          i, (double)y[i], (double)x[i]);
        }
    }
    cr_expect_eq(tsri_tensor_holder(TSR_GGML_Q4_1), TSR_DTYPE_NONE);
    cr_expect_eq(tsri_tensor_holder(TSR_F32), TSR_DTYPE_NONE);
}

/* Blocks of mxfp4 with each exponent that an f16 has, and with one more to either side. */
Test(transcode, mxfp4_becomes_q8_0_without_loss) {
    unsigned char four[17], eight[34];
    float x[TSRI_TENSOR_BLOCK], y[TSRI_TENSOR_BLOCK];
    cr_assert_eq(tsri_tensor_holder(TSR_GGML_MXFP4), TSR_GGML_Q8_0);
    for (int exponent = 103; exponent <= 144; exponent++)
        for (uint64_t b = 0; b < 50; b++) {
            draw(four, sizeof four, b);
            four[0] = (unsigned char)exponent;
            tsri_tensor_unpack(TSR_GGML_MXFP4, four, x, TSRI_TENSOR_BLOCK);
            tsri_tensor_transcode(TSR_GGML_MXFP4, four, eight, TSRI_TENSOR_BLOCK);
            tsri_tensor_unpack(TSR_GGML_Q8_0, eight, y, TSRI_TENSOR_BLOCK);
            const float step = tsri_tensor_f16_to_f32((uint16_t)(eight[0] | eight[1] << 8));
            const bool exact = exponent >= 104 && exponent <= 143;
            for (int i = 0; i < TSRI_TENSOR_BLOCK; i++)
                cr_assert(exact ? x[i] == y[i] : fabsf(x[i] - y[i]) <= step / 2,
                          "exponent %d, element %d: %a, not %a", exponent, i, (double)y[i],
                          (double)x[i]);
        }
}
