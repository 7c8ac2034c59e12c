/* cli/base/progress.h - a line on the terminal that shows how far a long job has come, its speed,
 * and how long it will take. */
#ifndef TESSERA_CLI_BASE_PROGRESS_H
#define TESSERA_CLI_BASE_PROGRESS_H

#include "cli/base/app.h"

/* Set app, doing ("embedding") and unit ("lines"); the clock starts with the first call. */
typedef struct tsri_cli_progress {
    tsri_cli_app *app;
    const char *doing, *unit;
    uint64_t begun, shown, done; /* the first two in nanoseconds; done: as of the last call */
} tsri_cli_progress;

/* `share` is the part of the work that is done, 0 to 1; below 0 where that is not known. Shown
 * as --progress says, on a terminal a few times a second. Returns what callbacks
 * return: a signal's number, or 0. */
int tsri_cli_progress_show(tsri_cli_progress *progress, uint64_t done, double share);
/* Clears the line. With `tell`, prints "1000 lines in 1.25 s, 800 a second". */
void tsri_cli_progress_end(tsri_cli_progress *progress, bool tell);

#endif
