/* train/data/token_file.h - a text's tokens on disk, in the workspace: made once, then read at
 * offsets.
 *
 *     <key>.tokens   ids one after the other, 2 bytes each, or 4 where the vocabulary needs them
 *     <key>.index    a header, an entry for each example, the labels; written last
 *
 * <key> is the SHA-256 of the file, the tokenizer and the options that concern them. A stream
 * (packed texts) has no examples. */
#ifndef TSRI_TRAIN_DATA_TOKEN_FILE_H
#define TSRI_TRAIN_DATA_TOKEN_FILE_H

#include "base/files.h"
#include "train/data/encode.h"

typedef struct tsri_train_entry {
    uint64_t start;   /* where the example's ids begin in the file */
    uint32_t n, more; /* ids of the text (or source), and of the target behind them */
    uint32_t label;   /* its number among this file's labels */
    uint32_t line;    /* where the example is in the text file */
} tsri_train_entry;

typedef struct tsri_train_token_file {
    char *path;      /* of the text */
    char digest[65]; /* of the text */
    uint64_t n_tokens, n_examples, bytes;
    char **labels;
    uint64_t *label_lines; /* where each was first seen */
    size_t n_labels;
    tsri_file *tokens, *index;
    uint32_t width; /* bytes of an id */
    bool made;      /* by this call */
} tsri_train_token_file;

/* What a token file is made from, besides the text. */
typedef struct tsri_train_token_file_options {
    const tsri_train_data_options *data;
    const tsri_train_encoder *encoder;
    const char *workspace;
    double bpe_dropout;    /* share of merges left out, drawn by the seed of `data` and ... */
    uint64_t number;       /* ... the file's number in the corpus */
    uint64_t *done, total; /* bytes of text, of all files; for progress */
    uint64_t *prepared;    /* tokens made */
} tsri_train_token_file_options;

tsr_status tsri_train_token_file_open(const char *path,
                                      const tsri_train_token_file_options *options,
                                      tsri_train_token_file **out);
void tsri_train_token_file_close(tsri_train_token_file **tokens);

/* ids begin .. begin + n - 1. TSR_E_FORMAT: the file is damaged. */
tsr_status tsri_train_token_file_read(const tsri_train_token_file *tokens, uint64_t begin, size_t n,
                                      int32_t vocab, int32_t *out);
/* `count` entries from `first` on. */
tsr_status tsri_train_token_file_entries(const tsri_train_token_file *tokens, uint64_t first,
                                         size_t count, tsri_train_entry *out);

#endif
