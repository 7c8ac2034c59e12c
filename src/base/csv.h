/* base/csv.h - reads tables of text, one byte at a time (RFC 4180; also with TAB between fields).
 * All of it is in this header, so that the command, which cannot call hidden functions, can read
 * tables too. */
#ifndef TSRI_BASE_CSV_H
#define TSRI_BASE_CSV_H

#include <stdbool.h>

typedef enum tsri_csv_state {
    TSRI_CSV_START = 0, /* at the start of a field */
    TSRI_CSV_BARE,
    TSRI_CSV_QUOTED,
    TSRI_CSV_AFTER_QUOTE /* the quote closes the field, or is the first of two */
} tsri_csv_state;

typedef struct tsri_csv {
    tsri_csv_state state;
    char between, last; /* between: the separator; last: the byte before the row's end */
    bool stray;         /* text followed a closing quote in this row; its bytes were given */
} tsri_csv;

typedef enum tsri_csv_event {
    TSRI_CSV_NOTHING = 0,
    TSRI_CSV_BYTE,  /* the byte belongs to the field */
    TSRI_CSV_FIELD, /* the field has ended, and another begins */
    TSRI_CSV_ROW    /* the field has ended, and so has the row */
} tsri_csv_event;

static inline void tsri_base_csv_begin_row(tsri_csv *csv) {
    csv->state = TSRI_CSV_START;
    csv->last = 0;
    csv->stray = false;
}

static inline bool tsri_base_csv_is_open(const tsri_csv *csv) {
    return csv->state == TSRI_CSV_QUOTED;
}

/* Whether the row's last byte, which was given as a TSRI_CSV_BYTE, is a \r of its line end. */
static inline bool tsri_base_csv_ends_in_return(const tsri_csv *csv) {
    return csv->last == '\r';
}

static inline tsri_csv_event tsri_base_csv_feed(tsri_csv *csv, char c) {
    if (csv->state == TSRI_CSV_QUOTED) {
        csv->state = c == '"' ? TSRI_CSV_AFTER_QUOTE : TSRI_CSV_QUOTED;
        csv->last = 0;
        return c == '"' ? TSRI_CSV_NOTHING : TSRI_CSV_BYTE;
    }
    if (c == '"' && csv->state != TSRI_CSV_BARE) {
        const bool doubled = csv->state == TSRI_CSV_AFTER_QUOTE;
        csv->state = TSRI_CSV_QUOTED;
        return doubled ? TSRI_CSV_BYTE : TSRI_CSV_NOTHING;
    }
    if (c == csv->between || c == '\n') {
        csv->state = TSRI_CSV_START;
        return c == '\n' ? TSRI_CSV_ROW : TSRI_CSV_FIELD;
    }
    csv->stray |= csv->state == TSRI_CSV_AFTER_QUOTE;
    csv->state = TSRI_CSV_BARE;
    csv->last = c;
    return TSRI_CSV_BYTE;
}

#endif
