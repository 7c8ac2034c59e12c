/* cli/base/process.c - records the signals that arrive, and tells the time and whether a file is a
 * terminal. */
#include "cli/base/process.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t arrived;
static void (*heard)(void);

static void note_signal(int number) {
    arrived = number;
    heard();
}

int tsri_cli_signal(void) {
    return (int)arrived;
}

void tsri_cli_catch_signals(void (*then)(void)) {
    struct sigaction action = {.sa_handler = note_signal};
    heard = then;
    sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND; /* a second one ends the process at once */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool tsri_cli_is_terminal(int fd) {
    return isatty(fd) == 1;
}

uint64_t tsri_cli_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
