/* cli/reading/input.c - reads the bytes of a file or of standard input, and converts them to
 * UTF-8. */
#include "cli/reading/input.h"
#include "base/system/files.h"
#include "base/system/system.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bytes of UTF-8 that one byte of another encoding becomes at most, with room to spare. */
enum { EXPANSION = 8 };

struct tsri_cli_input {
    tsri_cli_app *app;
    int fd;
    tsr_string held; /* data not NULL: what is left of a text in memory; fd is -1 then */
    const char *name, *encoding; /* encoding: as it was given; NULL: by its byte-order mark */
    const char *known;           /* the same by the name that iconv and the table of marks have */
    uint64_t size, line;         /* line: the line of the converted text, from 1 */
    bool begun, told;
    tsri_system_converter *converter; /* NULL: bytes are passed on */
    size_t unit;                      /* how many bytes are skipped where they are wrong */
    char raw[16]; /* read but not yet passed on: the bytes of a mark, or part of a character */
    size_t n_raw;
};

const tsri_cli_option *tsri_cli_encoding_option(const char **encoding) {
    static tsri_cli_option rows[2];
    const tsri_cli_option all[] = {{"encoding", 0, CLI_TEXT, encoding, "NAME",
                                    "encoding of the input: utf-8, latin-1, windows-1252, "
                                    "utf-16le, .. (default: by its byte-order mark, else UTF-8)",
                                    0, 0, NULL},
                                   {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

/* ---- opening ---- */

static int set_converter(tsri_cli_input *in, const char *encoding) {
    static const struct {
        const char *given, *known; /* for encodings that iconv knows by another name */
    } names[] = {{"latin-1", "ISO-8859-1"}, {"latin1", "ISO-8859-1"}, {"latin-9", "ISO-8859-15"},
                 {"ansi", "WINDOWS-1252"},  {"utf16le", "UTF-16LE"},  {"utf16be", "UTF-16BE"},
                 {"utf32le", "UTF-32LE"},   {"utf32be", "UTF-32BE"},  {"utf8", "UTF-8"}};
    const char *known = encoding;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(encoding, names[i].given))
            known = names[i].known;
    in->encoding = encoding;
    in->known = known;
    if (!strcasecmp(known, "utf-8"))
        return CLI_OK;
    in->converter = tsri_system_converter_open(known);
    in->unit = !strncasecmp(known, "UTF-16", 6) || !strncasecmp(known, "UCS-2", 5)   ? 2
               : !strncasecmp(known, "UTF-32", 6) || !strncasecmp(known, "UCS-4", 5) ? 4
                                                                                     : 1;
    in->size = 0;
    return in->converter
               ? CLI_OK
               : tsri_cli_fail(
                     CLI_USAGE,
                     "--encoding %s: the C library does not know this encoding; common ones are "
                     "utf-8, latin-1, windows-1252, utf-16le and utf-16be, and iconv -l lists all",
                     encoding);
}

static int open_path(tsri_cli_input *in, const char *path) {
    struct stat facts;
    const bool named = path && strcmp(path, "-") != 0;
    if (!named && in->app->input_taken)
        return tsri_cli_fail(CLI_USAGE, "standard input can be read once, but was given twice");
    in->app->input_taken |= !named;
    in->name = named ? path : "standard input";
    in->fd = named ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (in->fd < 0 || fstat(in->fd, &facts) != 0)
        return tsri_cli_fail(CLI_FILE, "%s: %s", in->name, strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return tsri_cli_fail(CLI_FILE, "%s: cannot be read: it is a folder", in->name);
    in->size = S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size : 0;
    if (!named && tsri_cli_is_terminal(STDIN_FILENO))
        tsri_cli_note(in->app, "reading from the terminal; end with Ctrl-D");
    return CLI_OK;
}

int tsri_cli_input_open(tsri_cli_app *app, const char *path, const char *encoding,
                        tsri_cli_input **out) {
    tsri_cli_input *in = calloc(1, sizeof *in);
    *out = NULL;
    if (!in)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    *in = (tsri_cli_input){.app = app, .fd = -1, .line = 1};
    int code = open_path(in, path);
    if (code == CLI_OK && encoding)
        code = set_converter(in, encoding);
    if (code != CLI_OK)
        tsri_cli_input_close(&in);
    *out = in;
    return code;
}

int tsri_cli_input_open_text(tsri_cli_app *app, const char *name, tsr_string text,
                             tsri_cli_input **out) {
    tsri_cli_input *in = *out = calloc(1, sizeof *in);
    if (!in)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    *in = (tsri_cli_input){.app = app,
                           .fd = -1,
                           .held = text,
                           .name = name,
                           .size = text.size,
                           .line = 1,
                           .begun = true};
    return CLI_OK;
}

void tsri_cli_input_close(tsri_cli_input **input) {
    tsri_cli_input *in = *input;
    if (!in)
        return;
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    tsri_system_converter_close(in->converter);
    free(in);
    *input = NULL;
}

const char *tsri_cli_input_name(const tsri_cli_input *in) {
    return in->name;
}

uint64_t tsri_cli_input_size(const tsri_cli_input *in) {
    return in->size;
}

bool tsri_cli_input_would_wait(const tsri_cli_input *in) {
    return !in->held.data && tsri_system_would_wait(in->fd);
}

/* ---- reading ---- */

static int read_held(tsri_cli_input *in, char *to, size_t room, size_t *n) {
    *n = in->held.size < room ? in->held.size : room;
    memcpy(to, in->held.data, *n);
    in->held.data += *n;
    in->held.size -= *n;
    return CLI_OK;
}

static int read_some(tsri_cli_input *in, char *to, size_t room, size_t *n) {
    if (in->held.data)
        return read_held(in, to, room, n);
    for (;;) {
        const ssize_t got = read(in->fd, to, room);
        *n = got > 0 ? (size_t)got : 0;
        if (got >= 0)
            return CLI_OK;
        if (tsri_cli_signal())
            return 128 + tsri_cli_signal();
        if (errno != EINTR)
            return tsri_cli_fail(CLI_FILE, "%s: cannot be read: %s", in->name, strerror(errno));
    }
}

static const struct {
    const char *bytes, *encoding;
    size_t n;
} marks[] = {{"\xff\xfe\0\0", "UTF-32LE", 4},
             {"\0\0\xfe\xff", "UTF-32BE", 4},
             {"\xff\xfe", "UTF-16LE", 2},
             {"\xfe\xff", "UTF-16BE", 2},
             {"\xef\xbb\xbf", "UTF-8", 3}};
enum { N_MARKS = sizeof marks / sizeof *marks };

/* Reads until it is clear which byte-order mark the input begins with, if any. */
static int take_mark(tsri_cli_input *in) {
    size_t got = 1;
    int code = CLI_OK;
    for (bool may = true; may && got;) {
        code = read_some(in, in->raw + in->n_raw, 4 - in->n_raw, &got);
        in->n_raw += got;
        may = false;
        for (size_t i = 0; i < N_MARKS; i++)
            may |= in->n_raw < marks[i].n && !memcmp(in->raw, marks[i].bytes, in->n_raw);
        if (code != CLI_OK)
            return code;
    }
    in->begun = true;
    for (size_t i = 0; i < N_MARKS; i++) {
        const bool utf8 = i == N_MARKS - 1;
        if (in->n_raw < marks[i].n || memcmp(in->raw, marks[i].bytes, marks[i].n) ||
            (in->known && strcasecmp(in->known, marks[i].encoding)))
            continue;
        in->n_raw -= marks[i].n;
        memmove(in->raw, in->raw + marks[i].n, in->n_raw);
        if (utf8 || in->encoding)
            break;
        tsri_cli_note(in->app, "%s: read as %s, because of its byte-order mark", in->name,
                      marks[i].encoding);
        return set_converter(in, marks[i].encoding);
    }
    return CLI_OK;
}

static void tell_wrong(tsri_cli_input *in, unsigned char byte) {
    if (in->told)
        return;
    in->told = true;
    tsri_cli_clear_progress(in->app);
    tsri_cli_note(in->app,
                  "%s: line %" PRIu64
                  ": byte 0x%02x is not %s; it is read as U+FFFD, and so are all other wrong bytes",
                  in->name, in->line, byte, in->encoding);
}

/* Converts all of `from`, except for part of a character at its end, which is kept for the next
 * call. */
static size_t convert(tsri_cli_input *in, char *from, size_t n, bool last, char *to, size_t room) {
    char *out = to;
    size_t left = room;
    while (n) {
        char *const begin = out;
        const int failed = tsri_system_convert(in->converter, &from, &n, &out, &left);
        for (const char *c = begin; c < out; c++)
            in->line += *c == '\n';
        if (!failed)
            break;
        if (errno == EINVAL && !last && n < sizeof in->raw) {
            memcpy(in->raw, from, n);
            in->n_raw = n;
            break;
        }
        tell_wrong(in, (unsigned char)*from);
        memcpy(out, "\xef\xbf\xbd", 3);
        out += 3;
        left -= 3;
        const size_t passed = n < in->unit ? n : in->unit;
        from += passed;
        n -= passed;
    }
    return room - left;
}

int tsri_cli_input_read(tsri_cli_input *in, char *to, size_t room, size_t *n) {
    int code = in->begun ? CLI_OK : take_mark(in);
    *n = 0;
    if (code == CLI_OK && !in->converter) {
        if (!in->n_raw)
            return read_some(in, to, room, n);
        memcpy(to, in->raw, in->n_raw);
        *n = in->n_raw;
        in->n_raw = 0;
        return CLI_OK;
    }
    char *const from = to + room - room / EXPANSION; /* beyond what the result can need */
    for (bool last = false; code == CLI_OK && *n == 0 && !last;) {
        const size_t held = in->n_raw;
        size_t got = 0;
        memcpy(from, in->raw, held);
        in->n_raw = 0;
        code = read_some(in, from + held, room / EXPANSION - held, &got);
        last = got == 0;
        if (code == CLI_OK)
            *n = convert(in, from, held + got, last, to, room - room / EXPANSION);
    }
    return code;
}

/* ---- all at once ---- */

static int check_text(const tsri_cli_input *in, const char *text, size_t n) {
    const size_t until = tsri_cli_utf8_until(text, n);
    uint64_t line = 1;
    if (until == n || in->encoding)
        return CLI_OK;
    for (size_t i = 0; i < until; i++)
        line += text[i] == '\n';
    return tsri_cli_fail(CLI_FILE, "%s: line %" PRIu64 " is not UTF-8 (byte 0x%02x): %s", in->name,
                         line, (unsigned char)text[until], TSRI_CLI_ENCODING_ADVICE);
}

int tsri_cli_read_input(tsri_cli_app *app, const char *path, const char *encoding, char **text,
                        size_t *n) {
    enum { CHUNK = 1 << 16 };
    tsri_cli_input *in;
    size_t room = 0, got = 1;
    *text = NULL;
    *n = 0;
    int code = tsri_cli_input_open(app, path, encoding, &in);
    while (code == CLI_OK && got) {
        if (room - *n < CHUNK + 1) {
            room = 2 * room + CHUNK + 1;
            char *grown = realloc(*text, room);
            if (!grown) {
                code = tsri_cli_fail(CLI_OTHER, "out of memory");
                break;
            }
            *text = grown;
        }
        code = tsri_cli_input_read(in, *text + *n, CHUNK, &got);
        *n += got;
    }
    if (code == CLI_OK) {
        (*text)[*n] = 0;
        code = check_text(in, *text, *n);
    }
    if (code != CLI_OK) {
        free(*text);
        *text = NULL;
    }
    tsri_cli_input_close(&in);
    return code;
}

int tsri_cli_read_text(tsri_cli_app *app, const char *path, const char *encoding, char **text) {
    size_t n;
    const int code = tsri_cli_read_input(app, path, encoding, text, &n);
    if (code != CLI_OK || strlen(*text) == n)
        return code;
    free(*text);
    *text = NULL;
    return tsri_cli_fail(CLI_FILE, "%s: has a 0 byte, so it is not a text", path);
}

size_t tsri_cli_line_size(const char *text, size_t n) {
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    return n;
}

size_t tsri_cli_without_line_end(const char *text, size_t n) {
    if (!n || text[n - 1] != '\n')
        return n;
    return n - (n > 1 && text[n - 2] == '\r' ? 2 : 1);
}

void tsri_cli_tell_if_file(const char *text) {
    struct stat info;
    if (stat(text, &info) == 0 && S_ISREG(info.st_mode))
        tsri_cli_fail(CLI_OK,
                      "\"%s\" is taken as a text, but is also the name of a file: -f %s reads it",
                      text, text);
}
