/* train/data/records.c - reads the examples of text, JSONL, TSV and CSV files. */
#include "train/data/records_parts.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "text/base/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- plain text ---- */

static tsr_status next_text(tsri_train_records *r, tsri_train_record *out) {
    char *text;
    size_t n;
    if (r->wants == TSRI_WANTS_PIECES) {
        TRY(tsri_text_reader_piece(r->reader, TSRI_TEXT_CUT_WORDS, &text, &n));
        *out = (tsri_train_record){.text = {n ? text : NULL, n}, .piece = true};
    } else {
        TRY(tsri_train_records_line(r, &text, &n));
        *out = (tsri_train_record){.text = {text, n}};
    }
    return TSR_OK;
}

/* ---- JSONL ---- */

/* A string as it is; where a label may be a whole number, its digits. */
static tsr_status field_of(tsri_train_records *r, const char *name, bool label,
                           tsri_train_span *out) {
    const json_t *value = json_object_get(r->json, name);
    if (json_is_string(value)) {
        *out = (tsri_train_span){json_string_value(value), json_string_length(value)};
    } else if (label && json_is_integer(value)) {
        const int n =
            snprintf(r->number, sizeof r->number, "%" PRId64, (int64_t)json_integer_value(value));
        *out = (tsri_train_span){r->number, (size_t)n};
    } else if (value && !json_is_null(value)) {
        return tsri_base_fail(TSR_E_FORMAT, "%s: line %" PRIu64 ": \"%s\" is not a text%s", r->path,
                              tsri_text_reader_number(r->reader), name,
                              label ? " or a whole number" : "");
    }
    return TSR_OK;
}

static tsr_status next_json(tsri_train_records *r, tsri_train_record *out) {
    *out = (tsri_train_record){0};
    TRY(tsri_train_records_object(r));
    if (!r->json)
        return TSR_OK;
    for (int i = 0; i < r->n_fields; i++) {
        const fields *f = &r->fields[i];
        out->text = out->second = (tsri_train_span){NULL, 0};
        TRY(field_of(r, f->text, false, &out->text));
        if (f->second)
            TRY(field_of(r, f->second, r->wants == TSRI_WANTS_LABELS, &out->second));
        if (out->text.data && (out->second.data || !f->second))
            return TSR_OK;
    }
    const fields *f = r->fields;
    return tsri_base_fail(TSR_E_FORMAT, "%s: line %" PRIu64 ": no field \"%s\"", r->path,
                          tsri_text_reader_number(r->reader),
                          json_is_string(json_object_get(r->json, f->text)) ? f->second : f->text);
}

/* ---- columns that a header names ---- */

static tsr_status end_field(row *row) {
    TRY(tsri_base_grow(&row->ends, &row->capacity, row->count + 1, sizeof *row->ends));
    row->ends[row->count++] = row->text.size;
    return TSR_OK;
}

/* Borrowed until the next row. */
static tsri_train_span field(const row *row, size_t i) {
    const size_t start = i ? row->ends[i - 1] : 0;
    return (tsri_train_span){row->text.data + start, row->ends[i] - start};
}

static int column_of(const row *row, const char *name) {
    for (size_t i = 0; name && i < row->count; i++) {
        const tsri_train_span s = field(row, i);
        if (s.n == strlen(name) && !memcmp(s.data, name, s.n))
            return (int)i;
    }
    return -1;
}

/* Finds the columns of the first pair of fields that the header in r->row has. */
static bool find_columns(tsri_train_records *r) {
    for (int i = 0; i < r->n_fields; i++) {
        r->columns[0] = column_of(&r->row, r->fields[i].text);
        r->columns[1] = column_of(&r->row, r->fields[i].second);
        if (r->columns[0] >= 0 && (r->columns[1] >= 0 || !r->fields[i].second))
            return true;
    }
    return false;
}

