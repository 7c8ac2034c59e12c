/* Larger data from outside: the folder that TESSERA_SHARED names (docs/building.md). What needs it is no test of this
 * run where it isn't there: nothing is skipped, for nobody can get it by installing anything. */
#ifndef TEST_SUPPORT_LARGER_H
#define TEST_SUPPORT_LARGER_H

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

/* The path of a file or folder of it, new memory; NULL where it isn't there. */
char *larger_path(const char *name);

/* Test(suite, title) that exists where `needs` is there. */
#define LARGER_TEST(suite, title, needs)                         \
    ParameterizedTestParameters(suite, title) {                  \
        static char once;                                        \
        char *path = larger_path(needs);                         \
        const size_t n = path != NULL;                           \
        free(path);                                              \
        return cr_make_param_array(char, &once, n);              \
    }                                                            \
    ParameterizedTest(char *once __attribute__((unused)), suite, title)

#endif
