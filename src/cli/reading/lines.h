/* cli/reading/lines.h - texts, one after another, from a file or standard input, in bounded memory:
 * a line each, or a column of a table, or a field of JSON lines.
 *
 * lines    end with \n or \r\n; what follows the last line end is a line where it isn't empty
 * --column CSV with a header, or TSV where the header has a TAB: fields may be quoted with ", a
 *          doubled quote is one, and a quoted field may hold line ends. A row is a text
 * --field  each line is a JSON object whose field is a text
 *
 * Input is converted as cli/reading/input.h says; then bytes are passed on as they are, a NUL too.
 * What is not UTF-8 is told by its number, and passed on (tokenizers read U+FFFD). Of a text of more
 * than TSRI_CLI_MOST_LINE bytes the rest is left out (`cut`). A row or line that has no text (it is not
 * JSON, its row is too short) says why, and counts as an empty one: no text is ever dropped, so
 * what comes out can be put beside what went in. */
#ifndef TESSERA_CLI_READING_LINES_H
#define TESSERA_CLI_READING_LINES_H

#include "cli/base/app.h"

enum { TSRI_CLI_MOST_LINE = 16 << 20 };

typedef struct tsri_cli_lines tsri_cli_lines;

typedef struct tsri_cli_source {
    const char *path; /* NULL or "-": standard input */
    const char *column, *field, *encoding;
    bool numbers;               /* a field may be a whole number: its digits are the text */
    const tsri_cli_list *texts; /* not empty: the texts; "-" alone is standard input */
} tsri_cli_source;

typedef struct tsri_cli_line {
    const char *text; /* until the next call; NULL past the last */
    size_t size;
    uint64_t number;   /* of lines, or of rows below the header; from 1 */
    const char *wrong; /* why it has no text, or NULL */
    bool cut, not_utf8;
} tsri_cli_line;

const tsri_cli_option *
tsri_cli_lines_options(tsri_cli_source *source); /* --column --field --encoding */

/* Each returns an exit code, after saying what went wrong. */
int tsri_cli_lines_open(tsri_cli_app *app, const tsri_cli_source *source, tsri_cli_lines **out);
int tsri_cli_lines_next(tsri_cli_lines *lines, tsri_cli_line *out);
/* After the last: says how many were not UTF-8, where no encoding was given; CLI_MISS then. */
int tsri_cli_lines_end(const tsri_cli_lines *lines);
void tsri_cli_lines_close(tsri_cli_lines **lines);

/* How a sentence names one: "row" or "line". */
const char *tsri_cli_lines_unit(const tsri_cli_lines *lines);
/* Bytes taken so far, and in all: 0 where that is not known. */
uint64_t tsri_cli_lines_taken(const tsri_cli_lines *lines);
uint64_t tsri_cli_lines_total(const tsri_cli_lines *lines);
/* The share of all that is done where `part` of what lies between two counts of taken bytes is; -1
 * where it is not known, or there are no lines. */
double tsri_cli_lines_share(const tsri_cli_lines *lines, uint64_t before, uint64_t after,
                            double part);
/* True where the next text is not there yet and would be waited for. */
bool tsri_cli_lines_would_wait(tsri_cli_lines *lines);

/* ---- some thousand texts at once ---- */

typedef struct tsri_cli_window {
    tsr_string *texts; /* [n] */
    bool *wrong;       /* [n] has no text */
    size_t n;
    uint64_t first;        /* number of the first */
    uint64_t n_wrong, cut; /* so far, over all windows */
    char *bytes;
    size_t used, room, texts_room;
    size_t most;     /* texts of the next */
    uint64_t filled; /* when, in nanoseconds */
} tsri_cli_window;

/* The next texts: as many as half a second or so is spent on, by the time that those before took,
 * and TSRI_CLI_WINDOW at most; fewer where they are long or not there yet; n is 0 past the last.
 * What was printed is flushed first. Says on stderr which have no text, up to a few. */
enum { TSRI_CLI_WINDOW = 4096 };
int tsri_cli_window_fill(tsri_cli_app *app, tsri_cli_lines *lines, tsri_cli_window *window);
void tsri_cli_window_clear(tsri_cli_window *window);
/* At the end: how many were cut or had no text; CLI_MISS where one had none. */
int tsri_cli_window_end(tsri_cli_app *app, const tsri_cli_lines *lines,
                        const tsri_cli_window *window);

/* A text on a line of its own: its line ends become blanks. */
bool tsri_cli_write_line(tsri_cli_app *app, const char *text, size_t n);

#endif
