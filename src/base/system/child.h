/* base/system/child.h - other programs: starts one, passes bytes to it and back, waits for it and ends
 * it. posix/child.c and windows/child.c implement it. */
#ifndef TSRI_BASE_SYSTEM_CHILD_H
#define TSRI_BASE_SYSTEM_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a standard stream of a program leads. */
typedef enum tsri_system_stream {
    TSRI_SYSTEM_SHARED,  /* where this process's leads */
    TSRI_SYSTEM_NOWHERE, /* it reads nothing; what it writes is dropped */
    TSRI_SYSTEM_PIPED    /* to this process */
} tsri_system_stream;

typedef struct tsri_system_command {
    const char *program;     /* a path */
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* NAME=value, ends with NULL; NULL: this process's environment */
    tsri_system_stream in, out, err;
    bool
        apart; /* a Ctrl-C at the terminal does not reach it, and it begins with no signal blocked */
} tsri_system_command;

/* Begins as zeros: no program. */
typedef struct tsri_system_child {
    intptr_t process; /* 0: none runs */
    /* This process's ends of its streams; 0: not piped. On POSIX they are file descriptors above 2; the
     * input's is a socket, which is that of the output, too, where both are piped. */
    intptr_t in, out, err;
    int code,
        signal; /* once it has ended: its exit code; the number of the signal that ended it, or 0 */
    uint64_t memory; /* then: the most that it held; 0 where the system doesn't tell */
} tsri_system_child;

/* 0, or the errno of what failed; there is no program then. */
int tsri_system_child_start(const tsri_system_command *command, tsri_system_child *child);
/* Waits for bytes of its output, and reads at most n of them: 0 at the end; -1 with errno. */
ptrdiff_t tsri_system_child_read(const tsri_system_child *child, void *out, size_t n);
/* Passes all of it to its input; false where the program reads no more. That raises no signal here. */
bool tsri_system_child_write(const tsri_system_child *child, const void *data, size_t n);
/* Closes this process's ends of its streams. */
void tsri_system_child_close(tsri_system_child *child);
/* Waits until it has ended, at most so many milliseconds (below 0: no limit). 1: it has ended. 0: it runs;
 * the time is over or, without a limit, a signal was handled here. -1 with errno: it can't be waited for,
 * and counts as ended. */
int tsri_system_child_wait(tsri_system_child *child, int milliseconds);
/* Asks it to end, by SIGTERM; Windows ends it at once. */
void tsri_system_child_ask(const tsri_system_child *child);
/* Ends it and waits for that: it is asked, and killed where it has not ended so many milliseconds later;
 * 0: it is killed at once. Does nothing where none runs. */
void tsri_system_child_end(tsri_system_child *child, int milliseconds);
/* The processor time that it has used so far, in nanoseconds; 0 where the system doesn't tell. */
uint64_t tsri_system_child_used(const tsri_system_child *child);

/* This process's environment without the variables that `names` has (ends with NULL), with room for `more`
 * after the *kept that are left, and NULL behind them. In new memory, to be freed by one free, and valid
 * until the environment changes; NULL where there is too little memory. */
const char **tsri_system_environment(const char *const *names, size_t more, size_t *kept);

#endif
