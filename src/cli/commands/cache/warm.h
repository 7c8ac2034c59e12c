/* cli/commands/cache/warm.h - fills the cache with what models need. */
#ifndef TESSERA_CLI_COMMANDS_CACHE_WARM_H
#define TESSERA_CLI_COMMANDS_CACHE_WARM_H

#include "cli/base/app.h"

/* Runs each of the models named by operands 1 to n - 1, or every bundled one where there is none, and
 * prints a line for it. Stops at the first that fails. Returns an exit code. */
int tsri_cli_warm(tsri_cli_app *app, const tsri_cli_list *operands);

#endif
