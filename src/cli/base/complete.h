/* cli/base/complete.h - what may come next on a command line, for the completion of shells. */
#ifndef TESSERA_CLI_BASE_COMPLETE_H
#define TESSERA_CLI_BASE_COMPLETE_H

#include "cli/base/help.h"

/* A command's help as candidates for the word that tsri_cli_complete_begin set. */
extern const tsri_cli_help_form tsri_cli_candidates;

/* The words behind the command and its verb; the last is the one to complete, as far as it has
 * been typed. */
void tsri_cli_complete_begin(const char *const *words, size_t n);
/* Prints a candidate, a TAB and what it means, where the candidate begins as the word does. Of a word
 * --name=value, candidates are those of the value, and are printed with --name= before them. */
void tsri_cli_complete_offer(const char *candidate, const char *about);

#endif
