/* base/system/posix/signals.c - signals that arrive, and a pipe that wakes a thread. */
#include "base/system/files.h"
#include "base/system/system.h"

#include <poll.h>
#include <signal.h>

void tsri_system_on_stop(void (*handler)(int number)) {
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND; /* a second one ends the process at once */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void (*told_crash)(int number);
static struct sigaction uncaught[NSIG];

static void crashed(int number, siginfo_t *info, void *context) {
    (void)context;
    told_crash(number);
    sigaction(number, &uncaught[number], NULL);
    if (info->si_code <= 0) /* the signal was sent; otherwise the instruction faults again */
        raise(number);
}

void tsri_system_on_crash(void (*handler)(int number)) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL};
    struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    told_crash = handler;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, &uncaught[numbers[i]]);
}

const char *tsri_system_signal_name(int number) {
    static const struct {
        int number;
        const char *name;
    } rows[] = {{SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGSEGV, "SEGV"}, {SIGBUS, "BUS"},
                {SIGABRT, "ABRT"}, {SIGILL, "ILL"},   {SIGFPE, "FPE"},   {SIGKILL, "KILL"},
                {SIGTRAP, "TRAP"}, {SIGSYS, "SYS"},   {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"},
                {SIGPIPE, "PIPE"}, {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"}, {SIGALRM, "ALRM"},
                {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number)
            return rows[i].name;
    return "?";
}

/* No process is started while a waker is opened, so the flags may follow the pipe. */
bool tsri_system_waker_open(tsri_system_waker *waker) {
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
        waker->ends[i] = ends[i];
    }
    return true;
}

void tsri_system_wake(const tsri_system_waker *waker) {
    if (waker->ends[1] >= 0)
        (void)!write((int)waker->ends[1], "w", 1);
}

void tsri_system_wait(const tsri_system_waker *waker, int milliseconds) {
    struct pollfd news = {(int)waker->ends[0], POLLIN, 0};
    char bytes[64];
    if (poll(&news, 1, milliseconds) > 0)
        (void)!read(news.fd, bytes, sizeof bytes);
}
