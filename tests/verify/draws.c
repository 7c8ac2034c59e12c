/* tests/verify/draws.c - whichever kernel draws, it draws what the host draws, over many seeds and
 * settings. Runs on the device of the tests. */
#include "verify/verify.h"

#include "base/random.h"
#include "tensor/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 600 };

static int falling(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Logits of a row: normal with some width; every fifth row all equal, with NaN or -inf at its end, or not
 * finite. */
static void fill_row(uint64_t row, int64_t k, float *logits) {
    const float width = (float)(row % 7) * 1.5f;
    for (int64_t i = 0; i < k; i++)
        logits[i] = row % 5 ? width * tsri_base_normal(row, 1, (uint64_t)i) : 3;
    qsort(logits, (size_t)k, sizeof *logits, falling);
    if (row % 25 == 5 || row % 25 == 10)
        logits[k - 1] = row % 25 == 5 ? NAN : -INFINITY;
    if (row % 25 == 15)
        logits[0] = row % 2 ? NAN : INFINITY;
}

static tsri_tensor_draw settings_of(uint64_t row) {
    static const float temperatures[] = {0, 1e-38f, 0.2f, 0.8f, 1, 1.3f, 4, 1e30f},
                       shares[] = {1, 0.95f, 0.9f, 0.4f, 1e-30f}, least[] = {0, 0, 0.05f, 0.5f, 1};
    static const int32_t most[] = {0, 0, 1, 2, 40, 64, 1000};
    uint32_t pick[4], bits[4];
    tsri_base_philox(3, 1, row, pick);
    tsri_base_philox(row, 0, 9, bits);
    return tsri_tensor_draw_of(temperatures[pick[0] % 8], most[pick[1] % 7], shares[pick[2] % 5],
                               least[pick[3] % 5],
                               row % 11 == 1   ? UINT32_MAX
                               : row % 11 == 2 ? 0
                                               : bits[0]);
}

static void check(tsri_verify_place *place, const char *variant, int64_t k) {
    static int32_t wanted[ROWS];
    tsri_case_list list = {0};
    tsri_case_values values;
    char kernels[TSRI_VERIFY_FORCED];
    tsri_case *c = tsri_case_add(&list, TSR_OP_SAMPLE, "%d draws of %lld", ROWS, (long long)k);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_N, TSRI_CASE_K(k));
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_N, TSRI_CASE_K(k));
    tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_N);
    tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_N, TSRI_CASE_K(4));
    c->sizes[4] = ROWS;
    c->sparse = true;
    cr_assert_eq(tsri_case_values_fill(c, false, &values), TSR_OK, "%s", tsr_error_last());
    for (int64_t r = 0; r < ROWS; r++) {
        const tsri_tensor_draw draw = settings_of((uint64_t)r);
        const int32_t words[] = {draw.top_k, (int32_t)draw.top_p, (int32_t)draw.min_p,
                                 (int32_t)draw.random};
        float *logits = (float *)values.in[0] + r * k;
        int32_t *ids = (int32_t *)values.in[1] + r * k;
        fill_row((uint64_t)r, k, logits);
        for (int64_t i = 0; i < k; i++)
            ids[i] = (int32_t)(r * 1000 + i);
        ((float *)values.in[2])[r] = draw.rate;
        memcpy((int32_t *)values.in[3] + r * 4, words, sizeof words);
        const int64_t drawn = tsri_tensor_draw_one(&draw, logits, 1, k);
        wanted[r] = drawn < 0 ? (int32_t)drawn : ids[drawn];
    }
    if (variant)
        tsri_verify_force("sample", variant, "", kernels);
    place->kernels = variant ? kernels : NULL;
    cr_assert_eq(tsri_verify_run(c, &c->attrs, place, &values), TSR_OK, "%s", tsr_error_last());
    for (int64_t r = 0; r < ROWS; r++)
        cr_expect_eq(((int32_t *)values.out[0])[r], wanted[r], "%s, k = %lld, row %lld: %d, not %d",
                     variant ? variant : "reference", (long long)k, (long long)r,
                     ((int32_t *)values.out[0])[r], wanted[r]);
    tsri_case_values_clear(&values);
    free(list.cases);
}

Test(draws, are_those_of_the_host) {
    static const int64_t sizes[] = {1, 2, 40, 65, 256};
    const tsri_backend_options options = {0};
    const tsr_device_options device_options = {.struct_size = sizeof device_options,
                                               .no_self_test = 1};
    tsri_verify_place place = {0};
    size_t number = 0;
    cr_assert_eq(tsri_backend_set_open(&options, &place.set), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_select(place.set, NULL, 0, &number), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_backend_device_open(place.set, number, &device_options, &place.device),
                 TSR_OK, "%s", tsr_error_last());
    const bool opencl = !strcmp(tsri_backend_at(place.set, number)->backend->name, "opencl");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check(&place, opencl ? "plain" : NULL, sizes[i]);
        if (opencl)
            check(&place, "group", sizes[i]);
    }
    tsri_backend_device_close(&place.device);
    tsri_backend_set_close(&place.set);
}
