/* cli/commands/bench/results.h - files of results, for the commands that read them. */
#ifndef TESSERA_CLI_COMMANDS_BENCH_RESULTS_H
#define TESSERA_CLI_COMMANDS_BENCH_RESULTS_H

#include "cli/base/app.h"

#include <jansson.h>

/* Opens all files, in new memory; returns an exit code, and prints what went wrong.
 * tsri_cli_bench_close is to be called in any case. */
int tsri_cli_bench_open(const tsri_cli_list *paths, tsr_results ***out);
void tsri_cli_bench_close(tsr_results **results, size_t n);

/* Reads "3%" as 0.03. */
int tsri_cli_bench_read_share(const char *option, const char *text, double *out);

typedef struct tsri_cli_bench_comparing {
    tsri_cli_app *app;
    json_t *rows; /* NULL: they are printed as a table */
    tsr_compare_summary summary;
    char device[256]; /* of the first row */
    bool peaks_differ, devices_differ;
} tsri_cli_bench_comparing;

/* Compares, and prints the result as a table or with --json. Returns CLI_MISS where a row has
 * become slower. */
int tsri_cli_bench_show_comparison(tsri_cli_app *app, tsr_results **before, size_t n_before,
                                   tsr_results **after, size_t n_after,
                                   const tsr_compare_options *options);

#endif
