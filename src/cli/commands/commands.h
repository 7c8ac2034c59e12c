/* cli/commands/commands.h - the function of each command in commands.def, which gets the arguments
 * from the name on and returns the exit code. */
#ifndef TESSERA_CLI_COMMANDS_COMMANDS_H
#define TESSERA_CLI_COMMANDS_COMMANDS_H

#define COMMAND(name, function, about) int tsri_cli_##function(int argc, char **argv);
#include "cli/commands/commands.def"
#undef COMMAND

#endif
