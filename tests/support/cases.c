/* How many of the long tests run. */
#include "support/cases.h"

#include "tessera/verify.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

test_cases cases_wanted(void) {
    static const char *const names[] = {
        [TEST_SMOKE] = "smoke", [TEST_SOME] = "some", [TEST_ALL] = "all"};
    const char *wanted = getenv("TESSERA_TEST_CASES");
    if (!wanted || !*wanted)
        return TEST_SOME;
    for (int i = 0; i < 3; i++)
        if (!strcmp(wanted, names[i]))
            return (test_cases)i;
    cr_assert_fail("TESSERA_TEST_CASES is %s; it must be smoke, some or all", wanted);
    return TEST_SOME;
}

uint32_t cases_turn(void) {
    const char *turn = getenv("TESSERA_TEST_TURN");
    return turn ? (uint32_t)strtoul(turn, NULL, 10) : 0;
}

/* In how many turns each op has its turn once. */
static uint32_t parts(void) {
    static const uint32_t of[] = {[TEST_SMOKE] = 4, [TEST_SOME] = 8, [TEST_ALL] = 1};
    return of[cases_wanted()];
}

static bool due_in(const char *op, uint32_t turn) {
    uint32_t i = 0;
    while (tsr_verify_op_name(i) && strcmp(tsr_verify_op_name(i), op) != 0)
        i++;
    return (i + turn) % parts() == 0;
}

bool cases_due(const char *op) {
    return due_in(op, cases_turn());
}

bool cases_due_next(const char *op) {
    return due_in(op, cases_turn() + parts() / 2);
}

void cases_build_unoptimised(void) {
    const char *told = getenv("TESSERA_UNOPTIMISED");
    char *settings = told ? strdup(told) : NULL; /* a part of the environment from now on */
    for (char *line = settings ? strtok(settings, "\n") : NULL; line; line = strtok(NULL, "\n"))
        putenv(line);
}