static tsr_status refuse_header(const tsri_train_records *r) {
    static const char *const settings[] = {"text_field names another", "text_field names another",
                                           "source_field and target_field name others",
                                           "text_field and label_field name others"};
    tsri_bytes names = {0};
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < r->row.count && status == TSR_OK; i++) {
        const tsri_train_span s = field(&r->row, i);
        status = tsri_base_bytes_printf(&names, "%s\"%.*s\"", i ? ", " : "",
                                        (int)(s.n < 40 ? s.n : 40), s.data ? s.data : "");
    }
    const fields *f = r->fields;
    if (status == TSR_OK)
        status = tsri_base_fail(
            TSR_E_FORMAT, "%s: line %" PRIu64 " has no column \"%s\"; its columns are %.400s; %s",
            r->path, r->row.line, column_of(&r->row, f->text) < 0 ? f->text : f->second,
            names.data ? names.data : "", settings[r->wants]);
    tsri_base_bytes_clear(&names);
    return status;
}

static tsr_status take_columns(const tsri_train_records *r, tsri_train_record *out) {
    tsri_train_span *const spans[] = {&out->text, &out->second};
    for (int i = 0; i < 2; i++) {
        if (r->columns[i] < 0)
            continue;
        if ((size_t)r->columns[i] >= r->row.count)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: line %" PRIu64 ": the row has %zu fields; by the header it "
                                  "needs at least %d",
                                  r->path, r->row.line, r->row.count, r->columns[i] + 1);
        *spans[i] = field(&r->row, (size_t)r->columns[i]);
    }
    out->line = r->row.line;
    return TSR_OK;
}

/* ---- CSV ---- */

/* Adds one more line to the row. Where a quote is open, the line end belongs to the field. */
static tsr_status feed(row *row, const char *line, size_t n) {
    tsri_bytes *text = &row->text;
    TRY(tsri_base_grow(&text->data, &text->capacity, text->size + n + 1, 1));
    for (size_t i = 0; i <= n; i++) {
        const char c = i < n ? line[i] : '\n';
        const tsri_csv_event event = tsri_base_csv_feed(&row->csv, c);
        if (event == TSRI_CSV_BYTE)
            text->data[text->size++] = c;
        if (event == TSRI_CSV_FIELD || event == TSRI_CSV_ROW)
            TRY(end_field(row));
    }
    return TSR_OK;
}

static tsr_status next_row(tsri_train_records *r, bool *found) {
    row *row = &r->row;
    const char *why = NULL;
    char *text;
    size_t n;
    row->text.size = row->count = 0;
    row->csv.between = ',';
    tsri_base_csv_begin_row(&row->csv);
    *found = false;
    do {
        TRY(tsri_text_reader_line(r->reader, &text, &n));
        if (!text && !*found)
            return TSR_OK;
        if (!*found)
            row->line = tsri_text_reader_number(r->reader);
        if (!text)
            why = "a quote is opened, but not closed before the end of the file";
        else
            TRY(feed(row, text, n));
        if (!why && row->csv.stray)
            why = "text follows a closing quote; only a comma or the end of the line may";
        if (!why && row->text.size > TSRI_TEXT_LINE_LIMIT)
            why = "a quote is opened, but not closed within 256 MiB";
        *found = true;
    } while (!why && tsri_base_csv_is_open(&row->csv));
    return why ? tsri_base_fail(TSR_E_FORMAT, "%s: line %" PRIu64 ": %s", r->path, row->line, why)
               : TSR_OK;
}

static tsr_status begin_csv(tsri_train_records *r) {
    bool found;
    r->row.line = 1; /* of an empty file, too */
    TRY(next_row(r, &found));
    return find_columns(r) ? TSR_OK : refuse_header(r);
}

static tsr_status next_csv(tsri_train_records *r, tsri_train_record *out) {
    bool found;
    *out = (tsri_train_record){0};
    do {
        TRY(next_row(r, &found));
        if (!found)
            return TSR_OK;
    } while (r->row.count == 1 && !field(&r->row, 0).n); /* a blank line */
    return take_columns(r, out);
}

