/* cli/base/progress.h - a line on a terminal that says how far a long job is, how fast it goes
 * and how long it will take. */
#ifndef TESSERA_CLI_BASE_PROGRESS_H
#define TESSERA_CLI_BASE_PROGRESS_H

#include "cli/base/app.h"

/* Set app, doing ("embedding") and unit ("lines"); the clock begins with the first call. */
typedef struct tsri_cli_progress {
    tsri_cli_app *app;
    const char *doing, *unit;
    uint64_t begun, shown, done; /* nanoseconds, and what was done at the last call */
} tsri_cli_progress;

/* `share` of the work is done, 0 to 1; below 0 where that is not known. Shown a few times a second
 * on a terminal, unless quiet. Returns a signal's number, or 0: what callbacks return. */
int tsri_cli_progress_show(tsri_cli_progress *progress, uint64_t done, double share);
/* Clears the line. With `tell`, says "1000 lines in 1.25 s, 800 a second". */
void tsri_cli_progress_end(tsri_cli_progress *progress, bool tell);

#endif
