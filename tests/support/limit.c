/* Limits the processor time of a test. */
#include "support/limit.h"

#include <criterion/criterion.h>
#include <sys/resource.h>

void limit_processor(unsigned seconds) {
    struct rusage used;
    struct rlimit limit;
    cr_assert_eq(getrusage(RUSAGE_SELF, &used), 0);
    cr_assert_eq(getrlimit(RLIMIT_CPU, &limit), 0);
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds;
    cr_assert_eq(setrlimit(RLIMIT_CPU, &limit), 0);
}
