/* train/data/records.h - the examples in a file of text, one after the other, whatever its form. */
#ifndef TSRI_TRAIN_DATA_RECORDS_H
#define TSRI_TRAIN_DATA_RECORDS_H

#include "base/bytes.h"
#include "train/data/data.h"

/* What a form is read for; it decides which fields are wanted. */
typedef enum tsri_train_wants {
    TSRI_WANTS_PIECES = 0, /* a text in pieces, or several texts */
    TSRI_WANTS_TEXTS,      /* a text, or a source and its target */
    TSRI_WANTS_PAIRS,      /* source and target */
    TSRI_WANTS_LABELS      /* text and label */
} tsri_train_wants;

typedef struct tsri_train_span {
    const char *data; /* NULL: none */
    size_t n;
} tsri_train_span;

typedef struct tsri_train_record {
    tsri_train_span text;   /* or the source */
    tsri_train_span second; /* the target, or the label */
    uint64_t line;          /* where it begins, from 1 */
    bool piece;             /* goes on in the next record */
} tsri_train_record;

typedef struct tsri_train_records tsri_train_records;

tsri_train_wants tsri_train_wants_of(const tsri_train_data_options *options);
/* A word for the form of `path`: "text", "JSONL", "TSV", "CSV". */
const char *tsri_train_form_of(const char *path, tsri_train_wants wants);

/* The options are borrowed until it is closed. TSR_E_FORMAT, TSR_E_IO: by file. */
tsr_status tsri_train_records_open(const char *path, const tsri_train_data_options *options,
                                   tsri_train_wants wants, tsri_train_records **out);
/* text.data NULL at the end. Borrowed until the next call. TSR_E_FORMAT: by file and line. */
tsr_status tsri_train_records_next(tsri_train_records *records, tsri_train_record *out);
/* Bytes of text read. */
uint64_t tsri_train_records_done(const tsri_train_records *records);
void tsri_train_records_close(tsri_train_records **records);

#endif
