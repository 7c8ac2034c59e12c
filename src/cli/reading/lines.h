/* cli/reading/lines.h - reads texts one after another, in bounded memory, from a file or standard
 * input: its lines, a column of a table, or a field of JSON lines.
 *
 * lines    end with \n or \r\n; what follows the last line end is a line where it isn't empty
 * --column CSV with a header, or TSV where the header has a TAB: fields may be quoted with ", a
 *          doubled quote is one, and a quoted field may hold line ends. A row is a text
 * --field  each line is a JSON object whose field is a text
 *
 * Input is converted as cli/reading/input.h says; after that, bytes are passed on unchanged, NUL
 * bytes too. A text that is not UTF-8 is reported by its number and passed on (tokenizers read
 * U+FFFD). A text of more than TSRI_CLI_MOST_LINE bytes is cut there (`cut`). For a line or row
 * that has no text (the line is not JSON, the row is too short) `wrong` says why, and it counts as
 * an empty text: no text is ever dropped, so each result belongs to the input with the same number.
 */
#ifndef TESSERA_CLI_READING_LINES_H
#define TESSERA_CLI_READING_LINES_H

#include "cli/base/app.h"

enum { TSRI_CLI_MOST_LINE = 16 << 20 };

typedef struct tsri_cli_lines tsri_cli_lines;

typedef struct tsri_cli_source {
    const char *path; /* NULL or "-": standard input */
    const char *column, *field, *encoding;
    bool numbers; /* a field may be a whole number; its digits are the text then */
    /* What the file at the path has, where it was read already (tsri_cli_read_input); NULL: it is opened */
    const tsr_string *held;
    const tsri_cli_list *texts; /* if not empty: the texts; "-" alone is standard input */
} tsri_cli_source;

typedef struct tsri_cli_line {
    const char *text; /* valid until the next call; NULL after the last text */
    size_t size;
    uint64_t number;   /* of the line, or of the row below the header; from 1 */
    const char *wrong; /* why it has no text, or NULL */
    bool cut, not_utf8;
} tsri_cli_line;

const tsri_cli_option *
tsri_cli_lines_options(tsri_cli_source *source); /* --column --field --encoding */

/* Each returns an exit code, and prints what went wrong. */
int tsri_cli_lines_open(tsri_cli_app *app, const tsri_cli_source *source, tsri_cli_lines **out);
int tsri_cli_lines_next(tsri_cli_lines *lines, tsri_cli_line *out);
/* After the last text: where no encoding was given and some were not UTF-8, prints how many, and
 * returns CLI_MISS. */
int tsri_cli_lines_end(const tsri_cli_lines *lines);
void tsri_cli_lines_close(tsri_cli_lines **lines);

/* What messages call one text: "row" or "line". */
const char *tsri_cli_lines_unit(const tsri_cli_lines *lines);
const char *tsri_cli_source_unit(const tsri_cli_source *source); /* the same */
/* Bytes taken so far, and in all (0 where that is not known). */
uint64_t tsri_cli_lines_taken(const tsri_cli_lines *lines);
uint64_t tsri_cli_lines_total(const tsri_cli_lines *lines);
/* True where the next text has not arrived yet, so that reading it would wait. */
bool tsri_cli_lines_would_wait(tsri_cli_lines *lines);

/* ---- windows of up to some thousand texts ---- */

typedef struct tsri_cli_window {
    tsr_string *texts; /* [n] */
    bool *wrong;       /* [n] the line has no text */
    size_t n;
    uint64_t first;        /* number of the first text */
    uint64_t n_wrong, cut; /* so far, over all windows */
    tsri_cli_bytes bytes;  /* of all texts, one behind the other */
    size_t texts_room;
} tsri_cli_window;

/* How many texts a window should have so that it takes about half a second, and results appear
 * steadily: the number grows while a window takes less than a quarter of a second, and shrinks when
 * one takes more than a second. */
typedef struct tsri_cli_pace {
    size_t most;
    uint64_t begun, took; /* nanoseconds */
    unsigned slow;        /* how many times as long a window takes; 0: 1 */
} tsri_cli_pace;

enum { TSRI_CLI_WINDOW = 4096 };
/* The most texts of the next window; `done`: how many the one before had. At most
 * TSRI_CLI_WINDOW. */
size_t tsri_cli_pace_next(tsri_cli_pace *pace, size_t done);
void tsri_cli_pace_begin(tsri_cli_pace *pace); /* work on the window begins */
void tsri_cli_pace_end(tsri_cli_pace *pace);   /* and ends; what comes then is not counted */

/* Reads the next texts: at most `most`; fewer where they have more than most_bytes bytes or have
 * not arrived yet. n is 0 after the last. Output is flushed first. Reports on stderr the first few
 * lines that have no text. */
int tsri_cli_window_fill(tsri_cli_app *app, tsri_cli_lines *lines, size_t most, size_t most_bytes,
                         tsri_cli_window *window);
/* The same by hand: empties it, adds a text, and ends it. */
void tsri_cli_window_empty(tsri_cli_window *window);
int tsri_cli_window_add(tsri_cli_window *window, const tsri_cli_line *line);
void tsri_cli_window_end_of_texts(tsri_cli_window *window);
void tsri_cli_window_clear(tsri_cli_window *window);
/* The exit code of a call on the window's texts; prints what went wrong, of a text after the lines that the window has,
 * because the call counts texts from the window's first. `unit` is "line", "row" or "text". */
int tsri_cli_window_status(const tsri_cli_window *window, const char *unit, tsr_status status);
/* At the end: prints how many were cut or had no text. Returns CLI_MISS where any had none. */
int tsri_cli_window_end(tsri_cli_app *app, const tsri_cli_lines *lines,
                        const tsri_cli_window *window);

/* Writes a text as one line: line ends inside it become spaces. */
bool tsri_cli_write_line(tsri_cli_app *app, const char *text, size_t n);

#endif
