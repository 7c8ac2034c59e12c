/* cli/shared/windows.h - runs a command's work over all texts of a source, one window at a time: by
 * this process alone, or by all ranks, each of which takes the next window when it is free. */
#ifndef TESSERA_CLI_SHARED_WINDOWS_H
#define TESSERA_CLI_SHARED_WINDOWS_H

#include "cli/base/progress.h"
#include "cli/reading/lines.h"

enum { TSRI_CLI_COUNTS = 4 };

typedef struct tsri_cli_windows {
    /* Set by the caller. */
    tsri_cli_progress progress;
    const tsri_cli_source *source;
    /* In place of a source: adds up to `most` texts to the window; none: there are no more. */
    int (*fill)(void *data, size_t most, tsri_cli_window *window);
    /* Works on `window`, and writes results with tsri_cli_write or tsri_cli_output_write, or by a
     * way of its own into app->captured where that is not NULL. Each of these returns an exit code,
     * and prints what went wrong. */
    int (*work)(void *data);
    /* Takes, on rank 0 and in order, what work on a window has captured. NULL: prints it. */
    int (*take)(void *data, const char *bytes, size_t n);
    bool always;     /* output is captured also where this process is alone */
    bool no_summary; /* the caller prints how long it took */
    void *data;
    /* For the caller. */
    tsri_cli_window window;
    uint64_t counts[TSRI_CLI_COUNTS]; /* of the current window: `work` adds to them */
    uint64_t sums[TSRI_CLI_COUNTS];   /* of all windows; rank 0 has them */
    tsri_cli_lines *lines;            /* of rank 0 */
    /* Of the loop itself. */
    tsr_share *share;
    tsri_cli_window filled; /* for a rank; not what this one works on */
    tsri_cli_bytes block, captured;
    tsri_cli_pace pace;
    uint64_t bytes;       /* of the input, of the current window */
    uint64_t done_bytes;  /* of the input, of windows whose results were taken */
    uint64_t done, total; /* texts; total: where `fill` is given and the caller knows it, else 0 */
    int code;             /* of what failed in a callback */
} tsri_cli_windows;

/* Returns an exit code: CLI_MISS where some lines had no text. */
int tsri_cli_windows_run(tsri_cli_windows *w);
/* What `work` calls while it is busy: `done` of `total` of the window's texts are done. Returns not
 * 0 where the work must stop. */
int tsri_cli_windows_progress(tsri_cli_windows *w, uint64_t done, uint64_t total);
/* The exit code of a call on the window's texts that `work` made; prints what went wrong, and in which lines, unless
 * that was printed. */
int tsri_cli_windows_status(const tsri_cli_windows *w, tsr_status status);
/* How many of `left` texts, and at most `most`, the next window should have: towards the end fewer,
 * but at least `least`, so that all ranks end together. */
size_t tsri_cli_windows_share(const tsri_cli_windows *w, size_t most, size_t left, size_t least);
/* What `fill` does where the texts are in memory: adds the next of n texts, from *at on. */
int tsri_cli_windows_add(const tsri_cli_windows *w, const tsr_string *texts, size_t n, size_t *at,
                         size_t most, tsri_cli_window *window);
void tsri_cli_windows_clear(tsri_cli_windows *w);

#endif
