/* train/data/data.h - what a model learns from: text files as token files on disk, read batch by
 * batch.
 *
 *     files --records.h--> texts --tokenizer--> token files (token_file.h) --> batches
 *
 * Batch number i is a pure function of the files, the options and i: a run that goes on needs to
 * know nothing but its step. Texts are tokenized once, as a stream; a token file is named after the
 * SHA-256 of its text, the tokenizer and the options that matter, and serves the next run. Batches
 * read from it at offsets, so memory does not grow with the corpus.
 *
 *   objective  packed                              else: a sequence an example
 *   next       windows of `block` tokens and the   a text and eos; or source, target and eos, of
 *              one behind them, over all texts     which the target alone counts
 *   masked     cls, block - 2 tokens, sep          a text with the tokens around it
 *   translate  -                                   source and eos; start and target; target and eos
 *   classify   -                                   a text with the tokens around it, and its label
 *
 * Files by their names: .jsonl and .json hold an object a line, .tsv and .tab source TAB target (or
 * text TAB label), .csv a header and RFC 4180's records; any other is plain text. Of plain text a
 * file is a text; where nothing is packed, each line that is not blank is.
 *
 * An epoch takes every example once, in the order of a permutation drawn for it. Packed windows of
 * later epochs begin elsewhere. Other examples come in pools of some batches, sorted by length
 * within, so that there is little padding; batches of a pool are shuffled.
 */
#ifndef TSRI_TRAIN_DATA_DATA_H
#define TSRI_TRAIN_DATA_DATA_H

#include "tessera/model.h"
#include "text/tokenizer/tokenizer.h"
#include "train/step/training.h"

typedef struct tsri_train_data tsri_train_data;

/* All zero but for paths: the defaults said here. Strings are borrowed until the data is closed. */
typedef struct tsri_train_data_options {
    const char *const *paths;
    size_t n_paths;
    const char *const *validation_paths; /* none: a share of `paths` is held back */
    size_t n_validation_paths;
    double validation;     /* that share, 0 to 0.5: the end of a packed text, else examples drawn
                              (whatever the seed) */
    const char *workspace; /* folder of the token files; made where there is none */
    tsri_training_objective objective;
    int32_t batch;        /* windows or sequences; 0: 1 */
    int32_t block;        /* tokens of a window, or the most of a sequence: what is longer loses its
                             end. 0: what the model reads, at most 1024 */
    int32_t target_block; /* translate: the most of a target; 0: block */
    bool pack;            /* next, masked */
    uint64_t seed;
    double mask_probability; /* masked; 0: 0.15 */
    /* Share of a tokenizer's merges left out at random where `paths` are cut. A file that is given
     * several times is cut anew each time. */
    double bpe_dropout;
    /* Of JSONL and CSV; NULL: "text", "label", "source", "target". */
    const char *text_field, *label_field, *source_field, *target_field;
    const char *source_language, *target_language; /* translate; NULL: what the model's files say */
    /* Bytes of text read so far, and in all, with the tokens they made. Not 0 cancels. */
    int (*progress)(void *data, uint64_t done, uint64_t total, uint64_t tokens);
    void *progress_data;
} tsri_train_data_options;

/* Reads the files, or finds what an earlier run made of them. The model is borrowed: its tokenizer,
 * its ids and its labels count, and it needs no device.
 * error  TSR_E_FORMAT    a file, by name and line: empty, not UTF-8, a field or a tab missing, a
 *                        quote left open, a label that the model does not know, an id past its
 *                        vocabulary, no tokens
 *        TSR_E_ARGUMENT  an option out of range; a block that the model does not read
 *        TSR_E_STATE     the model has no tokenizer, or no token that the objective needs
 *        TSR_E_IO        a file or the workspace; a full disk. Nothing half-written stays
 *        TSR_E_CANCELLED progress asked for it */
tsr_status tsri_train_data_open(tsr_model *model, const tsri_train_data_options *options,
                                tsri_train_data **out);
void tsri_train_data_close(tsri_train_data **data);

/* Of an epoch; the last one may be smaller. */
uint64_t tsri_train_data_batches(const tsri_train_data *data);
/* Any index: epoch index / batches. Borrowed until the next call for this data.
 * error  TSR_E_IO, TSR_E_FORMAT  a token file is gone or damaged */
tsr_status tsri_train_data_batch(tsri_train_data *data, uint64_t index, tsri_training_batch *out);
/* What was held back, or the files given for it: batches 0 .. batches - 1 in order, the same each
 * time. *out NULL: there is none. Owned by `data`. */
tsr_status tsri_train_data_validation(tsri_train_data *data, tsri_train_data **out);

/* A source's ids as those of a batch, cut as those. TSR_E_FORMAT: it has no tokens. */
tsr_status tsri_train_data_source(const tsri_train_data *data, const char *text, size_t n,
                                  tsri_text_ids *ids);

/* The most of a batch. S is 0 where there is no source. */
void tsri_train_data_sizes(const tsri_train_data *data, int32_t *B, int32_t *T, int32_t *S);
/* In the order of the targets: the model's, or those found, sorted. *n 0: no classes. */
const char *const *tsri_train_data_labels(const tsri_train_data *data, size_t *n);

typedef struct tsri_train_data_summary {
    uint64_t examples; /* windows or sequences of an epoch, validation left out */
    uint64_t tokens;   /* read by the model in an epoch: next's and masked's inputs, source and
                          target of a translation; those cut off left out */
    uint64_t cut;      /* examples that lost their end */
    uint64_t bytes;    /* of text */
    uint64_t prepared; /* tokens made by this call; 0: all was there */
    double seconds;    /* that it took */
} tsri_train_data_summary;
void tsri_train_data_summarize(const tsri_train_data *data, tsri_train_data_summary *out);

/* What a checkpoint keeps: a line of text that says which texts were read by which tokenizer. Two
 * data with the same line, options and index give the same batch. */
const char *tsri_train_data_identity(const tsri_train_data *data);
/* TSR_E_FORMAT: not the texts or tokenizer of `identity`; the sentence names the file. */
tsr_status tsri_train_data_check(const tsri_train_data *data, const char *identity);

/* Before there is a model: the labels found in the files, sorted (as numbers where all are whole
 * numbers); free each, and the array, by tsri_train_labels_free. Texts are read to their end. */
tsr_status tsri_train_labels_scan(const tsri_train_data_options *options, char ***labels,
                                  size_t *n);
void tsri_train_labels_free(char ***labels, size_t n);
/* Every text of the files as it would be tokenized (source and target one after the other), large
 * ones in pieces: what a tokenizer is trained on. */
tsr_status tsri_train_data_texts(const tsri_train_data_options *options,
                                 tsr_status (*take)(void *data, const char *text, size_t n),
                                 void *take_data);

#endif
