/* cli/commands/commands.c - the tables of commands and verbs, made from commands.def. */
#include "cli/commands/commands.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const tsri_cli_command tsri_cli_commands[] = {
#define COMMAND(name, function, about) {name, about, tsri_cli_##function},
#include "cli/commands/commands.def"
    {0}};

const tsri_cli_verb tsri_cli_verbs[] = {
#define COMMAND(name, function, about)
#define VERB(command, word, about) {command, word, command " " word, about, NULL},
#define SUBCOMMAND(command, word, function, about) \
    {command, word, command " " word, about, tsri_cli_##function},
#include "cli/commands/commands.def"
    {0}};

const tsri_cli_command *tsri_cli_find_command(const char *name) {
    for (const tsri_cli_command *c = tsri_cli_commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

const tsri_cli_verb *tsri_cli_find_verb(const char *command, const char *word) {
    for (const tsri_cli_verb *v = tsri_cli_verbs; v->command; v++)
        if (!strcmp(v->command, command) && !strcmp(v->word, word))
            return v;
    return NULL;
}

int tsri_cli_help_of(const tsri_cli_command *command, const tsri_cli_verb *verb) {
    const bool own = verb && verb->run;
    char *argv[] = {(char *)command->name, (char *)(own ? verb->word : "--help"),
                    own ? (char *)"--help" : NULL, NULL};
    return command->run(own ? 3 : 2, argv);
}
