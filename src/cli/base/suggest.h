/* cli/base/suggest.h - guesses which command or option was meant by an unknown name. */
#ifndef TESSERA_CLI_BASE_SUGGEST_H
#define TESSERA_CLI_BASE_SUGGEST_H

#include "cli/base/args.h"

/* Writes what to give instead of `typed` (which has its dashes; a "=VALUE" is ignored), such as
 * "--max-new-tokens". Returns false where no option of this command is similar. */
bool tsri_cli_suggest_option(const char *typed, const tsri_cli_option *const *tables, char *out,
                             size_t room);
/* True for options that other programs write with one dash and several letters, such as -ngl. */
bool tsri_cli_is_other_option(const char *typed);
/* Returns the most similar of the n command names, or NULL. */
const char *tsri_cli_suggest_command(const char *typed, const char *const *names, size_t n);

#endif
