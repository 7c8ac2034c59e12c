/* cli/commands/bench/suite.h - what the commands that measure have in common. */
#ifndef TESSERA_CLI_COMMANDS_BENCH_SUITE_H
#define TESSERA_CLI_COMMANDS_BENCH_SUITE_H

#include "cli/commands/bench/format.h"

/* Calls `run` for the device that was asked for; with --device all, for every device that can be
 * opened but the reference, one after the other, whether or not one before it failed; the others are
 * written with the reason. Its rows are written in `format`, and to the file at `path` (NULL: none);
 * after a signal or a failure, those that were measured are. Returns the worst exit code. */
int tsri_cli_bench_run(tsri_cli_app *app, const char *format, const char *path,
                       const tsr_bench_file_options *options, tsri_cli_bench_writer *writer,
                       int (*run)(void *data), void *data);
/* Opens the device, and gives what is known about it. */
int tsri_cli_bench_open_device(tsri_cli_app *app, tsr_device_info *out);
/* Closes the device. Returns the exit code of a run that ended with `status`. */
int tsri_cli_bench_close_device(tsri_cli_app *app, tsr_status status,
                                const tsr_bench_summary *summary);

#endif
