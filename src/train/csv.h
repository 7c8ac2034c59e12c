/* train/csv.h - a row of comma-separated values: RFC 4180, a line at a time. */
#ifndef TSRI_TRAIN_CSV_H
#define TSRI_TRAIN_CSV_H

#include "base/bytes.h"
#include "train/records.h"

/* All zero is an empty one. */
typedef struct tsri_train_csv {
    tsri_bytes text; /* of the fields, each with a 0 byte behind it */
    size_t *starts;
    size_t count, capacity; /* fields */
    uint64_t line;          /* where the row begins; the reader's to set */
    bool open;              /* within quotes */
} tsri_train_csv;

void tsri_train_csv_begin(tsri_train_csv *csv); /* another row */
/* One more line of the row, without its end. Of a wrong one *why is what is wrong. */
tsr_status tsri_train_csv_feed(tsri_train_csv *csv, const char *line, size_t n, const char **why);
/* A quote is open: the row goes on in the next line. */
bool tsri_train_csv_is_open(const tsri_train_csv *csv);
/* Borrowed until the row is fed again. */
tsri_train_span tsri_train_csv_field(const tsri_train_csv *csv, size_t i);
void tsri_train_csv_clear(tsri_train_csv *csv);

#endif
