/* train/data/words.c - reads texts whose words have labels: a word a line with its label in the last column, and a
 * blank line behind each text (CoNLL); or JSONL with a list of words and a list of labels. */
#include "base/error.h"
#include "base/memory.h"
#include "train/data/records_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tsr_status add(tsri_train_words *w, tsri_train_span word, tsri_train_span label) {
    TRY(tsri_base_grow(&w->words, &w->words_room, w->n + 1, sizeof *w->words));
    TRY(tsri_base_grow(&w->labels, &w->labels_room, w->n + 1, sizeof *w->labels));
    w->words[w->n].n = word.n;
    w->labels[w->n++].n = label.n;
    TRY(tsri_base_bytes_append(&w->text, word.data, word.n));
    TRY(tsri_base_bytes_append(&w->text, " ", 1));
    TRY(tsri_base_bytes_append(&w->names, label.data, label.n));
    return tsri_base_bytes_append(&w->names, " ", 1);
}

static void begin(tsri_train_words *w) {
    w->n = w->text.size = w->names.size = 0;
}

static void place(tsri_train_span *spans, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++) {
        spans[i].data = text;
        text += spans[i].n + 1;
    }
}

static void give(tsri_train_words *w, uint64_t line, tsri_train_record *out) {
    place(w->words, w->n, w->text.data);
    place(w->labels, w->n, w->names.data);
    *out = (tsri_train_record){.text = {w->text.data, w->text.size - 1},
                               .line = line,
                               .words = w->words,
                               .labels = w->labels,
                               .n_words = w->n};
}

void tsri_train_words_clear(tsri_train_words *w) {
    tsri_base_bytes_clear(&w->text);
    tsri_base_bytes_clear(&w->names);
    free(w->words);
    free(w->labels);
    *w = (tsri_train_words){0};
}

/* ---- columns ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The first and the last column of a line without blanks at its ends; they are separated by tabs, or by blanks where
 * there is no tab. One column: the last is empty. */
static void ends_of(const char *text, size_t n, tsri_train_span *first, tsri_train_span *last) {
    const bool tabs = memchr(text, '\t', n) != NULL;
    size_t a = 0, b = n;
    while (a < n && !(tabs ? text[a] == '\t' : is_blank(text[a])))
        a++;
    while (b > a && !(tabs ? text[b - 1] == '\t' : is_blank(text[b - 1])))
        b--;
    *first = (tsri_train_span){text, a};
    *last = (tsri_train_span){text + b, n - b};
    if (b == a && a == n)
        last->n = 0;
}

tsr_status tsri_train_next_columns(tsri_train_records *r, tsri_train_record *out) {
    static const char document[] = "-DOCSTART-";
    uint64_t line = 0;
    char *text;
    size_t n;
    begin(&r->words);
    *out = (tsri_train_record){0};
    for (;;) {
        tsri_train_span word, label;
        TRY(tsri_text_reader_line(r->reader, &text, &n));
        while (text && n && is_blank(text[n - 1]))
            n--;
        for (; text && n && is_blank(*text); n--)
            text++;
        if ((!text || !n) && r->words.n)
            break;
        if (!text)
            return TSR_OK;
        if (!n)
            continue;
        ends_of(text, n, &word, &label);
        if (word.n == sizeof document - 1 && !memcmp(word.data, document, word.n))
            continue;
        if (!label.n)
            return tsri_train_records_refuse(
                r, "it has one column; a word and, in the last column, its label are needed");
        line = line ? line : tsri_text_reader_number(r->reader);
        TRY(add(&r->words, word, label));
    }
    give(&r->words, line, out);
    return TSR_OK;
}

/* ---- lists ---- */

/* A text of a list or, of a label, a whole number. */
static bool item_of(tsri_train_records *r, const json_t *value, bool label, tsri_train_span *out) {
    if (json_is_string(value)) {
        *out = (tsri_train_span){json_string_value(value), json_string_length(value)};
        return true;
    }
    const int n =
        snprintf(r->number, sizeof r->number, "%" PRId64, (int64_t)json_integer_value(value));
    *out = (tsri_train_span){r->number, (size_t)n};
    return label && json_is_integer(value);
}

tsr_status tsri_train_next_lists(tsri_train_records *r, tsri_train_record *out) {
    const json_t *words = NULL, *labels = NULL;
    int i = 0;
    begin(&r->words);
    *out = (tsri_train_record){0};
    TRY(tsri_train_records_object(r));
    if (!r->json)
        return TSR_OK;
    words = json_object_get(r->json, r->fields[0].text);
    while (!labels && i < r->n_fields)
        labels = json_object_get(r->json, r->fields[i++].second);
    const uint64_t line = tsri_text_reader_number(r->reader);
    if (!json_is_array(words) || !json_is_array(labels))
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: line %" PRIu64 ": no list \"%s\"; a list of words and one of labels "
            "are needed",
            r->path, line, json_is_array(words) ? r->fields[0].second : r->fields[0].text);
    const size_t n = json_array_size(words);
    if (!n || json_array_size(labels) != n)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: line %" PRIu64
            ": %zu words and %zu labels; each word needs a label, and a text a word",
            r->path, line, n, json_array_size(labels));
    for (size_t k = 0; k < n; k++) {
        tsri_train_span word, label;
        if (!item_of(r, json_array_get(words, k), false, &word))
            return tsri_train_records_refuse(r, "a word is not a text");
        if (!item_of(r, json_array_get(labels, k), true, &label) || !label.n)
            return tsri_train_records_refuse(r, "a label is neither a text nor a whole number");
        TRY(add(&r->words, word, label));
    }
    give(&r->words, line, out);
    return TSR_OK;
}

tsr_status tsri_train_refuse_csv(tsri_train_records *r) {
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s: CSV has no labels of words; give columns, a word a line with its label "
        "in the last column, or JSONL with lists \"tokens\" and \"ner_tags\"",
        r->path);
}
