/* cli/commands/bench/peer.h - finds what runs another engine for tessera bench suite --peer. */
#ifndef TSRI_CLI_COMMANDS_BENCH_PEER_H
#define TSRI_CLI_COMMANDS_BENCH_PEER_H

#include <stdint.h>

/* Python, -B (it is to write no bytecode beside the program, which may be installed), the program,
 * the threads (0: one for each core), and the engine's name. */
enum { TSRI_CLI_BENCH_PEER_WORDS = 5, TSRI_CLI_BENCH_PEER_PATH = 4096 };

/* A command, whose words are in the struct. */
typedef struct tsri_cli_bench_peer {
    const char *command[TSRI_CLI_BENCH_PEER_WORDS];
    char python[TSRI_CLI_BENCH_PEER_PATH], program[TSRI_CLI_BENCH_PEER_PATH], threads[16];
} tsri_cli_bench_peer;

/* The exit code; what is missing is said. `out` stays where it is. */
int tsri_cli_bench_find_peer(const char *engine, uint32_t threads, tsri_cli_bench_peer *out);

#endif
