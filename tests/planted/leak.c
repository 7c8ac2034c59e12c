/* A leak on purpose. Criterion calls this test passed; only the sanitizer's log file tells. */
#include <criterion/criterion.h>
#include <stdlib.h>

static void *volatile lost;

Test(planted, leak) {
    lost = malloc(1234);
    cr_assert_not_null(lost);
    lost = NULL;
}
