/* cli/base/output.h - what a command writes: to standard output, or to a file that is whole or not
 * there. */
#ifndef TESSERA_CLI_BASE_OUTPUT_H
#define TESSERA_CLI_BASE_OUTPUT_H

#include "cli/base/app.h"

typedef struct tsri_cli_output {
    tsri_cli_app *app;
    const char *path;
    char *temporary;
    FILE *file; /* NULL: standard output */
} tsri_cli_output;

/* path NULL: standard output. Returns an exit code, after saying what went wrong. */
int tsri_cli_output_begin(tsri_cli_app *app, const char *path, tsri_cli_output *out);
/* False where it cannot be written: its reader is gone, or it was said. */
bool tsri_cli_output_write(tsri_cli_output *out, const void *data, size_t n);
bool tsri_cli_output_flush(tsri_cli_output *out);
/* Renames a finished file; with a `code` that is not CLI_OK or CLI_MISS removes it. Returns the
 * code, or another where that failed. */
int tsri_cli_output_end(tsri_cli_output *out, int code);

#endif
