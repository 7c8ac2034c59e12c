/* cli/base/watch.h - a second thread, for while the command waits for a driver: it shows the
 * progress, and ends the process after a signal, because a driver's compiler can't be stopped.
 *
 * After a signal, the command itself ends its work and says how far it came. If it has not ended
 * within 0.6 s, the thread removes half-written files and ends the process without waiting for the
 * driver. Commands that have something to finish ask for more time (tsri_cli_watch_patience), or to
 * finish even what waits for the driver (tsri_cli_watch_finish).
 *
 * A crash, most often a driver's, is reported, and noted for the next run. */
#ifndef TESSERA_CLI_BASE_WATCH_H
#define TESSERA_CLI_BASE_WATCH_H

#include "cli/base/app.h"

enum {
    CLI_PATIENT = -1,  /* wait for as long as it takes */
    CLI_END_MS = 10000 /* for commands that print at their end what they found */
};

/* Starts the thread once, before drivers are loaded. If it cannot be started, signals have to wait
 * for drivers. */
void tsri_cli_watch_begin(tsri_cli_app *app);
/* Tells the thread that the app is about to go away: it shows no more lines. Signals still end the
 * process. */
void tsri_cli_watch_end(void);
/* For tsr_engine_options.progress, with the app as its data. Returns the number of the signal that
 * stops the work, or 0. */
int tsri_cli_watch_progress(void *app, const tsr_progress *progress);
/* The same, counted in bytes, for loading a model. */
int tsri_cli_watch_loading(tsri_cli_app *app, uint64_t done, uint64_t total);
/* Sets how many milliseconds the command has after a signal while it does not wait for a driver
 * (CLI_PATIENT: no limit, also while it does). */
void tsri_cli_watch_patience(int milliseconds);
/* While it is set, a signal does not stop what waits for a driver: tsri_cli_watch_progress returns
 * 0, and the command has its patience for that, too. */
void tsri_cli_watch_finish(bool finish);
/* Names a file that is being written: after a signal, PATH.<process>...tmp beside it is removed.
 * NULL: none is being written any more. */
void tsri_cli_watch_output(const char *path);
/* This subfolder of the cache folder, which is that of the library (tsri_base_cache_folder), in new
 * memory; NULL where the user has no home folder. */
char *tsri_cli_watch_cache(const char *name);
/* Called by the signal handler. */
void tsri_cli_watch_signal(void);
/* Clears the line on the terminal. */
void tsri_cli_watch_clear(tsri_cli_app *app);

#endif
