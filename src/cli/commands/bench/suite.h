/* cli/commands/bench/suite.h - what the commands that measure have in common. */
#ifndef TESSERA_CLI_COMMANDS_BENCH_SUITE_H
#define TESSERA_CLI_COMMANDS_BENCH_SUITE_H

#include "cli/base/app.h"

/* tessera bench suite; argv[0] is "suite". */
int tsri_cli_bench_suite(int argc, char **argv);
int tsri_cli_bench_report(int argc, char **argv);
int tsri_cli_bench_compare(int argc, char **argv);
int tsri_cli_bench_duel(int argc, char **argv);

/* What is known about the open device. */
int tsri_cli_bench_find(tsri_cli_app *app, tsr_device_info *out);
/* Calls `run` for the device that was asked for; with --device all, for every usable device but the
 * reference, one after the other. Returns the worst exit code. */
int tsri_cli_bench_devices(tsri_cli_app *app, int (*run)(void *data), void *data);

#endif
