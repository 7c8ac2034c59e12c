/* train/checkpoint/companions.h - what a model's folder needs beside its weights (config,
 * tokenizer, generation settings), in memory from the start of a run: its folder may be removed or
 * changed while the run goes on, and a checkpoint that a run goes on from is removed by its later
 * ones. */
#ifndef TSRI_TRAIN_CHECKPOINT_COMPANIONS_H
#define TSRI_TRAIN_CHECKPOINT_COMPANIONS_H

#include "base/bytes.h"

#include <stdbool.h>

typedef struct tsri_train_companion {
    char *name;
    tsri_bytes data;
} tsri_train_companion;

/* All zero holds nothing. */
typedef struct tsri_train_companions {
    tsri_train_companion *items;
    size_t n, room;
} tsri_train_companions;

/* Reads them; config.json with the dtype that trained weights have. `card`: README.md too. A file
 * that is too large to be one is told to `warn` in a sentence and left out. */
tsr_status tsri_train_companions_read(const char *folder, bool card,
                                      void (*warn)(void *data, const char *sentence),
                                      void *warn_data, tsri_train_companions *out);
tsr_status tsri_train_companions_write(const tsri_train_companions *companions, const char *folder);
void tsri_train_companions_clear(tsri_train_companions *companions);

/* Whether a file of a model's folder belongs to it beside its weights: config, tokenizer,
 * generation settings. */
bool tsri_train_accompanies(const char *name);

#endif
