/* base/system/posix/threads.c - threads that get no signals, and conditions that are waited for until a
 * deadline. */
#include "base/system/system.h"

#include <signal.h>
#include <time.h>

int tsri_system_thread(pthread_t *thread, void *(*run)(void *data), void *data) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigdelset(&blocked, crashes[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* a thread begins with its creator's mask */
    const int failed = pthread_create(thread, NULL, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

void tsri_system_mind_forks(void (*before)(void), void (*after)(void)) {
    (void)!pthread_atfork(before, after, after);
}

/* macOS has no conditions of the monotonic clock, but waits that are relative. */
#ifdef __APPLE__
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
#else
int tsri_system_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);
    if (failed)
        return failed;
    failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!failed)
        failed = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed;
}

bool tsri_system_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end_ns) {
    const struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
                                 .tv_nsec = (long)(end_ns % 1000000000u)};
    return pthread_cond_timedwait(condition, lock, &end) == 0;
}
#endif
