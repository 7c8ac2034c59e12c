/* cli/commands/bench/build.h - how this program was built. */
#ifndef TESSERA_CLI_COMMANDS_BENCH_BUILD_H
#define TESSERA_CLI_COMMANDS_BENCH_BUILD_H

#include "tessera/bench.h"

/* The commit, "" where it is not known; the build writes it. */
extern const char tsri_cli_commit[];

/* Sets commit, compiler, flags and build_type. */
void tsri_cli_bench_built(tsr_bench_file_options *options);

#endif
