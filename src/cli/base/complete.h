/* cli/base/complete.h - what may come next on a command line, for the completion of shells. */
#ifndef TESSERA_CLI_BASE_COMPLETE_H
#define TESSERA_CLI_BASE_COMPLETE_H

#include "cli/base/help.h"

/* A command's help as candidates for the word that tsri_cli_complete_begin set. */
extern const tsri_cli_help_form tsri_cli_candidates;

/* The words behind "tessera", which must stay valid; the last is the one to complete, as far as it
 * has been typed. An argument such as --name=value is one word, as zsh and fish pass it, or three,
 * as bash does. */
void tsri_cli_complete_begin(const char *const *words, size_t n);
/* Prints a candidate for the value, a TAB and what it means, where the candidate begins with what
 * has been typed of the value. What stands before the value in the last word ("--name=") is printed,
 * too. */
void tsri_cli_complete_offer(const char *candidate, const char *about);

#endif
