/* cli/base/watch.h - a thread beside the command while it waits for a driver: it shows how far that
 * is, and ends the process where a signal is not heeded, because a driver's compiler can't be
 * stopped.
 *
 * A signal is for the command itself, which ends its work and says how far it came. Where it has
 * not ended within 0.6 s, the thread removes what is half-written and leaves, without waiting for
 * the driver. Those who have something to finish ask for more time.
 *
 * A crash, most often a driver's, is told and noted for the next run. */
#ifndef TESSERA_CLI_BASE_WATCH_H
#define TESSERA_CLI_BASE_WATCH_H

#include "cli/base/app.h"

enum {
    CLI_PATIENT = -1,  /* for as long as it takes */
    CLI_END_MS = 10000 /* for those that say at their end what they found */
};

/* Starts the thread, once; before drivers are loaded. Without a thread signals wait for drivers. */
void tsri_cli_watch_begin(tsri_cli_app *app);
/* The app goes away: no line is shown from here on. Signals are still heeded. */
void tsri_cli_watch_end(void);
/* tsr_engine_options.progress; data: the app. Returns a signal's number, or 0. */
int tsri_cli_watch_progress(void *app, const tsr_progress *progress);
/* The same in bytes, for what is loaded. */
int tsri_cli_watch_loading(tsri_cli_app *app, uint64_t done, uint64_t total);
/* How many milliseconds the command has after a signal, when it does not wait for a driver
 * (CLI_PATIENT: also when it does). */
void tsri_cli_watch_patience(int milliseconds);
/* A file that is being written: PATH.<process>...tmp beside it is removed. NULL: no more. */
void tsri_cli_watch_output(const char *path);
/* Called by the handler of signals. */
void tsri_cli_watch_signal(void);
/* Takes the line off the terminal. */
void tsri_cli_watch_clear(tsri_cli_app *app);

#endif
