/* cli/reading/lines.c - reads texts one by one: lines, a column of a table, or a field of JSON
 * lines. */
#include "cli/reading/lines.h"

#include "base/csv.h"
#include "cli/base/json.h"
#include "cli/reading/input.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16, TOLD = 3 };

struct tsri_cli_lines {
    tsri_cli_app *app;
    tsri_cli_input *input;
    const char *name; /* for messages */
    uint64_t taken, number, not_utf8;
    char *chunk; /* [CHUNK]; the bytes from `at` to `end` are not taken yet */
    size_t at, end;
    bool over;  /* the input has ended */
    int failed; /* exit code of a read that failed and was reported */
    char *text;
    size_t size, room;
    bool cut;
    const char *column, *field, *encoding;
    bool numbers;
    char digits[24];
    const tsri_cli_list *texts;
    tsri_csv csv;
    size_t index; /* of the column */
    json_t *parsed;
    char wrong[160];
};

const tsri_cli_option *tsri_cli_lines_options(tsri_cli_source *source) {
    static tsri_cli_option rows[4];
    const tsri_cli_option all[] = {
        {"column", 0, CLI_TEXT, &source->column, "NAME",
         "read the texts from this column of a CSV or TSV file with a header", 0, 0, NULL},
        {"field", 0, CLI_TEXT, &source->field, "NAME",
         "read the texts from this field of a JSON Lines file", 0, 0, NULL},
        *tsri_cli_encoding_option(&source->encoding),
        {0}};
    memcpy(rows, all, sizeof all);
    return rows;
}

/* ---- bytes ---- */

/* Reads more bytes after those that are there. */
static int read_behind(tsri_cli_lines *l) {
    size_t got = 0;
    if (l->failed != CLI_OK)
        return l->failed;
    memmove(l->chunk, l->chunk + l->at, l->end - l->at);
    l->end -= l->at;
    l->at = 0;
    l->failed = tsri_cli_input_read(l->input, l->chunk + l->end, CHUNK, &got);
    l->end += got;
    l->over = l->failed == CLI_OK && got == 0; /* a failure is not the end */
    return l->failed;
}

/* Returns CLI_OK with at < end, or with at == end at the end of the input. */
static int more(tsri_cli_lines *l) {
    int code = CLI_OK;
    while (code == CLI_OK && l->at == l->end && !l->over)
        code = read_behind(l);
    return code;
}

