/* train/data/records.h - reads the examples of a text file one after the other, in any form. */
#ifndef TSRI_TRAIN_DATA_RECORDS_H
#define TSRI_TRAIN_DATA_RECORDS_H

#include "base/bytes.h"
#include "train/data/data.h"

/* What a file is read for; it decides which fields are needed. */
typedef enum tsri_train_wants {
    TSRI_WANTS_PIECES = 0, /* texts, a large one in pieces */
    TSRI_WANTS_TEXTS,      /* texts, or sources with their targets */
    TSRI_WANTS_PAIRS,      /* source and target */
    TSRI_WANTS_LABELS,     /* text and label */
    TSRI_WANTS_WORDS       /* words, each with a label */
} tsri_train_wants;

typedef struct tsri_train_span {
    const char *data; /* NULL: none */
    size_t n;
} tsri_train_span;

typedef struct tsri_train_record {
    tsri_train_span text;   /* or the source */
    tsri_train_span second; /* the target, or the label */
    uint64_t line;          /* where it begins, counted from 1 */
    bool piece;             /* the text goes on in the next record */
    const tsri_train_span *words,
        *labels; /* [n_words]; the text is the words, a blank between two */
    size_t n_words;
} tsri_train_record;

typedef struct tsri_train_records tsri_train_records;

tsri_train_wants tsri_train_wants_of(const tsri_train_data_options *options);
/* The form of `path`: "text", "JSONL", "TSV", "CSV", or of words "JSONL" or "columns". */
const char *tsri_train_form_of(const char *path, tsri_train_wants wants);

/* The options are borrowed until it is closed. The messages of TSR_E_FORMAT and TSR_E_IO name the
 * file. */
tsr_status tsri_train_records_open(const char *path, const tsri_train_data_options *options,
                                   tsri_train_wants wants, tsri_train_records **out);
/* text.data is NULL at the end. Borrowed until the next call. The message of TSR_E_FORMAT names
 * file and line. */
tsr_status tsri_train_records_next(tsri_train_records *records, tsri_train_record *out);
/* Bytes of text read. */
uint64_t tsri_train_records_done(const tsri_train_records *records);
void tsri_train_records_close(tsri_train_records **records);

#endif
