/* cli/base/help.h - the help of a command, made from its tables of options: as text, or in another
 * form that is set before the command is run with --help. */
#ifndef TESSERA_CLI_BASE_HELP_H
#define TESSERA_CLI_BASE_HELP_H

#include "cli/base/args.h"

typedef struct tsri_cli_help_form {
    void (*page)(const char *usage, const char *about, const tsri_cli_option *const *tables);
    /* Of a list behind the options: its heading, and each of its rows. */
    void (*heading)(const char *text);
    void (*row)(const char *name, const char *about, const char *values, const char *initial);
} tsri_cli_help_form;

/* The form in use: text, unless another one was set. */
const tsri_cli_help_form *tsri_cli_help(void);
void tsri_cli_help_as(const tsri_cli_help_form *form);

/* Writes "-m, --model MODEL" of an option, and where `all` is true, its other names. */
void tsri_cli_option_text(const tsri_cli_option *option, bool all, char *out, size_t room);

#endif
