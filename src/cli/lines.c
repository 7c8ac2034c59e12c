#include "cli/lines.h"

#include "cli/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, MOST_COLUMNS = 4096 };

struct tsri_cli_lines {
    int fd;
    const char *name; /* in sentences */
    uint64_t total, taken, number;
    char *chunk; /* [CHUNK]; bytes at .. end are not taken yet */
    size_t at, end;
    bool over; /* the input has ended */
    char *text;
    size_t size, room;
    bool cut;
    const char *column, *field;
    bool numbers;
    char digits[24];
    const tsri_cli_list *texts;
    tsri_cli_csv csv;
    size_t index; /* of the column */
    json_t *parsed;
    char wrong[160];
};

const tsri_cli_option *tsri_cli_lines_options(tsri_cli_source *source) {
    static tsri_cli_option rows[3];
    const tsri_cli_option all[] = {{"column", 0, CLI_TEXT, &source->column, "NAME",
                                    "the texts are this column of a CSV or TSV file with a header",
                                    0, 0, NULL},
                                   {"field", 0, CLI_TEXT, &source->field, "NAME",
                                    "the texts are this field of a file of JSON lines", 0, 0, NULL},
                                   {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

/* ---- bytes ---- */

/* CLI_OK with at < end, or over. */
static int more(tsri_cli_lines *l) {
    while (l->at == l->end && !l->over) {
        const ssize_t got = read(l->fd, l->chunk, CHUNK);
        if (got < 0 && tsri_cli_signal())
            return 128 + tsri_cli_signal();
        if (got < 0 && errno != EINTR)
            return tsri_cli_fail(CLI_FILE, "%s: cannot be read: %s", l->name, strerror(errno));
        l->at = 0;
        l->end = got > 0 ? (size_t)got : 0;
        l->over = got == 0;
    }
    return CLI_OK;
}

static int keep(tsri_cli_lines *l, const char *bytes, size_t n) {
    const size_t left = TSRI_CLI_MOST_LINE - l->size;
    l->cut |= n > left;
    n = n > left ? left : n;
    if (l->size + n + 1 > l->room) {
        size_t room = l->room ? l->room * 2 : 4096;
        while (room < l->size + n + 1)
            room *= 2;
        char *grown = realloc(l->text, room);
        if (!grown)
            return tsri_cli_fail(CLI_OTHER, "out of memory");
        l->text = grown;
        l->room = room;
    }
    memcpy(l->text + l->size, bytes, n);
    l->size += n;
    l->text[l->size] = 0;
    return CLI_OK;
}

/* The bytes up to the next \n; *got is false past the last line. */
static int read_line(tsri_cli_lines *l, bool *got) {
    int code = CLI_OK;
    bool ended = false;
    *got = false;
    while (!ended && (code = more(l)) == CLI_OK && !l->over) {
        const char *from = l->chunk + l->at, *end = memchr(from, '\n', l->end - l->at);
        const size_t n = end ? (size_t)(end - from) : l->end - l->at;
        if ((code = keep(l, from, n)) != CLI_OK)
            return code;
        ended = end != NULL;
        l->at += n + ended;
        l->taken += n + ended;
        *got = true;
    }
    if (*got && !l->cut && l->size && l->text[l->size - 1] == '\r')
        l->size--;
    return code;
}

/* ---- tables ---- */

/* A row; of its fields the one that is wanted is kept. *fields is how many there are; 0 past the
 * last row. */
static int read_row(tsri_cli_lines *l, size_t wanted, size_t *fields) {
    int code = CLI_OK;
    bool begun = false, ended = false;
    size_t field = 0;
    *fields = 0;
    while (!ended && (code = more(l)) == CLI_OK && !l->over) {
        const char c = l->chunk[l->at++];
        l->taken++;
        begun = true;
        const tsri_cli_csv_event event = tsri_cli_csv_feed(&l->csv, c);
        if (event == CSV_BYTE && field == wanted && (code = keep(l, &c, 1)) != CLI_OK)
            return code;
        field += event == CSV_FIELD;
        ended = event == CSV_ROW;
    }
    if (code != CLI_OK || !begun)
        return code;
    if (!ended && tsri_cli_csv_is_open(&l->csv))
        return tsri_cli_fail(CLI_FILE,
                             "%s: row %" PRIu64 ": the quote that begins a field is never closed",
                             l->name, l->number + 1);
    if (field == wanted && !l->cut && tsri_cli_csv_ends_in_return(&l->csv) && l->size)
        l->size--;
    tsri_cli_csv_begin_row(&l->csv);
    *fields = field + 1;
    return CLI_OK;
}

/* Adds the fields of the header to `list` for a sentence; the number of the wanted one, or of all.
 */
static int find_column(tsri_cli_lines *l, size_t *n, size_t *found, size_t *times, char *list,
                       size_t room) {
    char name[256];
    size_t size = 0, used = 0;
    tsri_cli_csv_begin_row(&l->csv);
    for (size_t i = 0; i <= l->size; i++) {
        const char c = i < l->size ? l->text[i] : '\n';
        const tsri_cli_csv_event event = tsri_cli_csv_feed(&l->csv, c);
        if (event == CSV_BYTE && size + 1 < sizeof name)
            name[size++] = c;
        if (event != CSV_FIELD && event != CSV_ROW)
            continue;
        name[size] = 0;
        if (!strcmp(name, l->column)) {
            *found = *n;
            ++*times;
        }
        const int put = snprintf(list + used, room - used, "%s%s", *n ? ", " : "", name);
        used = put < 0 || (size_t)put >= room - used ? room - 1 : used + (size_t)put;
        size = 0;
        ++*n;
    }
    tsri_cli_csv_begin_row(&l->csv);
    return CLI_OK;
}

/* The header is taken whole first, because it tells what stands between fields. */
static int read_header(tsri_cli_lines *l) {
    bool quoted = false, begun = false;
    size_t n = 0, found = 0, times = 0;
    char list[512] = "";
    int code = CLI_OK;
    while ((code = more(l)) == CLI_OK && !l->over) {
        const char c = l->chunk[l->at++];
        l->taken++;
        begun = true;
        quoted ^= c == '"';
        l->csv.between = c == '\t' && !quoted ? '\t' : l->csv.between;
        if (c == '\n' && !quoted)
            break;
        if ((code = keep(l, &c, 1)) != CLI_OK)
            return code;
    }
    if (code != CLI_OK || !begun)
        return code != CLI_OK
                   ? code
                   : tsri_cli_fail(CLI_FILE, "%s is empty; a header with the column %s is wanted",
                                   l->name, l->column);
    if (l->size && l->text[l->size - 1] == '\r')
        l->size--;
    find_column(l, &n, &found, &times, list, sizeof list);
    if (times != 1)
        return tsri_cli_fail(CLI_FILE, "%s has %s column %s; its header names: %s", l->name,
                             times ? "more than one" : "no", l->column, list);
    l->index = found;
    return CLI_OK;
}

/* ---- texts ---- */

static void no_text(tsri_cli_lines *l, tsri_cli_line *out) {
    out->wrong = l->wrong;
    out->text = "";
    out->size = 0;
    out->cut = false;
}

static int next_row(tsri_cli_lines *l, tsri_cli_line *out) {
    size_t fields;
    const int code = read_row(l, l->index, &fields);
    if (code != CLI_OK || fields == 0)
        return code;
    *out = (tsri_cli_line){.text = l->text, .size = l->size, .cut = l->cut, .number = ++l->number};
    if (fields <= l->index) {
        snprintf(l->wrong, sizeof l->wrong, "it has %zu field%s; %.80s is field %zu", fields,
                 fields == 1 ? "" : "s", l->column, l->index + 1);
        no_text(l, out);
    }
    return CLI_OK;
}

static void parse_line(tsri_cli_lines *l, tsri_cli_line *out) {
    json_error_t error;
    json_decref(l->parsed);
    l->parsed = json_loadb(l->text, l->size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    const json_t *text = json_object_get(l->parsed, l->field);
    if (json_is_string(text)) {
        out->text = json_string_value(text);
        out->size = json_string_length(text);
        return;
    }
    if (l->numbers && json_is_integer(text)) {
        out->size = (size_t)snprintf(l->digits, sizeof l->digits, "%" JSON_INTEGER_FORMAT,
                                     json_integer_value(text));
        out->text = l->digits;
        return;
    }
    if (!l->parsed)
        snprintf(l->wrong, sizeof l->wrong, "it is no JSON: %.100s",
                 l->cut ? "it is too long" : error.text);
    else if (!json_is_object(l->parsed))
        snprintf(l->wrong, sizeof l->wrong, "its JSON is no object");
    else
        snprintf(l->wrong, sizeof l->wrong, text ? "\"%.80s\" is no text" : "it has no \"%.80s\"",
                 l->field);
    for (char *c = l->wrong; *c; c++) /* a sentence holds nothing that steers a terminal */
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    no_text(l, out);
}

int tsri_cli_lines_next(tsri_cli_lines *l, tsri_cli_line *out) {
    bool got;
    *out = (tsri_cli_line){0};
    if (l->texts) {
        if (l->number < l->texts->n)
            out->text = l->texts->items[l->number];
        out->size = out->text ? strlen(out->text) : 0;
        out->number = ++l->number;
        return CLI_OK;
    }
    l->size = 0;
    l->cut = false;
    int code = keep(l, "", 0);
    if (code != CLI_OK)
        return code;
    if (l->column)
        return next_row(l, out);
    code = read_line(l, &got);
    if (code != CLI_OK || !got)
        return code;
    *out = (tsri_cli_line){.text = l->text, .size = l->size, .cut = l->cut, .number = ++l->number};
    if (l->field)
        parse_line(l, out);
    return CLI_OK;
}

static int open_input(tsri_cli_lines *l, const char *path) {
    struct stat facts;
    const bool named = path && strcmp(path, "-") != 0;
    l->fd = named ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    l->name = named ? path : "standard input";
    if (l->fd < 0)
        return tsri_cli_fail(CLI_FILE, "%s: %s", path, strerror(errno));
    if (fstat(l->fd, &facts) == 0 && S_ISREG(facts.st_mode))
        l->total = (uint64_t)facts.st_size;
    l->chunk = malloc(CHUNK);
    if (!l->chunk)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    const int code = more(l);
    if (code == CLI_OK && l->end >= 3 && !memcmp(l->chunk, "\xef\xbb\xbf", 3))
        l->at = l->taken = 3;
    return code;
}

int tsri_cli_lines_open(const tsri_cli_source *source, tsri_cli_lines **out) {
    *out = NULL;
    if (source->column && source->field)
        return tsri_cli_fail(CLI_USAGE, "--column is for tables and --field for JSON lines: only "
                                        "one of them can be given");
    tsri_cli_lines *l = calloc(1, sizeof *l);
    if (!l)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    l->column = source->column;
    l->field = source->field;
    l->numbers = source->numbers;
    l->csv.between = ',';
    l->fd = -1;
    if (source->texts && source->texts->n) {
        l->texts = source->texts;
        *out = l;
        return CLI_OK;
    }
    int code = open_input(l, source->path);
    if (code == CLI_OK && l->column)
        code = read_header(l);
    if (code != CLI_OK)
        tsri_cli_lines_close(&l);
    *out = l;
    return code;
}

void tsri_cli_lines_close(tsri_cli_lines **lines) {
    tsri_cli_lines *l = *lines;
    if (!l)
        return;
    if (l->fd > STDIN_FILENO)
        close(l->fd);
    json_decref(l->parsed);
    free(l->chunk);
    free(l->text);
    free(l);
    *lines = NULL;
}

const char *tsri_cli_lines_unit(const tsri_cli_lines *lines) {
    return lines->column ? "row" : "line";
}

uint64_t tsri_cli_lines_taken(const tsri_cli_lines *lines) {
    return lines->taken;
}

uint64_t tsri_cli_lines_total(const tsri_cli_lines *lines) {
    return lines->total;
}

double tsri_cli_lines_share(const tsri_cli_lines *lines, uint64_t before, uint64_t after,
                            double part) {
    if (!lines || !lines->total)
        return -1;
    return ((double)before + part * (double)(after - before)) / (double)lines->total;
}

bool tsri_cli_lines_would_wait(const tsri_cli_lines *lines) {
    struct pollfd input = {.fd = lines->fd, .events = POLLIN};
    return lines->fd >= 0 && lines->at == lines->end && !lines->over && poll(&input, 1, 0) == 0;
}
