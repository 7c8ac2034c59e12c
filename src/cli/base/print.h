/* cli/base/print.h - what a command prints where, and the exit code of a status. */
#ifndef TESSERA_CLI_BASE_PRINT_H
#define TESSERA_CLI_BASE_PRINT_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tsri_cli_app tsri_cli_app;

/* Says tsr_error_last() and gives the exit code of a status. */
int tsri_cli_status(tsr_status status);
/* The same, where a bad file is named, and a signal ends as a signal does. */
int tsri_cli_file_status(tsr_status status, const char *path);

/* Writes to stdout; false where it cannot (its reader is gone: app->stopped; else it was said). */
bool tsri_cli_write(tsri_cli_app *app, const void *data, size_t n);
__attribute__((format(printf, 2, 3))) bool tsri_cli_print(tsri_cli_app *app, const char *format,
                                                          ...);
bool tsri_cli_flush(tsri_cli_app *app);
/* Says that memory is out for what was to be printed; nothing more is, and the exit code is
 * CLI_OTHER. */
void tsri_cli_lost(tsri_cli_app *app);
/* Takes a line of progress off the terminal before something else is said. */
void tsri_cli_clear_progress(tsri_cli_app *app);
/* A line on stderr unless quiet. */
__attribute__((format(printf, 2, 3))) void tsri_cli_note(const tsri_cli_app *app,
                                                         const char *format, ...);

#endif
