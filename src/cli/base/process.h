/* cli/base/process.h - signals that arrived, the time, and whether a file is a terminal. */
#ifndef TESSERA_CLI_BASE_PROCESS_H
#define TESSERA_CLI_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* 0, or the number of SIGINT or SIGTERM that arrived. */
int tsri_cli_signal(void);
/* Catches SIGINT and SIGTERM; the handler calls `then`. */
void tsri_cli_catch_signals(void (*then)(void));

bool tsri_cli_is_terminal(int fd);
/* Of a clock that is never set. */
uint64_t tsri_cli_now_ns(void);

#endif
