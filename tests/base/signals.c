/* The names of signals, by which a crash of a driver is told; threads, which get no signals but those of their crash,
 * and wait until a deadline. */
#include "base/clock.h"
#include "base/system/system.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

Test(base, signals_have_names) {
    static const struct {
        int number;
        const char *name;
    } rows[] = {{SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGSEGV, "SEGV"}, {SIGBUS, "BUS"},
                {SIGABRT, "ABRT"}, {SIGILL, "ILL"},   {SIGFPE, "FPE"},   {SIGKILL, "KILL"},
                {SIGXCPU, "XCPU"}, {0, "?"},          {-1, "?"},         {1000, "?"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_str_eq(tsri_system_signal_name(rows[i].number), rows[i].name, "%d",
                         rows[i].number);
}

enum { TOLD = 7 };

static void tell(int number) {
    _exit(number == SIGSEGV ? TOLD : 1);
}

static void *crash(void *data) {
    raise(SIGSEGV);
    return data;
}

Test(base, a_crash_of_a_thread_is_told, .exit_code = TOLD) {
    pthread_t thread;
    tsri_system_on_crash(tell);
    cr_assert_eq(tsri_system_thread(&thread, crash, NULL), 0);
    pthread_join(thread, NULL);
}

static void *look_at_mask(void *mask) {
    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

Test(base, requests_to_end_go_past_a_thread) {
    pthread_t thread;
    sigset_t mask, mine;
    cr_assert_eq(tsri_system_thread(&thread, look_at_mask, &mask), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    cr_expect(sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM));
    cr_expect_not(sigismember(&mask, SIGSEGV));
    cr_expect_not(sigismember(&mine, SIGINT), "the thread that starts another keeps its own mask");
}

typedef struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rings;
    bool rang;
} bell;

static void *ring(void *data) {
    bell *b = data;
    pthread_mutex_lock(&b->lock);
    b->rang = true;
    pthread_cond_signal(&b->rings);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

Test(base, a_condition_is_waited_for_until_a_deadline) {
    bell b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    cr_assert_eq(tsri_system_condition(&b.rings), 0);
    pthread_mutex_lock(&b.lock);
    const uint64_t begun = tsri_base_now_ns(), end = begun + 20000000u;
    while (tsri_system_wait_until(&b.rings, &b.lock, end))
        continue;
    cr_expect_geq(tsri_base_now_ns(), end);
    cr_expect_not(tsri_system_wait_until(&b.rings, &b.lock, 0), "it has long passed");
    cr_assert_eq(tsri_system_thread(&thread, ring, &b), 0);
    while (!b.rang)
        cr_assert(tsri_system_wait_until(&b.rings, &b.lock, begun + 600000000000u));
    pthread_mutex_unlock(&b.lock);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&b.rings);
}
