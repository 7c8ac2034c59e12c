/* How much of what takes long is tested: TESSERA_TEST_CASES is "smoke", "some" or "all". */
#ifndef TEST_SUPPORT_CASES_H
#define TEST_SUPPORT_CASES_H

/* SOME: what a change must pass, and what is taken where nothing is said. SMOKE: the least, for
 * devices whose compilers take seconds a kernel. ALL: ci/test --all. */
typedef enum test_cases { TEST_SMOKE, TEST_SOME, TEST_ALL } test_cases;

/* The test fails where the variable has another value. */
test_cases cases_wanted(void);

#endif
