/* cli/reading/input.h - the bytes of a file or of standard input, as UTF-8.
 *
 * Without --encoding the bytes are passed on unchanged, except for a byte-order mark: UTF-8's is
 * left out, and input with the mark of UTF-16 or UTF-32 is converted. With --encoding NAME all
 * input is converted by iconv (for utf-8 it is passed on unchanged). Bytes that are wrong in
 * another encoding become U+FFFD, and are reported. */
#ifndef TESSERA_CLI_READING_INPUT_H
#define TESSERA_CLI_READING_INPUT_H

#include "cli/base/app.h"
#include "cli/base/utf8.h"

typedef struct tsri_cli_input tsri_cli_input;

/* --encoding */
const tsri_cli_option *tsri_cli_encoding_option(const char **encoding);

/* path NULL or "-" is standard input, which can have only one reader. Nothing is read yet. Each
 * returns an exit code, and prints what went wrong. */
int tsri_cli_input_open(tsri_cli_app *app, const char *path, const char *encoding,
                        tsri_cli_input **out);
/* The same for a text that is in memory already, as UTF-8. Both are borrowed; `name` is for messages. */
int tsri_cli_input_open_text(tsri_cli_app *app, const char *name, tsr_string text,
                             tsri_cli_input **out);
/* Reads at least one and at most `room` bytes (room: 1024 or more); *n is 0 at the end. */
int tsri_cli_input_read(tsri_cli_input *input, char *to, size_t room, size_t *n);
/* True where a read would wait. */
bool tsri_cli_input_would_wait(const tsri_cli_input *input);
const char *tsri_cli_input_name(const tsri_cli_input *input); /* for messages */
uint64_t
tsri_cli_input_size(const tsri_cli_input *input); /* of a file that isn't converted; otherwise 0 */
void tsri_cli_input_close(tsri_cli_input **input);

/* The advice in messages about input that is not UTF-8. */
#define TSRI_CLI_ENCODING_ADVICE                                                                 \
    "give its encoding with --encoding (windows-1252, latin-1, utf-16le, ..); --encoding utf-8 " \
    "reads such bytes as U+FFFD"

/* Reads the whole input into new memory, with a 0 byte after it. Input that is not UTF-8 is refused
 * unless an encoding was given. */
int tsri_cli_read_input(tsri_cli_app *app, const char *path, const char *encoding, char **text,
                        size_t *n);
/* The same for a file that is taken as a string: one with a 0 byte in it is refused. */
int tsri_cli_read_text(tsri_cli_app *app, const char *path, const char *encoding, char **text);

/* The size of the text without the line ends after it, and without the last one alone. */
size_t tsri_cli_line_size(const char *text, size_t n);
size_t tsri_cli_without_line_end(const char *text, size_t n);

/* Where a text is also the name of a file: says so, because what is in the file was perhaps meant. */
void tsri_cli_tell_if_file(const char *text);

#endif
