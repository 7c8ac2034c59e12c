/* cli/base/suggest.h - what was probably meant by a command or an option that is not there. */
#ifndef TESSERA_CLI_BASE_SUGGEST_H
#define TESSERA_CLI_BASE_SUGGEST_H

#include "cli/base/args.h"

/* Writes what to give instead of the option that was typed (with its dashes; a "=VALUE" is left
 * out), as "--max-new-tokens"; false where nothing of this command is near. */
bool tsri_cli_suggest_option(const char *typed, const tsri_cli_option *const *tables, char *out,
                             size_t room);
/* True for what other programs write with one dash and several letters, as -ngl. */
bool tsri_cli_is_other_option(const char *typed);
/* The command of `names` [n], or NULL. */
const char *tsri_cli_suggest_command(const char *typed, const char *const *names, size_t n);

#endif
