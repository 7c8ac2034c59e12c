/* cli/commands/bench/absent/absent.c - tessera bench duel in a build for a system on which Tessera starts no
 * other programs. */
#include "cli/base/args.h"
#include "cli/commands/commands.h"

int tsri_cli_bench_duel(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return tsri_cli_fail(CLI_OTHER,
                         "bench duel runs another build of tessera, and this one, which was "
                         "built for Windows, starts no other programs");
}
