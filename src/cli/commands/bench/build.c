/* cli/commands/bench/build.c - how this program was built: the build system defines it. */
#include "cli/commands/bench/build.h"

void tsri_cli_bench_built(tsr_bench_file_options *options) {
    options->commit = tsri_cli_commit;
    options->compiler = BUILD_COMPILER;
    options->flags = BUILD_FLAGS;
    options->build_type = BUILD_TYPE;
}
