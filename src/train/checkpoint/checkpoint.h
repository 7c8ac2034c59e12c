/* train/checkpoint/checkpoint.h - OUT/checkpoint-N/: all that N updates made.
 *
 *     model.safetensors    the model (adapter_model.safetensors and adapter_config.json with LoRA)
 *     config.json, ...     what its folder needs beside
 *     state.safetensors    every parameter in f32 and what the optimizer knows of it
 *     manifest.json        written last: step, size and SHA-256 of every file, settings, data
 *
 * It is made as checkpoint-N.tmp, synced, and renamed. Random numbers are functions of seed and
 * step, so there is no generator to keep.
 */
#ifndef TSRI_TRAIN_CHECKPOINT_CHECKPOINT_H
#define TSRI_TRAIN_CHECKPOINT_CHECKPOINT_H

#include "train/checkpoint/companions.h"
#include "train/recipe/settings.h"

/* Where a run is. */
typedef struct tsri_train_position {
    int64_t step;   /* updates made */
    int64_t tokens; /* read */
    double seconds; /* spent in steps */
    double loss;    /* of the last step, and of the last validation; NAN: none */
    double eval_loss;
    double best; /* of validations: lowest loss or highest accuracy; NAN: none */
    int64_t best_step;
    int64_t without_better; /* validations since the best */
    int64_t eval_step;      /* of the last validation */
} tsri_train_position;

/* What a checkpoint is made of; borrowed. */
typedef struct tsri_train_kept {
    tsri_training *training;
    const char *out;
    const tsri_train_companions *companions; /* go along; not with LoRA */
    const char *base; /* of LoRA: the model that the adapter belongs to, as it was named */
    const tsri_train_settings *settings;
    const char *identity; /* of the data */
} tsri_train_kept;

/* The model's own files, into a folder that is there: of `kept`, training, companions, base and
 * settings. */
tsr_status tsri_train_checkpoint_write_model(const tsri_train_kept *kept, const char *folder);

/* Nothing is left of one that fails. */
tsr_status tsri_train_checkpoint_write(const tsri_train_kept *kept,
                                       const tsri_train_position *position);
/* The newest whole one: its folder in new memory, NULL where there is none. Each newer one that is
 * not whole is told to `warn` in a sentence and renamed to checkpoint-N.damaged. */
tsr_status tsri_train_checkpoint_newest(const char *out,
                                        void (*warn)(void *data, const char *sentence),
                                        void *warn_data, char **folder);
/* Whether every file is what the manifest says: TSR_E_FORMAT or TSR_E_IO names the first that
 * isn't. */
tsr_status tsri_train_checkpoint_check(const char *folder);
/* What the manifest says; `identity` in new memory. */
tsr_status tsri_train_checkpoint_position(const char *folder, tsri_train_position *position,
                                          char **identity);
/* state.c: state.safetensors, an array at a time. */
tsr_status tsri_train_state_write(tsri_training *training, const char *path);
/* Every array of the training; TSR_E_FORMAT where the file's are others. */
tsr_status tsri_train_checkpoint_restore(const char *folder, tsri_training *training);
/* Removes all but the newest `keep` (0: all stay) and that of best_step. One that can't be removed
 * stays: the failure tells its name, when the others are gone. */
tsr_status tsri_train_checkpoint_prune(const char *out, int64_t keep, int64_t best_step);
/* OUT/checkpoint-STEP, in new memory. */
char *tsri_train_checkpoint_path(const char *out, int64_t step);
/* The finished model: the checkpoint's files but state and manifest under OUT, the weights last. */
tsr_status tsri_train_checkpoint_publish(const char *folder, const char *out);

#endif
