/* Numbers that other programs read, in a program whose locale has a decimal comma. */
#include "base/numbers.h"

#include "base/bytes.h"
#include "support/comma.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(base, numbers_have_a_point_in_every_locale) {
    const char *text = "0.25e1,5";
    char printed[32], *end;
    tsri_bytes bytes = {0};
    comma_begin();
    cr_assert_eq(tsri_base_read_number(text, &end), 2.5);
    cr_assert_str_eq(end, ",5");
    cr_assert_eq(tsri_base_print(printed, sizeof printed, "%g;%.2f %s", 0.5, 1e3, "a"), 13);
    cr_assert_str_eq(printed, "0.5;1000.00 a");
    cr_assert_eq(tsri_base_bytes_printf(&bytes, "%.3e", 1.5), TSR_OK);
    cr_assert_str_eq(bytes.data, "1.500e+00");
    tsri_base_bytes_clear(&bytes);
    snprintf(printed, sizeof printed, "%g", 0.5);
    cr_assert_str_eq(printed, "0,5", "the program keeps its locale");
}
