/* train/data/data.h - what a model learns from: text files, made into token files on disk, which
 * are read batch by batch.
 *
 *     files --records.h--> texts --tokenizer--> token files (token_file.h) --> batches
 *
 * Batch number i is a pure function of the files, the options and i: a run that is resumed needs to
 * know only its step. Texts are tokenized once, as a stream. A token file is named after the
 * SHA-256 of its text, the tokenizer and the options that matter, and later runs use it again.
 * Batches are read from it at offsets, so memory does not grow with the corpus.
 *
 *   objective  packed                              not packed: each example is a sequence
 *   next       windows of `block` tokens and the   a text and eos; or source, target and eos, where
 *              one behind them, over all texts     only the target counts in the loss
 *   masked     cls, block - 2 tokens, sep          a text with the tokens around it
 *   translate  -                                   source and eos; start and target; target and eos
 *   classify   -                                   a text with the tokens around it, and its label
 *   tokens     -                                   the tokens of words with those around a text; a word's
 *                                                  first token has its label, the others have none
 *
 * A file's name tells its form: .jsonl and .json hold one object a line; .tsv and .tab hold source
 * TAB target (or text TAB label); .csv holds a header and the records of RFC 4180; any other file
 * is plain text. Of words with labels, .jsonl and .json hold lists, and any other file but .csv columns. A plain text file is one text where texts are packed; else each line that is not
 * blank is a text.
 *
 * An epoch takes every example once, in the order of a permutation drawn for it. The packed windows
 * of later epochs begin at another offset. Examples that are not packed come in pools of several
 * batches; a pool is sorted by length, so that there is little padding, and its batches are
 * shuffled.
 */
#ifndef TSRI_TRAIN_DATA_DATA_H
#define TSRI_TRAIN_DATA_DATA_H

#include "tessera/model.h"
#include "text/tokenizer/tokenizer.h"
#include "train/step/training.h"

typedef struct tsri_train_data tsri_train_data;

/* What is zero has the default given here; paths are required. Strings are borrowed until the data
 * is closed. */
typedef struct tsri_train_data_options {
    const char *const *paths;
    size_t n_paths;
    const char *const *validation_paths; /* NULL: a share of `paths` is held back */
    size_t n_validation_paths;
    double validation;     /* that share, 0 to 0.5: the end of a packed text, else examples drawn
                              (the same ones for every seed) */
    const char *workspace; /* folder of the token files; made where it does not exist */
    tsri_training_objective objective;
    int32_t batch;        /* windows or sequences; 0: 1 */
    int32_t block;        /* tokens of a window, or the longest sequence: a longer one loses its
                             end. 0: the model's context, at most 1024 */
    int32_t target_block; /* translate: tokens of the longest target; 0: block */
    bool pack;            /* next, masked; of next, a source with its target is refused then */
    uint64_t seed;
    double mask_probability; /* masked; 0: 0.15 */
    /* BPE dropout: the share of the tokenizer's merges that are left out at random when `paths` are
     * tokenized. A file that is given several times is tokenized differently each time. */
    double bpe_dropout;
    /* Names of fields in JSONL and CSV; NULL: "text", "label", "source", "target". */
    const char *text_field, *label_field, *source_field, *target_field;
    const char *source_language, *target_language; /* translate; NULL: what the model's files say */
    /* Called with the bytes of text read so far and in all, and the tokens made so far. An answer
     * other than 0 cancels. */
    int (*progress)(void *data, uint64_t done, uint64_t total, uint64_t tokens);
    void *progress_data;
} tsri_train_data_options;

/* Reads the files, or finds the token files that an earlier run made from them. The model is
 * borrowed: only its tokenizer, its ids and its labels are used, and it needs no device.
 * error  TSR_E_FORMAT    a file, by name and line: empty, not UTF-8, a field or a tab missing, a
 *                        quote left open, a label that the model does not know, an id past its
 *                        vocabulary, no tokens
 *        TSR_E_ARGUMENT  an option out of range; a block longer than the model's context
 *        TSR_E_STATE     the model has no tokenizer, or no token that the objective needs
 *        TSR_E_IO        a file or the workspace; a full disk. No half-written file stays
 *        TSR_E_CANCELLED `progress` asked for it */
