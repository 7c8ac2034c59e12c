/* cli/base/output.h - a command's output: to standard output, or to a file that appears only when
 * it is complete. */
#ifndef TESSERA_CLI_BASE_OUTPUT_H
#define TESSERA_CLI_BASE_OUTPUT_H

#include "cli/base/app.h"

typedef struct tsri_cli_output {
    tsri_cli_app *app;
    const char *path;
    char *target; /* the file that it names: `path`, or where it leads if it is a link */
    char *temporary;
    FILE *file; /* NULL: standard output */
} tsri_cli_output;

/* Opens standard output where path is NULL. Where it is a link, the file that it leads to is written. A file
 * that is replaced keeps its permissions. Returns an exit code, and prints what went wrong. */
int tsri_cli_output_begin(tsri_cli_app *app, const char *path, tsri_cli_output *out);
/* Returns false where it cannot be written: the reader is gone, or the error was printed. */
bool tsri_cli_output_write(tsri_cli_output *out, const void *data, size_t n);
bool tsri_cli_output_flush(tsri_cli_output *out);
/* Renames the finished file to its name, or removes it where `code` is neither CLI_OK nor CLI_MISS.
 * Returns the code, or another where that failed. */
int tsri_cli_output_end(tsri_cli_output *out, int code);

#endif
