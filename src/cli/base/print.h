/* cli/base/print.h - prints results and notes, and maps a status to an exit code. */
#ifndef TESSERA_CLI_BASE_PRINT_H
#define TESSERA_CLI_BASE_PRINT_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_cli_app tsri_cli_app;

/* From now on messages about what this rank alone has found begin with "rank 1 on node2: ". */
void tsri_cli_name_rank(uint32_t rank, const char *host);
/* "rank 1 on node2: "; "" where no other rank works with this one. */
const char *tsri_cli_rank_name(void);

/* Whether tsr_error_last() says which rank it is about, by its number and host, as what a rank that
 * ended told the others does. */
bool tsri_cli_names_rank(void);

/* Prints tsr_error_last(), and returns the exit code of a status. */
int tsri_cli_status(tsr_status status);
/* The same for work that a signal may cancel: it then gives the signal's exit code, and prints
 * nothing. */
int tsri_cli_run_status(tsr_status status);
/* The same for work on a file: the message of a bad file names it. */
int tsri_cli_file_status(tsr_status status, const char *path);
/* As tsri_cli_status; the message begins with where that was. */
int tsri_cli_status_at(tsr_status status, const char *where);

/* Writes to stdout. Returns false where it cannot; then app->stopped is set, and an error was
 * printed unless only the reader is gone. */
bool tsri_cli_write(tsri_cli_app *app, const void *data, size_t n);
__attribute__((format(PRINTF, 2, 3))) bool tsri_cli_print(tsri_cli_app *app, const char *format,
                                                          ...);
bool tsri_cli_flush(tsri_cli_app *app);
/* Reports that there was no memory for what should be printed. Nothing more is printed, and the
 * exit code is CLI_OTHER. */
void tsri_cli_lost(tsri_cli_app *app);
/* Clears the line of progress on the terminal before something else is printed. */
void tsri_cli_clear_progress(tsri_cli_app *app);
/* Prints a line on stderr unless --quiet is given. */
__attribute__((format(PRINTF, 2, 3))) void tsri_cli_note(const tsri_cli_app *app,
                                                         const char *format, ...);

#endif