tsr_status tsri_train_data_open(tsr_model *model, const tsri_train_data_options *options,
                                tsri_train_data **out);
void tsri_train_data_close(tsri_train_data **data);

/* The number of batches of an epoch; the last one may be smaller. */
uint64_t tsri_train_data_batches(const tsri_train_data *data);
/* Any index is allowed: it belongs to epoch index / batches. Borrowed until the next call for this
 * data.
 * error  TSR_E_IO, TSR_E_FORMAT  a token file is gone or damaged */
tsr_status tsri_train_data_batch(tsri_train_data *data, uint64_t index, tsri_training_batch *out);
/* The data to validate on (held back, or from files of its own): batches 0 .. batches - 1 in order,
 * the same each time. *out NULL: there is none. Owned by `data`. */
tsr_status tsri_train_data_validation(tsri_train_data *data, tsri_train_data **out);
/* Of these batches, the one to measure as number i of n, where n at most are measured: one is drawn from each
 * nth part, the same for every seed. A file may be sorted, and the batches of a pool are sorted by length,
 * so the first n would say little of the others. If n is the number of batches, it is batch i. */
uint64_t tsri_train_data_drawn(const tsri_train_data *data, uint64_t i, uint64_t n);

/* A source's ids, made and cut as those of a batch are. TSR_E_FORMAT: it has no tokens. */
tsr_status tsri_train_data_source(const tsri_train_data *data, const char *text, size_t n,
                                  tsri_text_ids *ids);

/* The largest sizes of a batch. S is 0 where there is no source. */
void tsri_train_data_sizes(const tsri_train_data *data, int32_t *B, int32_t *T, int32_t *S);
/* The labels in the order of the targets: the model's, or those found, sorted. *n 0: there are no
 * classes. */
const char *const *tsri_train_data_labels(const tsri_train_data *data, size_t *n);

typedef struct tsri_train_data_summary {
    uint64_t examples; /* windows or sequences of an epoch, validation left out */
    uint64_t tokens;   /* read by the model in an epoch: inputs of next and masked, source and
                          target of a translation; not those that were cut off */
    uint64_t cut;      /* examples that lost their end */
    uint64_t bytes;    /* of text */
    uint64_t prepared; /* tokens made by this call; 0: all were there already */
    double seconds;    /* that this call took */
} tsri_train_data_summary;
void tsri_train_data_summarize(const tsri_train_data *data, tsri_train_data_summary *out);

/* What a checkpoint keeps: a line of text that says which texts were read by which tokenizer. Where
 * this line, the options and the index are the same, so is the batch. */
const char *tsri_train_data_identity(const tsri_train_data *data);
/* TSR_E_FORMAT: the texts or the tokenizer are not those of `identity`; the message names the file.
 */
tsr_status tsri_train_data_check(const tsri_train_data *data, const char *identity);

/* The labels found in the files, without a model, sorted (as numbers where all are whole numbers);
 * free them with tsri_train_labels_free. The files are read to their end. */
tsr_status tsri_train_labels_scan(const tsri_train_data_options *options, char ***labels,
                                  size_t *n);
void tsri_train_labels_free(char ***labels, size_t n);
/* The number of a label of n bytes among the model's; where these have default names, a label may be its number. -1: it
 * is not one of them. */
int32_t tsri_train_label_number(const tsri_model_spec *spec, const char *label, size_t n);
/* Whether the first record of some file in `paths` is a source with its target. A file that can't be read has
 * none: whoever reads it all says why. */
bool tsri_train_data_has_pairs(const tsri_train_data_options *options);
/* Gives `take` every text of the files as it would be tokenized (source and target one after the
 * other; large texts in pieces): what a tokenizer is trained on. */
tsr_status tsri_train_data_texts(const tsri_train_data_options *options,
                                 tsr_status (*take)(void *data, const char *text, size_t n),
                                 void *take_data);

#endif
