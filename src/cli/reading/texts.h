/* cli/reading/texts.h - reads all texts of a file into memory. */
#ifndef TESSERA_CLI_READING_TEXTS_H
#define TESSERA_CLI_READING_TEXTS_H

#include "cli/reading/lines.h"

typedef struct tsri_cli_texts {
    tsr_string *items; /* [n], each with a 0 byte after it */
    size_t n, room;
} tsri_cli_texts;

/* Each returns an exit code, and prints what went wrong. */
int tsri_cli_texts_add(tsri_cli_texts *texts, const char *text, size_t n);
/* Adds all texts of the source. A line or row that has no text, was cut, or is not UTF-8 without an
 * encoding makes the file a bad one. */
int tsri_cli_texts_read(tsri_cli_app *app, tsri_cli_texts *texts, const tsri_cli_source *source);
void tsri_cli_texts_clear(tsri_cli_texts *texts);

#endif
