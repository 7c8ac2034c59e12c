#include "base/error.h"

#include "base/memory.h"

#include <criterion/criterion.h>

Test(base, a_sentence_cannot_steer_a_terminal) {
    cr_assert_eq(tsri_base_fail(TSR_E_FORMAT, "name \"%s\"", "\x1b[2J\x07"), TSR_E_FORMAT);
    cr_assert_str_eq(tsri_base_reported(), "name \"?[2J?\"");
    cr_assert_eq(tsri_base_fail_within(TSR_E_IO, "model %d", 3), TSR_E_IO);
    cr_assert_str_eq(tsri_base_reported(), "model 3: name \"?[2J?\"");
}

Test(base, sizes_do_not_overflow_in_silence) {
    size_t n = 7;
    int64_t m = 7;
    cr_expect(!tsri_base_add(SIZE_MAX, 1, &n));
    cr_expect(!tsri_base_mul(SIZE_MAX / 2 + 1, 2, &n));
    cr_expect(!tsri_base_mul_i64(INT64_MAX, 2, &m));
    void *p = NULL;
    cr_expect_eq(tsri_base_new(SIZE_MAX / 2, 4, &p), TSR_E_HOST_MEMORY);
    cr_expect_eq(tsri_base_new_aligned(SIZE_MAX - 3, &p), TSR_E_HOST_MEMORY);
    cr_expect_null(p);
}
