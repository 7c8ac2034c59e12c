/* train/data/data_parts.h - the parts of tsri_train_data; for the files of this folder. */
#ifndef TSRI_TRAIN_DATA_DATA_PARTS_H
#define TSRI_TRAIN_DATA_DATA_PARTS_H

#include "train/data/token_file.h"

/* Token files one after the other: a stream of tokens, or a list of examples. */
typedef struct tsri_train_corpus {
    tsri_train_token_file **files;
    size_t n;
    uint64_t *first;    /* [n + 1] number of the token, or example, that each file begins with */
    int32_t **label_of; /* [n] maps each file's labels to targets; NULL: no labels */
} tsri_train_corpus;

/* An example in a pool of batches. */
typedef struct tsri_train_place {
    tsri_train_entry entry;
    uint32_t file;
    uint64_t order; /* before the pool was sorted */
} tsri_train_place;

/* The tokens that an example gives a sequence, before it is cut; a translation's are those of its target. */
static inline uint32_t tsri_train_entry_tokens(tsri_training_objective objective,
                                               const tsri_train_entry *e) {
    return objective == TSRI_OBJECTIVE_TRANSLATE ? e->more
           : objective == TSRI_OBJECTIVE_TOKENS  ? e->n
           : objective == TSRI_OBJECTIVE_NEXT    ? e->n + e->more - 1
                                                 : e->n + e->more;
}

struct tsri_train_data {
    tsri_train_data_options options;
    tsri_train_encoder encoder;
    tsri_train_corpus *corpus; /* the training's, or held_out below */
    tsri_train_corpus own, held_out;
    tsri_train_data *held; /* the view that was held back; NULL: none */
    bool is_held;          /* this is such a view */
    bool stream;
    bool split;            /* examples were drawn for validation */
    uint64_t begin, count; /* this view's part of the corpus: tokens, or examples as drawn */
    uint64_t rows;         /* windows, or examples */
    int32_t inner,
        window; /* stream: tokens of a window, without and with the special tokens around it */
    int32_t B, T, S;
    char **labels;
    size_t n_labels;
    tsri_bytes identity;
    tsri_train_data_summary summary;
    /* the batch that was returned last */
    int32_t *ids, *len, *targets, *source, *source_len, *scratch;
    tsri_train_place *pool;
    uint64_t pool_epoch, pool_number; /* what `pool` holds */
    size_t pool_count, pool_room;
};

/* corpus.c: opens files, finds the file of a token or example, and collects the labels of all. */
tsr_status tsri_train_corpus_open(const char *const *paths, size_t n,
                                  const tsri_train_token_file_options *options, bool stream,
                                  tsri_train_corpus *out);
void tsri_train_corpus_close(tsri_train_corpus *corpus);
/* The file that holds token or example `at`. */
size_t tsri_train_corpus_file(const tsri_train_corpus *corpus, uint64_t at);
/* Maps every file's labels to those of the model, or to all that were found, which it writes. */
tsr_status tsri_train_corpus_labels(const tsri_model *model, tsri_train_corpus *const *corpora,
                                    size_t n, char ***labels, size_t *n_labels);

/* labels.c: a growing set of labels, and its order. */
typedef struct tsri_train_label_set {
    char **items;
    size_t n, room;
} tsri_train_label_set;
tsr_status tsri_train_label_set_add(tsri_train_label_set *set, const char *label, size_t n);
void tsri_train_label_set_sort(tsri_train_label_set *set); /* once, after the last was added */

/* mask.c: BERT's masking of row number `draw`, counted over all batches; returns how many tokens
 * were chosen. Special tokens are never chosen. */
size_t tsri_train_mask_row(const tsri_train_data *data, uint64_t draw, int32_t *ids,
                           int32_t *targets, int32_t n);
/* Masks one token, where the draws chose none in a whole batch. */
void tsri_train_mask_one(const tsri_train_data *data, uint64_t draw, int32_t *ids, int32_t *targets,
                         const int32_t *len, int32_t B, int32_t T);

#endif
