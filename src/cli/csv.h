/* cli/csv.h - tables as text, a byte at a time (RFC 4180; also with TAB between fields). */
#ifndef TESSERA_CLI_CSV_H
#define TESSERA_CLI_CSV_H

#include <stdbool.h>

typedef enum tsri_cli_csv_state {
    CSV_START = 0, /* of a field */
    CSV_BARE,
    CSV_QUOTED,
    CSV_AFTER_QUOTE /* which closes the field, or is the first of two */
} tsri_cli_csv_state;

typedef struct tsri_cli_csv {
    tsri_cli_csv_state state;
    char between, last; /* last: the byte before the row's end */
} tsri_cli_csv;

typedef enum tsri_cli_csv_event {
    CSV_NOTHING = 0,
    CSV_BYTE,  /* the byte belongs to the field */
    CSV_FIELD, /* the field has ended, and another begins */
    CSV_ROW    /* the field has ended, and the row */
} tsri_cli_csv_event;

static inline void tsri_cli_csv_begin_row(tsri_cli_csv *csv) {
    csv->state = CSV_START;
    csv->last = 0;
}

static inline bool tsri_cli_csv_is_open(const tsri_cli_csv *csv) {
    return csv->state == CSV_QUOTED;
}

/* The row's last byte was a \r that belongs to its line end; it was given as a CSV_BYTE. */
static inline bool tsri_cli_csv_ends_in_return(const tsri_cli_csv *csv) {
    return csv->last == '\r';
}

static inline tsri_cli_csv_event tsri_cli_csv_feed(tsri_cli_csv *csv, char c) {
    if (csv->state == CSV_QUOTED) {
        csv->state = c == '"' ? CSV_AFTER_QUOTE : CSV_QUOTED;
        csv->last = 0;
        return c == '"' ? CSV_NOTHING : CSV_BYTE;
    }
    if (c == '"' && csv->state != CSV_BARE) {
        const bool doubled = csv->state == CSV_AFTER_QUOTE;
        csv->state = CSV_QUOTED;
        return doubled ? CSV_BYTE : CSV_NOTHING;
    }
    if (c == csv->between || c == '\n') {
        csv->state = CSV_START;
        return c == '\n' ? CSV_ROW : CSV_FIELD;
    }
    csv->state = CSV_BARE;
    csv->last = c;
    return CSV_BYTE;
}

#endif