/* ---- TSV: text TAB second, or the columns that a header names; further columns are not read ---- */

static tsr_status split_tabs(tsri_train_records *r, const char *line, size_t n) {
    row *row = &r->row;
    tsri_bytes *text = &row->text;
    text->size = row->count = 0;
    row->line = tsri_text_reader_number(r->reader);
    TRY(tsri_base_grow(&text->data, &text->capacity, n + 1, 1));
    for (size_t i = 0; i <= n; i++) {
        if (i == n || line[i] == '\t')
            TRY(end_field(row));
        else
            text->data[text->size++] = line[i];
    }
    return TSR_OK;
}

/* The first line is a header if it has the columns that are wanted. It must be one if their names were given, or if
 * one of its columns is called as the text or the label is: as an example, it would make a class of that name. */
static tsr_status begin_tsv(tsri_train_records *r) {
    TRY(tsri_train_records_line(r, &r->first, &r->first_size));
    if (!r->first)
        return TSR_OK;
    TRY(split_tabs(r, r->first, r->first_size));
    r->header = find_columns(r);
    const bool labels =
        r->wants == TSRI_WANTS_LABELS && r->row.count > 1 &&
        (column_of(&r->row, r->fields->text) >= 0 || column_of(&r->row, r->fields->second) >= 0);
    return !r->header && (r->named || labels) ? refuse_header(r) : TSR_OK;
}

static tsr_status next_tsv(tsri_train_records *r, tsri_train_record *out) {
    char *text = r->first;
    size_t n = r->first_size;
    *out = (tsri_train_record){0};
    if (r->header || !text)
        TRY(tsri_train_records_line(r, &text, &n));
    r->first = NULL;
    if (!text)
        return TSR_OK;
    if (r->header) {
        TRY(split_tabs(r, text, n));
        return take_columns(r, out);
    }
    out->text = (tsri_train_span){text, n};
    const char *tab = memchr(text, '\t', n);
    if (!tab && r->wants < TSRI_WANTS_PAIRS)
        return TSR_OK;
    if (!tab)
        return tsri_train_records_refuse(
            r, r->wants == TSRI_WANTS_PAIRS ? "it has no tab; source, a tab and target are needed"
                                            : "it has no tab; text, a tab and a label are needed");
    const size_t rest = n - (size_t)(tab + 1 - text);
    const char *end = memchr(tab + 1, '\t', rest);
    out->text.n = (size_t)(tab - text);
    out->second = (tsri_train_span){tab + 1, end ? (size_t)(end - tab - 1) : rest};
    return TSR_OK;
}

/* ---- forms ---- */

static const char *const of_json[] = {".jsonl", ".json", ".ndjson", NULL},
                         *const of_tsv[] = {".tsv", ".tab", NULL}, *const of_csv[] = {".csv", NULL},
                         *const of_text[] = {NULL};

enum { FORM_TSV = 1, FORM_TEXT = 3 };
static const form forms[] = {
    {"JSONL", of_json, NULL, next_json},
    {"TSV", of_tsv, begin_tsv, next_tsv},
    {"CSV", of_csv, begin_csv, next_csv},
    {"text", of_text, NULL, next_text},
};
static const form forms_of_words[] = {
    {"JSONL", of_json, NULL, tsri_train_next_lists},
    {"CSV", of_csv, tsri_train_refuse_csv, NULL},
    {"columns", of_text, NULL, tsri_train_next_columns},
};

