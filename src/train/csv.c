#include "train/csv.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void tsri_train_csv_begin(tsri_train_csv *csv) {
    csv->text.size = 0;
    csv->count = 0;
    csv->open = false;
}

static tsr_status begin_field(tsri_train_csv *csv) {
    TRY(tsri_base_grow(&csv->starts, &csv->capacity, csv->count + 1, sizeof *csv->starts));
    csv->starts[csv->count++] = csv->text.size;
    return TSR_OK;
}

/* The quoted part of a field from line[*at] on, up to its quote or the end of the line. */
static tsr_status quoted(tsri_train_csv *csv, const char *line, size_t n, size_t *at) {
    for (;;) {
        const char *quote = memchr(line + *at, '"', n - *at);
        const size_t end = quote ? (size_t)(quote - line) : n;
        TRY(tsri_base_bytes_append(&csv->text, line + *at, end - *at));
        if (!quote) {
            *at = n;
            return tsri_base_bytes_append(&csv->text, "\n", 1); /* the line end belongs to it */
        }
        *at = end + 1;
        csv->open = *at < n && line[*at] == '"'; /* a doubled one */
        if (!csv->open)
            return TSR_OK;
        TRY(tsri_base_bytes_append(&csv->text, "\"", 1));
        ++*at;
    }
}

tsr_status tsri_train_csv_feed(tsri_train_csv *csv, const char *line, size_t n, const char **why) {
    bool more = !csv->open; /* a field begins */
    for (size_t at = 0; more || csv->open;) {
        if (!csv->open) {
            TRY(begin_field(csv));
            csv->open = at < n && line[at] == '"';
            at += csv->open;
        }
        const bool was_quoted = csv->open;
        if (csv->open)
            TRY(quoted(csv, line, n, &at));
        if (csv->open)
            return TSR_OK;
        const char *comma = memchr(line + at, ',', n - at);
        const size_t end = comma ? (size_t)(comma - line) : n;
        if (was_quoted && end > at) {
            *why = "text follows a closing quote; a comma or the end of the line is wanted";
            return TSR_OK;
        }
        TRY(tsri_base_bytes_append(&csv->text, line + at, end - at));
        TRY(tsri_base_bytes_append(&csv->text, "", 1));
        at = end + 1;
        more = comma != NULL;
    }
    return TSR_OK;
}

bool tsri_train_csv_is_open(const tsri_train_csv *csv) {
    return csv->open;
}

tsri_train_span tsri_train_csv_field(const tsri_train_csv *csv, size_t i) {
    const size_t end = i + 1 < csv->count ? csv->starts[i + 1] : csv->text.size;
    return (tsri_train_span){csv->text.data + csv->starts[i], end - csv->starts[i] - 1};
}

void tsri_train_csv_clear(tsri_train_csv *csv) {
    tsri_base_bytes_clear(&csv->text);
    free(csv->starts);
    *csv = (tsri_train_csv){0};
}
