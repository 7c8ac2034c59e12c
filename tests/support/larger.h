/* Larger data from outside: the folder that TESSERA_SHARED names (docs/building.md). A test that
 * needs it does not exist in a run without the folder: it is not counted as skipped, because nobody
 * can get the data by installing something. */
#ifndef TEST_SUPPORT_LARGER_H
#define TEST_SUPPORT_LARGER_H

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

/* The path of a file or folder in it, in new memory; NULL where it is not there. */
char *larger_path(const char *name);

/* A Test(suite, title) that exists only where `needs` is there. */
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
