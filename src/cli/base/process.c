/* cli/base/process.c - records the signals that arrive, and tells whether a file is a terminal. */
#include "cli/base/process.h"

#include <signal.h>
#include <stddef.h>
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
