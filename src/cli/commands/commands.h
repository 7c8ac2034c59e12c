/* cli/commands/commands.h - the commands and verbs of commands.def. A command's function gets the
 * arguments, beginning with the command's name, and returns the exit code. */
#ifndef TESSERA_CLI_COMMANDS_COMMANDS_H
#define TESSERA_CLI_COMMANDS_COMMANDS_H

#define COMMAND(name, function, about) int tsri_cli_##function(int argc, char **argv);
#define SUBCOMMAND(command, word, function, about) int tsri_cli_##function(int argc, char **argv);
#include "cli/commands/commands.def"

typedef struct tsri_cli_command {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} tsri_cli_command;

/* A verb, the word behind a command's name. `run` gets the arguments from that word on, `name` in its
 * place, and has a help of its own; where it is NULL, the command reads the verb and tells of it. */
typedef struct tsri_cli_verb {
    const char *command, *word, *name, *about; /* name: both words, for messages: "bench suite" */
    int (*run)(int argc, char **argv);
} tsri_cli_verb;

/* All of them; a name or command of NULL ends each. */
extern const tsri_cli_command tsri_cli_commands[];
extern const tsri_cli_verb tsri_cli_verbs[];

/* NULL where there is none of this name, or of this command and word. */
const tsri_cli_command *tsri_cli_find_command(const char *name);
const tsri_cli_verb *tsri_cli_find_verb(const char *command, const char *word);
/* Runs the command, or its verb where that has a help of its own, with --help; `verb` may be NULL. */
int tsri_cli_help_of(const tsri_cli_command *command, const tsri_cli_verb *verb);

#endif
