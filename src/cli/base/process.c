/* cli/base/process.c - records the signals that arrive, and tells the time and whether a file is a
 * terminal. */
#include "cli/base/process.h"

#include "base/system/files.h"
#include "base/system/system.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

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
    heard = then;
    tsri_system_on_stop(note_signal);
}

bool tsri_cli_is_terminal(int fd) {
    return isatty(fd) == 1;
}

uint64_t tsri_cli_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
