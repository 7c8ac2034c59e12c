/* cli/commands/bench/results.h - files of results, for the commands that read them. */
#ifndef TESSERA_CLI_COMMANDS_BENCH_RESULTS_H
#define TESSERA_CLI_COMMANDS_BENCH_RESULTS_H

#include "cli/base/app.h"

/* Opens all files, in new memory; returns an exit code, and prints what went wrong. tsri_cli_bench_close
 * is to be called in any case. */
int tsri_cli_bench_open(const tsri_cli_list *paths, tsr_results ***out);
void tsri_cli_bench_close(tsr_results **results, size_t n);

#endif
