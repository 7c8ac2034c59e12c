/* Weight layouts: what is stored is a function of the weights alone, and is loaded as it was. */
#include "backends/opencl/variants/variants.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 64 };

static void fill(unsigned char *bytes, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(seed >> 24);
    }
}

/* Of `rows` rows, `plain_bytes` in all. */
static void check(const tsri_opencl_layout *layout, uint32_t dtype, int64_t rows, int64_t columns,
                  size_t plain_bytes) {
    const size_t stored = (size_t)layout->bytes(rows, columns, dtype);
    unsigned char *plain = malloc(plain_bytes + 1), *back = malloc(plain_bytes + 1);
    unsigned char *held[2] = {malloc(stored + MARGIN), malloc(stored + MARGIN)};
    cr_assert(plain && back && held[0] && held[1]);
    fill(plain, plain_bytes, (uint32_t)rows);
    for (int i = 0; i < 2; i++) { /* whatever the memory held before */
        memset(held[i], i ? 0xFF : 0, stored + MARGIN);
        layout->store(columns, dtype, rows, plain, held[i]);
    }
    cr_expect(memcmp(held[0], held[1], stored) == 0,
              "%s, dtype %u, %lld x %lld: bytes are left as they were", layout->name, dtype,
              (long long)rows, (long long)columns);
    for (size_t i = stored; i < stored + MARGIN; i++)
        cr_expect(held[0][i] == 0 && held[1][i] == 0xFF, "%s writes behind its bytes",
                  layout->name);
    layout->load(columns, dtype, rows, held[1], back);
    cr_expect(memcmp(plain, back, plain_bytes) == 0, "%s, dtype %u, %lld x %lld comes back other",
              layout->name, dtype, (long long)rows, (long long)columns);
    free(plain);
    free(back);
    free(held[0]);
    free(held[1]);
}

Test(opencl_kernels, layouts_keep_nothing_of_old_memory) {
    static const int64_t rows[] = {0, 1, 2, 63, 64, 65, 66, 127, 128, 129};
    static const struct {
        uint32_t dtype;
        size_t block, bytes; /* numbers of a block, and its bytes */
    } dtypes[] = {{TSR_F32, 1, 4},           {TSR_F16, 1, 2},
                  {TSR_BF16, 1, 2},          {TSR_GGML_Q8_0, 32, 34},
                  {TSR_GGML_Q4_0, 32, 18},   {TSR_GGML_Q4_K, 256, 144},
                  {TSR_GGML_Q5_K, 256, 176}, {TSR_GGML_Q6_K, 256, 210},
                  {TSR_GGML_MXFP4, 32, 17},  {TSR_GGML_Q4_1, 32, 20},
                  {TSR_GGML_Q5_0, 32, 22},   {TSR_GGML_Q5_1, 32, 24},
                  {TSR_GGML_IQ4_NL, 32, 18}, {TSR_GGML_Q2_K, 256, 84},
                  {TSR_GGML_Q3_K, 256, 110}, {TSR_GGML_IQ4_XS, 256, 136}};
    static const size_t widths[] = {96, 97}; /* the second one for numbers alone */
    int seen = 0;
    for (uint32_t id = 1; tsri_opencl_layout_by_id(id) || id < 8; id++) {
        const tsri_opencl_layout *layout = tsri_opencl_layout_by_id(id);
        const bool blocks = layout && strstr(layout->name, "blocks");
        const bool rounds = layout && strstr(layout->name, "_bf16");
        for (size_t d = 0; layout && d < sizeof dtypes / sizeof *dtypes; d++)
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                for (int w = 0; w < (blocks ? 1 : 2); w++)
                    if ((dtypes[d].block > 1) == blocks &&
                        (!rounds || dtypes[d].dtype == TSR_BF16)) {
                        const size_t width = dtypes[d].block == 256 ? 512 : widths[w];
                        check(layout, dtypes[d].dtype, rows[i], (int64_t)width,
                              (size_t)rows[i] * width / dtypes[d].block * dtypes[d].bytes);
                        seen++;
                    }
    }
    cr_expect(seen >= 40, "%d", seen);
}

/* The layout for products of bf16 rounds to the nearest, ties to even, and keeps what it rounded. */
Test(opencl_kernels, a_layout_of_bf16_rounds) {
    static const float plain[3] = {1.0f + 0x1p-8f, -1.0f - 0x1.8p-7f, 0x1.01p-60f};
    static const float rounded[3] = {1.0f, -1.0f - 0x1p-6f, 0x1p-60f};
    const tsri_opencl_layout *layout = NULL;
    for (uint32_t id = 1; id < 8; id++)
        if (tsri_opencl_layout_by_id(id) && strstr(tsri_opencl_layout_by_id(id)->name, "_bf16"))
            layout = tsri_opencl_layout_by_id(id);
    cr_assert_not_null(layout);
    void *held = malloc((size_t)layout->bytes(1, 3, TSR_F32));
    float back[3];
    cr_assert_not_null(held);
    layout->store(3, TSR_F32, 1, plain, held);
    layout->load(3, TSR_F32, 1, held, back);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(back[i], rounded[i], "%a becomes %a", (double)plain[i], (double)back[i]);
    free(held);
}
