/* Undefined behaviour on purpose: a signed sum that overflows. */
#include <criterion/criterion.h>
#include <limits.h>

Test(planted, overflow) {
    volatile int most = INT_MAX;
    most = most + 1;
    cr_assert_neq(most, 0);
}
