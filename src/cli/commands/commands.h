/* cli/commands/commands.h - declares the function of each command in commands.def. It gets the
 * arguments, beginning with the command's name, and returns the exit code. */
#ifndef TESSERA_CLI_COMMANDS_COMMANDS_H
#define TESSERA_CLI_COMMANDS_COMMANDS_H

#define COMMAND(name, function, about) int tsri_cli_##function(int argc, char **argv);
#include "cli/commands/commands.def"
#undef COMMAND

#endif
