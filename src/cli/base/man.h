/* cli/base/man.h - manual pages, in the man macros of roff. */
#ifndef TESSERA_CLI_BASE_MAN_H
#define TESSERA_CLI_BASE_MAN_H

#include "cli/base/help.h"

/* A command's help as a manual page. tsri_cli_man_begin has to be called before. */
extern const tsri_cli_help_form tsri_cli_man;

/* Begins the page `name`, "tessera-bench", whose NAME section has `about`. */
void tsri_cli_man_begin(const char *name, const char *about);
void tsri_cli_man_section(const char *title);
/* An entry of a list: the term in bold, and below it what it means. */
void tsri_cli_man_entry(const char *term, const char *text);
/* Text as it is; an empty line in it begins a paragraph. */
void tsri_cli_man_text(const char *text);

#endif
