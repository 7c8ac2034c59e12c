/* train/data/corpus.c - several token files, read as if they were one. */
#include "base/error.h"
#include "base/memory.h"
#include "train/data/data_parts.h"

#include <stdlib.h>

tsr_status tsri_train_corpus_open(const char *const *paths, size_t n,
                                  const tsri_train_token_file_options *options, bool stream,
                                  tsri_train_corpus *out) {
    TRY(tsri_base_new(n, sizeof *out->files, &out->files));
    TRY(tsri_base_new(n + 1, sizeof *out->first, &out->first));
    tsri_train_token_file_options each = *options;
    for (size_t i = 0; i < n; i++) {
        each.number = i;
        TRY(tsri_train_token_file_open(paths[i], &each, &out->files[i]));
        out->n++;
        const tsri_train_token_file *t = out->files[i];
        out->first[i + 1] = out->first[i] + (stream ? t->n_tokens : t->n_examples);
    }
    return TSR_OK;
}

void tsri_train_corpus_close(tsri_train_corpus *c) {
    for (size_t i = 0; i < c->n; i++) {
        tsri_train_token_file_close(&c->files[i]);
        if (c->label_of)
            free(c->label_of[i]);
    }
    free(c->files);
    free(c->first);
    free(c->label_of);
    *c = (tsri_train_corpus){0};
}

size_t tsri_train_corpus_file(const tsri_train_corpus *c, uint64_t at) {
    size_t low = 0, high = c->n - 1;
    while (low < high) {
        const size_t middle = (low + high + 1) / 2;
        if (c->first[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- texts for a tokenizer ---- */

static tsr_status take_record(const tsri_train_record *record, bool both,
                              tsr_status (*take)(void *data, const char *text, size_t n),
                              void *take_data) {
    if (record->text.n)
        TRY(take(take_data, record->text.data, record->text.n));
    return both && record->second.n ? take(take_data, record->second.data, record->second.n)
                                    : TSR_OK;
}

tsr_status tsri_train_data_texts(const tsri_train_data_options *o,
                                 tsr_status (*take)(void *data, const char *text, size_t n),
                                 void *take_data) {
    tsri_train_wants wants = tsri_train_wants_of(o);
    if (wants == TSRI_WANTS_TEXTS)
        wants = TSRI_WANTS_PIECES; /* line ends are characters, too */
    for (size_t i = 0; i < o->n_paths; i++) {
        tsri_train_records *records = NULL;
        tsri_train_record record;
        tsr_status status = tsri_train_records_open(o->paths[i], o, wants, &records);
        while (status == TSR_OK) {
            status = tsri_train_records_next(records, &record);
            if (status != TSR_OK || !record.text.data)
                break;
            status = take_record(&record, wants < TSRI_WANTS_LABELS, take, take_data);
            if (status == TSR_E_FORMAT)
                status = tsri_base_fail_within(status, "%s", o->paths[i]);
        }
        tsri_train_records_close(&records);
        TRY(status);
    }
    return TSR_OK;
}

/* ---- what the files hold ---- */

bool tsri_train_data_has_pairs(const tsri_train_data_options *o) {
    bool found = false;
    for (size_t i = 0; i < o->n_paths && !found; i++) {
        tsri_train_records *records = NULL;
        tsri_train_record first;
        found = tsri_train_records_open(o->paths[i], o, TSRI_WANTS_PIECES, &records) == TSR_OK &&
                tsri_train_records_next(records, &first) == TSR_OK && first.second.data;
        tsri_train_records_close(&records);
    }
    return found;
}
