/* cli/base/process.h - what a command asks of its process. */
#ifndef TESSERA_CLI_BASE_PROCESS_H
#define TESSERA_CLI_BASE_PROCESS_H

#include <stdbool.h>

/* 0, or the number of SIGINT or SIGTERM that arrived. */
int tsri_cli_signal(void);
/* `then` is called by the handler. */
void tsri_cli_catch_signals(void (*then)(void));

bool tsri_cli_is_terminal(int fd);

#endif
