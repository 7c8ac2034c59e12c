/* cli/shared/translating.h - translates windows of lines, for translate by several ranks and for
 * evaluate. */
#ifndef TESSERA_CLI_SHARED_TRANSLATING_H
#define TESSERA_CLI_SHARED_TRANSLATING_H

#include "cli/shared/windows.h"

typedef struct tsri_cli_translating {
    /* Set by the caller: of windows, the source, or fill, and take, which get this struct; of
     * options, all but first_line and progress. */
    tsri_cli_windows windows;
    tsr_translate_options options;
    tsr_translated_fn translated; /* gets the lines of a window, and `data` */
    void *data;
    tsr_translate_stats stats; /* at the end, on rank 0: of all windows */
    size_t taken;              /* lines of the window that the library has read */
} tsri_cli_translating;

/* Runs over all windows. Returns an exit code, and prints what went wrong. */
int tsri_cli_translating_run(tsri_cli_translating *t, tsri_cli_app *app);

#endif
