/* base/system/windows/threads.c - threads, and conditions that are waited for until a deadline. */
#include "base/system/system.h"

#include <time.h>

/* No thread gets signals: Windows calls their handlers in threads of their own. */
int tsri_system_thread(pthread_t *thread, void *(*run)(void *data), void *data) {
    return pthread_create(thread, NULL, run, data);
}

/* Windows has no fork. */
void tsri_system_mind_forks(void (*before)(void), void (*after)(void)) {
    (void)before;
    (void)after;
}

int tsri_system_condition(pthread_cond_t *condition) {
    return pthread_cond_init(condition, NULL);
}

bool tsri_system_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end_ns) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t from = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                   left = end_ns > from ? end_ns - from : 0;
    const struct timespec wait = {.tv_sec = (time_t)(left / 1000000000u),
                                  .tv_nsec = (long)(left % 1000000000u)};
    return left && pthread_cond_timedwait_relative_np(condition, lock, &wait) == 0;
}
