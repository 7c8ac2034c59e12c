/* How many of the long tests run: TESSERA_TEST_CASES is "smoke", "some" or "all". */
#ifndef TEST_SUPPORT_CASES_H
#define TEST_SUPPORT_CASES_H

#include <stdbool.h>
#include <stdint.h>

/* SOME: what every change must pass; the default. SMOKE: the least, for devices whose compilers
 * take seconds for each kernel. ALL: what ci/test --all runs. */
typedef enum test_cases { TEST_SMOKE, TEST_SOME, TEST_ALL } test_cases;

/* The test fails where the variable has another value. */
test_cases cases_wanted(void);

/* TESSERA_TEST_TURN: tests that take a part of many cases take others where this number differs; 0
 * where it is not set. */
uint32_t cases_turn(void);

/* Whether it is the op's turn: of `some` cases, every eighth op in the list of `verify` has it; of `smoke`
 * cases, every fourth; of `all`, each. */
bool cases_due(const char *op);

/* Whether its turn is half a round of turns away. */
bool cases_due_next(const char *op);

/* From now on pocl does not optimise the kernels that this process builds, which takes a quarter of the
 * time; they are kept apart from optimised ones. ci/limit tells how; a program that runs without it builds
 * optimised kernels. Before a device is opened. */
void cases_build_unoptimised(void);

#endif
