/* cli/reading/texts.h - all texts of a file at once, in memory. */
#ifndef TESSERA_CLI_READING_TEXTS_H
#define TESSERA_CLI_READING_TEXTS_H

#include "cli/reading/lines.h"

typedef struct tsri_cli_texts {
    tsr_string *items; /* [n], each with a 0 byte behind it */
    size_t n, room;
} tsri_cli_texts;

/* Each returns an exit code, after saying what went wrong. */
int tsri_cli_texts_add(tsri_cli_texts *texts, const char *text, size_t n);
/* Adds all of the source; a line or row that has no text, is cut, or
 * is not UTF-8 without an encoding, is a bad file. */
int tsri_cli_texts_read(tsri_cli_app *app, tsri_cli_texts *texts, const tsri_cli_source *source);
void tsri_cli_texts_clear(tsri_cli_texts *texts);

#endif
