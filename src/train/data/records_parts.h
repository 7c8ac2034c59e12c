/* train/data/records_parts.h - what the readers of records share; for the files of this folder. */
#ifndef TSRI_TRAIN_DATA_RECORDS_PARTS_H
#define TSRI_TRAIN_DATA_RECORDS_PARTS_H

#include "base/csv.h"
#include "base/json.h"
#include "text/base/reader.h"
#include "train/data/records.h"

enum { MOST_DEPTH = 32 };

/* The words of a text, and their labels. */
typedef struct tsri_train_words {
    tsri_bytes text, names; /* words, and labels, with a blank behind each */
    tsri_train_span *words, *labels;
    size_t n, words_room, labels_room;
} tsri_train_words;

/* The fields of JSONL, CSV and of TSV with a header to read. The first pair that the file has is taken;
 * where it has none, the message names the first pair. */
typedef struct fields {
    const char *text, *second; /* second NULL: none */
} fields;

typedef struct form {
    const char *name;
    const char *const *endings;
    tsr_status (*begin)(tsri_train_records *records); /* may be NULL */
    tsr_status (*next)(tsri_train_records *records, tsri_train_record *out);
} form;

/* A row of CSV, or of TSV with a header. */
typedef struct row {
    tsri_csv csv;
    tsri_bytes text; /* of the fields, joined */
    size_t *ends;    /* where each ends */
    size_t count, capacity;
    uint64_t line; /* where the row begins */
} row;

struct tsri_train_records {
    const form *form;
    const char *path;
    tsri_train_wants wants;
    tsri_text_reader *reader;
    fields fields[3];
    int n_fields;
    bool named;   /* one of their names was given */
    json_t *json; /* the line that was returned last */
    char number[32];
    row row;
    int columns[2]; /* of the fields; -1: none */
    bool header;    /* TSV: the first line is one */
    char *first;    /* TSV: the first line, the reader's, until it is the next record; else NULL */
    size_t first_size;
    tsri_train_words words;
};

/* record_lines.c: an error of the current line; the next line that is not blank, and the next object of JSONL, in
 * records->json; NULL: there is none. */
tsr_status tsri_train_records_refuse(const tsri_train_records *records, const char *what);
tsr_status tsri_train_records_line(tsri_train_records *records, char **text, size_t *n);
tsr_status tsri_train_records_object(tsri_train_records *records);

/* words.c: the next text of columns, a word a line, or of lists in JSONL; CSV, which has neither. */
tsr_status tsri_train_next_columns(tsri_train_records *records, tsri_train_record *out);
tsr_status tsri_train_next_lists(tsri_train_records *records, tsri_train_record *out);
tsr_status tsri_train_refuse_csv(tsri_train_records *records);
void tsri_train_words_clear(tsri_train_words *words);

#endif