static bool ended(const tsri_cli_lines *l) {
    return l->over && l->at == l->end;
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

/* Reads the bytes up to the next \n; *got is false after the last line. */
static int read_line(tsri_cli_lines *l, bool *got) {
    int code = CLI_OK;
    bool whole = false;
    *got = false;
    while (!whole && (code = more(l)) == CLI_OK && !ended(l)) {
        const char *from = l->chunk + l->at, *end = memchr(from, '\n', l->end - l->at);
        const size_t n = end ? (size_t)(end - from) : l->end - l->at;
        if ((code = keep(l, from, n)) != CLI_OK)
            return code;
        whole = end != NULL;
        l->at += n + whole;
        l->taken += n + whole;
        *got = true;
    }
    if (*got && !l->cut && l->size && l->text[l->size - 1] == '\r')
        l->text[--l->size] = 0;
    return code;
}

/* ---- tables ---- */

/* Reads a row and keeps its field number `wanted`. *fields is the number of fields; 0 after the
 * last row. */
static int read_row(tsri_cli_lines *l, size_t wanted, size_t *fields) {
    int code = CLI_OK;
    bool begun = false, whole = false;
    size_t field = 0;
    *fields = 0;
    while (!whole && (code = more(l)) == CLI_OK && !ended(l)) {
        const char c = l->chunk[l->at++];
        l->taken++;
        begun = true;
        const tsri_csv_event event = tsri_base_csv_feed(&l->csv, c);
        if (event == TSRI_CSV_BYTE && field == wanted && (code = keep(l, &c, 1)) != CLI_OK)
            return code;
        field += event == TSRI_CSV_FIELD;
        whole = event == TSRI_CSV_ROW;
    }
    if (code != CLI_OK || !begun)
        return code;
    if (!whole && tsri_base_csv_is_open(&l->csv))
        return tsri_cli_fail(CLI_FILE,
                             "%s: row %" PRIu64 ": the quote that begins a field is never closed",
                             l->name, l->number + 1);
    if (field == wanted && !l->cut && tsri_base_csv_ends_in_return(&l->csv) && l->size)
        l->size--;
    tsri_base_csv_begin_row(&l->csv);
    *fields = field + 1;
    return CLI_OK;
}

/* Writes the names of the header's fields into `list`, for a message, and finds the column that is
 * wanted.
 */
static int find_column(tsri_cli_lines *l, size_t *n, size_t *found, size_t *times, char *list,
                       size_t room) {
    char name[256];
    size_t size = 0, used = 0;
    tsri_base_csv_begin_row(&l->csv);
    for (size_t i = 0; i <= l->size; i++) {
        const char c = i < l->size ? l->text[i] : '\n';
        const tsri_csv_event event = tsri_base_csv_feed(&l->csv, c);
        if (event == TSRI_CSV_BYTE && size + 1 < sizeof name)
            name[size++] = c;
        if (event != TSRI_CSV_FIELD && event != TSRI_CSV_ROW)
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
    tsri_base_csv_begin_row(&l->csv);
    return CLI_OK;
}

/* The header is read whole first, because it shows what separates the fields. */
static int read_header(tsri_cli_lines *l) {
    bool quoted = false, begun = false;
    size_t n = 0, found = 0, times = 0;
    char list[512] = "";
    int code = CLI_OK;
    while ((code = more(l)) == CLI_OK && !ended(l)) {
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
                   : tsri_cli_fail(CLI_FILE, "%s is empty; it needs a header with the column %s",
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

static _Thread_local bool refused; /* the JSON library asked for memory and got none */

static void *allocate(size_t n) {
    void *memory = malloc(n);
    refused |= !memory;
    return memory;
}

/* jansson silently leaves out characters when it gets no memory. */
static int parse_json(tsri_cli_lines *l, json_error_t *error) {
    json_set_alloc_funcs(allocate, free);
    refused = false;
    json_decref(l->parsed);
    l->parsed =
        tsri_cli_json_load(l->text, l->size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, error);
    return refused ? tsri_cli_fail(CLI_OTHER, "out of memory") : CLI_OK;
}

static int parse_line(tsri_cli_lines *l, tsri_cli_line *out) {
    json_error_t error;
    const int code = parse_json(l, &error);
    if (code != CLI_OK)
        return code;
    const json_t *text = json_object_get(l->parsed, l->field);
    if (json_is_string(text)) {
        out->text = json_string_value(text);
        out->size = json_string_length(text);
        return CLI_OK;
    }
    if (l->numbers && json_is_integer(text)) {
        out->size = (size_t)snprintf(l->digits, sizeof l->digits, "%" PRId64,
                                     (int64_t)json_integer_value(text));
        out->text = l->digits;
        return CLI_OK;
    }
    if (!l->parsed && !l->cut && tsri_cli_utf8_until(l->text, l->size) < l->size)
        snprintf(l->wrong, sizeof l->wrong, "it is not UTF-8; give its encoding with --encoding");
    else if (!l->parsed)
        snprintf(l->wrong, sizeof l->wrong, "it is not JSON: %.100s",
                 l->cut ? "it is too long" : error.text);
    else if (!json_is_object(l->parsed))
        snprintf(l->wrong, sizeof l->wrong, "it is not a JSON object");
    else
        snprintf(l->wrong, sizeof l->wrong,
                 text ? "\"%.80s\" is not a string" : "it has no \"%.80s\"", l->field);
    for (char *c = l->wrong; *c; c++) /* a message must not control the terminal */
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    no_text(l, out);
    return CLI_OK;
}

static int next_text(tsri_cli_lines *l, tsri_cli_line *out) {
    bool got;
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
    return l->field ? parse_line(l, out) : CLI_OK;
}

/* Reports the first few texts that are not UTF-8, and counts all of them. */
static void check_text(tsri_cli_lines *l, tsri_cli_line *line) {
    const size_t until = tsri_cli_utf8_until(line->text, line->size);
    if (until == line->size || line->cut)
        return;
    line->not_utf8 = true;
    if (l->encoding || ++l->not_utf8 > TOLD)
        return;
    tsri_cli_clear_progress(l->app);
    tsri_cli_fail(CLI_MISS, "%s: %s %" PRIu64 " is not UTF-8 (byte 0x%02x)%s%s", l->name,
                  tsri_cli_lines_unit(l), line->number, (unsigned char)line->text[until],
                  l->not_utf8 == 1 ? ": " : "", l->not_utf8 == 1 ? TSRI_CLI_ENCODING_ADVICE : "");
}

int tsri_cli_lines_next(tsri_cli_lines *l, tsri_cli_line *out) {
    *out = (tsri_cli_line){0};
    const int code = next_text(l, out);
    if (code == CLI_OK && out->text)
        check_text(l, out);
    return code;
}

int tsri_cli_lines_end(const tsri_cli_lines *l) {
    if (!l->not_utf8)
        return CLI_OK;
    return tsri_cli_fail(CLI_MISS,
                         "%s: %" PRIu64 " of %" PRIu64
                         " %ss %s not UTF-8; the wrong bytes were read as U+FFFD or left out",
                         l->name, l->not_utf8, l->number, tsri_cli_lines_unit(l),
                         l->not_utf8 == 1 ? "is" : "are");
}

/* A single text "-" is standard input; among other texts it is refused. */
static int take_texts(tsri_cli_lines *l, const tsri_cli_list *texts) {
    for (size_t i = 0; texts && texts->n > 1 && i < texts->n; i++)
        if (!strcmp(texts->items[i], "-"))
            return tsri_cli_fail(
                CLI_USAGE,
                "-: standard input cannot be used beside other texts; give either - or texts");
    l->texts = texts && texts->n && strcmp(texts->items[0], "-") ? texts : NULL;
    for (size_t i = 0; l->texts && i < texts->n; i++)
        tsri_cli_tell_if_file(texts->items[i]);
    return CLI_OK;
}

static int open_input(tsri_cli_lines *l, const tsri_cli_source *source) {
    int code = source->held
                   ? tsri_cli_input_open_text(l->app, source->path, *source->held, &l->input)
                   : tsri_cli_input_open(l->app, source->path, source->encoding, &l->input);
    if (code != CLI_OK)
        return code;
    l->name = tsri_cli_input_name(l->input);
    l->chunk = malloc(2 * (size_t)CHUNK);
    if (!l->chunk)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    return l->column ? read_header(l) : CLI_OK;
}

int tsri_cli_lines_open(tsri_cli_app *app, const tsri_cli_source *source, tsri_cli_lines **out) {
    *out = NULL;
    if (source->column && source->field)
        return tsri_cli_fail(
            CLI_USAGE, "--column is for tables and --field for JSON lines; give only one of them");
    tsri_cli_lines *l = calloc(1, sizeof *l);
    if (!l)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    l->app = app;
    l->column = source->column;
    l->field = source->field;
    l->encoding = source->encoding;
    l->numbers = source->numbers;
    l->csv.between = ',';
    l->name = "the arguments";
    int code = take_texts(l, source->texts);
    if (code == CLI_OK && !l->texts)
        code = open_input(l, source);
    if (code != CLI_OK)
        tsri_cli_lines_close(&l);
    *out = l;
    return code;
}

void tsri_cli_lines_close(tsri_cli_lines **lines) {
    tsri_cli_lines *l = *lines;
    if (!l)
        return;
    tsri_cli_input_close(&l->input);
    json_decref(l->parsed);
    free(l->chunk);
    free(l->text);
    free(l);
    *lines = NULL;
}

const char *tsri_cli_source_unit(const tsri_cli_source *source) {
    return source->column ? "row" : "line";
}

const char *tsri_cli_lines_unit(const tsri_cli_lines *lines) {
    return lines->column ? "row" : "line";
}

uint64_t tsri_cli_lines_taken(const tsri_cli_lines *lines) {
    return lines->taken;
}

uint64_t tsri_cli_lines_total(const tsri_cli_lines *lines) {
    return lines->input ? tsri_cli_input_size(lines->input) : 0;
}

/* Takes what has arrived of the next line from the input, so that half a line counts as not there
 * yet. */
bool tsri_cli_lines_would_wait(tsri_cli_lines *l) {
    while (!l->texts && !l->over && l->failed == CLI_OK && l->end - l->at < CHUNK &&
           !memchr(l->chunk + l->at, '\n', l->end - l->at)) {
        if (tsri_cli_input_would_wait(l->input))
            return true;
        read_behind(l);
    }
    return false;
}
