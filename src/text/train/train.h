/* text/train/train.h - making a tokenizer from text: counts, then merges, then tokenizer.json.
 *
 *     feed, feed, ... -> finish -> the bytes of a tokenizer.json
 *
 * BPE is Hugging Face's BpeTrainer over its ByteLevel pre-tokenizer without a prefix space, to the
 * last tie: a text is taken line by line, its end included, as `Tokenizer.train` takes files. */
#ifndef TSRI_TEXT_TRAIN_TRAIN_H
#define TSRI_TEXT_TRAIN_TRAIN_H

#include "tessera/tokenizer.h"
#include "text/base/vocabulary.h"
#include "text/train/word_counts.h"

typedef struct tsri_text_trainer tsri_text_trainer;

/* The options' strings are borrowed until it is destroyed; files and progress are not read.
 * TSR_E_ARGUMENT: a vocabulary too small for bytes and specials, a special token twice or empty. */
tsr_status tsri_text_trainer_new(const tsr_tokenizer_training *options, tsri_text_trainer **out);
/* text is valid UTF-8 and ends where a line does, or where tsri_text_cut_place says. */
tsr_status tsri_text_trainer_feed(tsri_text_trainer *trainer, const char *text, size_t n);
/* Once. TSR_E_FORMAT: no text was fed. */
tsr_status tsri_text_trainer_finish(tsri_text_trainer *trainer, tsri_bytes *json,
                                    tsr_tokenizer_trained *out);
void tsri_text_trainer_destroy(tsri_text_trainer **trainer);

/* Merges of counted words (bpe.c), whose first symbols are their bytes, by byte_ids, or,
 * where that is NULL, their characters, by `pieces`. `pieces` has special tokens and alphabet at
 * first, and gets the merged ones, until there are vocab_size. */
typedef struct tsri_text_merge_pair {
    int32_t left, right;
} tsri_text_merge_pair;

typedef struct tsri_text_merges {
    tsri_text_merge_pair *pairs;
    size_t count, capacity;
} tsri_text_merges;

tsr_status tsri_text_learn_merges(const tsri_text_word_counts *words, const int32_t *byte_ids,
                                  int64_t vocab_size, uint64_t min_frequency,
                                  int (*progress)(void *data, uint64_t done, uint64_t total),
                                  void *progress_data, tsri_text_vocabulary *pieces,
                                  tsri_text_merges *out);

/* Appends the tokenizer.json (write.c). Merges that a later one replaces get left -1. */
tsr_status tsri_text_write_trained(const tsr_tokenizer_training *options,
                                   const tsri_text_vocabulary *pieces, tsri_text_merges *merges,
                                   tsri_bytes *json);

#endif
