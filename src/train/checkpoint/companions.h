/* train/checkpoint/companions.h - what a model's folder needs beside its weights (config,
 * tokenizer, generation settings). They are kept in memory from the start of a run, because their
 * folder may be removed or changed while the run goes on; and where it is a checkpoint that the run
 * was resumed from, the run itself removes it later. */
#ifndef TSRI_TRAIN_CHECKPOINT_COMPANIONS_H
#define TSRI_TRAIN_CHECKPOINT_COMPANIONS_H

#include "base/bytes.h"

#include <stdbool.h>

typedef struct tsri_train_companion {
    char *name; /* "config.json", or "1_Pooling/config.json" */
    tsri_bytes data;
} tsri_train_companion;

/* All zero: empty. */
typedef struct tsri_train_companions {
    tsri_train_companion *items;
    size_t n, room;
} tsri_train_companions;

/* Reads them, and the files of additional_chat_templates and of the folders that modules.json names;
 * config.json gets the dtype that trained weights have. `card`: README.md too. A file that is too large to be one of them is left
 * out, and `warn` gets a sentence about it. */
tsr_status tsri_train_companions_read(const char *folder, bool card,
                                      void (*warn)(void *data, const char *sentence),
                                      void *warn_data, tsri_train_companions *out);
tsr_status tsri_train_companions_write(const tsri_train_companions *companions, const char *folder);
void tsri_train_companions_clear(tsri_train_companions *companions);

/* Whether a file of this name belongs to a model's folder beside the weights: config, tokenizer,
 * generation settings. */
bool tsri_train_accompanies(const char *name);

#endif
