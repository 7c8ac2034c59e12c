/* cli/reading/input.h - the bytes of a file or of standard input, as UTF-8.
 *
 * Without --encoding the bytes are passed on as they are, but for a byte-order mark: UTF-8's is
 * left out, and one of UTF-16 or UTF-32 says that the input is that, and it is converted. With
 * --encoding NAME all is converted by iconv (utf-8: passed on as it is). What is wrong in another
 * encoding becomes U+FFFD, and is told. */
#ifndef TESSERA_CLI_READING_INPUT_H
#define TESSERA_CLI_READING_INPUT_H

#include "cli/base/app.h"
#include "cli/base/utf8.h"

typedef struct tsri_cli_input tsri_cli_input;

/* --encoding */
const tsri_cli_option *tsri_cli_encoding_option(const char **encoding);

/* path NULL or "-": standard input, which one reader alone can have. Nothing is read yet. Each
 * returns an exit code, after saying what went wrong. */
int tsri_cli_input_open(tsri_cli_app *app, const char *path, const char *encoding,
                        tsri_cli_input **out);
/* At most `room` bytes (1024 or more), some at least; *n is 0 at the end. */
int tsri_cli_input_read(tsri_cli_input *input, char *to, size_t room, size_t *n);
/* True where a read would wait. */
bool tsri_cli_input_would_wait(const tsri_cli_input *input);
const char *tsri_cli_input_name(const tsri_cli_input *input); /* in sentences */
uint64_t
tsri_cli_input_size(const tsri_cli_input *input); /* of a file that isn't converted, or 0 */
void tsri_cli_input_close(tsri_cli_input **input);

/* What to do about input that is not UTF-8. */
#define TSRI_CLI_ENCODING_ADVICE                                                                  \
    "say what it is by --encoding (windows-1252, latin-1, utf-16le, ..); --encoding utf-8 reads " \
    "such bytes as U+FFFD"

/* The whole input in new memory, with a 0 byte behind it. What is not UTF-8 is refused unless an
 * encoding was given. */
int tsri_cli_read_input(tsri_cli_app *app, const char *path, const char *encoding, char **text,
                        size_t *n);

/* Without the line ends behind it. */
size_t tsri_cli_line_size(const char *text, size_t n);

#endif
