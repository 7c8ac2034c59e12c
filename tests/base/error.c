/* The sentences of errors, and sizes that would overflow. */
#include "base/error.h"

#include "base/memory.h"

#include <criterion/criterion.h>
#include <string.h>

Test(base, a_sentence_cannot_steer_a_terminal) {
    cr_assert_eq(tsri_base_fail(TSR_E_FORMAT, "name \"%s\"", "\x1b[2J\x07"), TSR_E_FORMAT);
    cr_assert_str_eq(tsri_base_reported(), "name \"?[2J?\"");
    cr_assert_eq(tsri_base_fail_within(TSR_E_IO, "model %d", 3), TSR_E_IO);
    cr_assert_str_eq(tsri_base_reported(), "model 3: name \"?[2J?\"");
    /* C1 controls, overrides of direction, line separators, bytes that are not UTF-8 */
    tsri_base_fail(TSR_E_FORMAT, "%s",
                   "a\xC2\x9B"
                   "31m \xE2\x80\xAE"
                   "b\xE2\x81\xA6 \xE2\x80\xA8 \x9B\xFF\xC2");
    cr_assert_str_eq(tsri_base_reported(), "a?31m ?b? ? ???");
    /* and what people write stays */
    const char *const texts[] = {"d\xC3\xA9j\xC3\xA0 vu\n\t", "\xD7\xA9\xE2\x80\x8F!",
                                 "\xF0\x9F\x98\x80", "\xC2\xA0\xE2\x80\x99"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tsri_base_fail(TSR_E_FORMAT, "%s", texts[i]);
        cr_expect_str_eq(tsri_base_reported(), texts[i]);
    }
    char lines[] = "a\r\nb\rc\x1B[31m\xE2\x80\xAE";
    cr_expect_eq(tsr_plain_text(lines, sizeof lines - 1), 12);
    cr_expect_eq(memcmp(lines, "a\r\nb?c?[31m?", 12), 0);
    /* no characters: more bytes than needed, half a surrogate pair, past U+10FFFF */
    char broken[] = "\xE0\x80\xA8|\xF0\x80\x80\xA8|\xED\xA0\x80|\xF4\x90\x80\x80|\xF4\x8F\xBF\xBF";
    const size_t n = tsr_plain_text(broken, sizeof broken - 1);
    cr_expect_eq(n, 22);
    cr_expect_eq(memcmp(broken, "???|????|???|????|\xF4\x8F\xBF\xBF", 22), 0);
}

Test(base, a_kept_sentence_is_told_again) {
    tsri_base_fail(TSR_E_IO, "%s", "the first");
    const tsri_base_kept kept = tsri_base_keep();
    tsri_base_fail(TSR_E_FORMAT, "%s", "another");
    tsri_base_restore(TSR_OK, &kept);
    cr_expect_str_eq(tsri_base_reported(), "the first");
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
