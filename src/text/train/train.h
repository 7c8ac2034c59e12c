/* text/train/train.h - makes a tokenizer from text: counts, then merges, then tokenizer.json.
 *
 *     feed, feed, ... -> finish -> the bytes of a tokenizer.json
 *
 * BPE is Hugging Face's BpeTrainer with its ByteLevel pre-tokenizer without a prefix space,
 * identical to the last tie: a text is taken line by line, each with its line end, as
 * `Tokenizer.train` takes files. */
#ifndef TSRI_TEXT_TRAIN_TRAIN_H
#define TSRI_TEXT_TRAIN_TRAIN_H

#include "tessera/tokenizer.h"
#include "text/base/vocabulary.h"
#include "text/train/word_counts.h"

typedef struct tsri_text_trainer tsri_text_trainer;

/* The options' strings are borrowed until the trainer is destroyed; files and progress are not
 * read. TSR_E_ARGUMENT: a vocabulary too small for the bytes and the special tokens, or a special
 * token that is empty or given twice. */
tsr_status tsri_text_trainer_new(const tsr_tokenizer_training *options, tsri_text_trainer **out);
/* text is valid UTF-8 and ends where a line does, or where tsri_text_cut_place says. */
tsr_status tsri_text_trainer_feed(tsri_text_trainer *trainer, const char *text, size_t n);
/* To be called once. TSR_E_FORMAT: no text was fed. */
tsr_status tsri_text_trainer_finish(tsri_text_trainer *trainer, tsri_bytes *json,
                                    tsr_tokenizer_trained *out);
void tsri_text_trainer_destroy(tsri_text_trainer **trainer);

typedef struct tsri_text_merge_pair {
    int32_t left, right;
} tsri_text_merge_pair;

typedef struct tsri_text_merges {
    tsri_text_merge_pair *pairs;
    size_t count, capacity;
} tsri_text_merges;

/* Learns the merges of counted words (bpe.c). A word's first symbols are its bytes, by byte_ids,
 * or, if that is NULL, its characters, by `pieces`. At first `pieces` has the special tokens and
 * the alphabet; the merged pieces are added until there are vocab_size. */
tsr_status tsri_text_learn_merges(const tsri_text_word_counts *words, const int32_t *byte_ids,
                                  int64_t vocab_size, uint64_t min_frequency,
                                  int (*progress)(void *data, uint64_t done, uint64_t total),
                                  void *progress_data, tsri_text_vocabulary *pieces,
                                  tsri_text_merges *out);

/* Appends the tokenizer.json (write.c). Sets `left` of merges that a later one replaces to -1. */
tsr_status tsri_text_write_trained(const tsr_tokenizer_training *options,
                                   const tsri_text_vocabulary *pieces, tsri_text_merges *merges,
                                   tsri_bytes *json);

#endif