/* Plain text has neither targets nor labels: where they are needed, the file is read as TSV. */
static const form *find_form(const char *path, tsri_train_wants wants) {
    const char *dot = strrchr(path, '.');
    const form *all = wants == TSRI_WANTS_WORDS ? forms_of_words : forms;
    size_t i = 0;
    for (; all[i].endings != of_text; i++)
        for (const char *const *ending = all[i].endings; dot && *ending; ending++)
            if (!strcasecmp(dot, *ending))
                return &all[i];
    if (wants == TSRI_WANTS_WORDS)
        return &all[i];
    return &forms[wants >= TSRI_WANTS_PAIRS ? FORM_TSV : FORM_TEXT];
}

const char *tsri_train_form_of(const char *path, tsri_train_wants wants) {
    return find_form(path, wants)->name;
}

tsri_train_wants tsri_train_wants_of(const tsri_train_data_options *o) {
    switch (o->objective) {
    case TSRI_OBJECTIVE_TRANSLATE:
        return TSRI_WANTS_PAIRS;
    case TSRI_OBJECTIVE_CLASSIFY:
        return TSRI_WANTS_LABELS;
    case TSRI_OBJECTIVE_TOKENS:
        return TSRI_WANTS_WORDS;
    default:
        return o->pack ? TSRI_WANTS_PIECES : TSRI_WANTS_TEXTS;
    }
}

/* Lists as data sets of Hugging Face have them. */
static void choose_lists(tsri_train_records *r, const tsri_train_data_options *o) {
    static const char *const labels[] = {"ner_tags", "tags", "labels"};
    r->n_fields = o->label_field ? 1 : 3;
    for (int i = 0; i < r->n_fields; i++)
        r->fields[i] = (fields){o->text_field ? o->text_field : "tokens",
                                o->label_field ? o->label_field : labels[i]};
}

static void choose_fields(tsri_train_records *r, const tsri_train_data_options *o) {
    const fields text = {o->text_field ? o->text_field : "text", NULL},
                 labelled = {text.text, o->label_field ? o->label_field : "label"},
                 pair = {o->source_field ? o->source_field : "source",
                         o->target_field ? o->target_field : "target"};
    r->n_fields = r->wants < TSRI_WANTS_PAIRS ? 2 : 1;
    r->named = r->wants == TSRI_WANTS_LABELS  ? o->text_field || o->label_field
               : r->wants == TSRI_WANTS_PAIRS ? o->source_field || o->target_field
                                              : o->text_field || o->source_field || o->target_field;
    r->fields[0] = r->wants == TSRI_WANTS_LABELS  ? labelled
                   : r->wants == TSRI_WANTS_PAIRS ? pair
                                                  : text;
    r->fields[1] = pair;
}

tsr_status tsri_train_records_open(const char *path, const tsri_train_data_options *options,
                                   tsri_train_wants wants, tsri_train_records **out) {
    tsri_train_records *r = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *r, &r));
    r->path = path;
    r->wants = wants;
    r->form = find_form(path, wants);
    (wants == TSRI_WANTS_WORDS ? choose_lists : choose_fields)(r, options);
    tsr_status status = tsri_text_reader_open(path, &r->reader);
    if (status == TSR_OK && r->form->begin)
        status = r->form->begin(r);
    if (status != TSR_OK)
        tsri_train_records_close(&r);
    *out = r;
    return status;
}

tsr_status tsri_train_records_next(tsri_train_records *r, tsri_train_record *out) {
    TRY(r->form->next(r, out));
    if (!out->line)
        out->line = tsri_text_reader_number(r->reader);
    return TSR_OK;
}

uint64_t tsri_train_records_done(const tsri_train_records *r) {
    uint64_t done, total;
    tsri_text_reader_progress(r->reader, &done, &total);
    return done;
}

void tsri_train_records_close(tsri_train_records **records) {
    tsri_train_records *r = *records;
    if (!r)
        return;
    tsri_text_reader_close(&r->reader);
    tsri_base_bytes_clear(&r->row.text);
    free(r->row.ends);
    tsri_train_words_clear(&r->words);
    json_decref(r->json);
    free(r);
    *records = NULL;
}
