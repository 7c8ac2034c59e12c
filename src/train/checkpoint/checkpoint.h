/* train/checkpoint/checkpoint.h - OUT/checkpoint-N/: everything that a run keeps after N updates.
 *
 *     model.safetensors    the model (adapter_model.safetensors and adapter_config.json with LoRA)
 *     config.json, ...     the other files of a model's folder
 *     state.safetensors    every parameter in f32, and its moments in the optimizer
 *     manifest.json        written last: step, size and SHA-256 of every file, settings, data
 *
 * It is written as checkpoint-N.tmp, synced, and renamed. With several ranks, all write: each a share of
 * the bytes of the model, and of the state what it owns. Rank 0 makes the files before, and writes the
 * manifest and renames the folder after. The bytes are those that one process writes. Random numbers are
 * functions of seed and step, so no generator's state needs to be kept.
 */
#ifndef TSRI_TRAIN_CHECKPOINT_CHECKPOINT_H
#define TSRI_TRAIN_CHECKPOINT_CHECKPOINT_H

#include "train/checkpoint/companions.h"
#include "train/recipe/settings.h"

/* How far a run has got. */
typedef struct tsri_train_position {
    int64_t step;   /* updates made */
    int64_t tokens; /* read */
    double seconds; /* spent in steps */
    double loss;    /* of the last step, and of the last validation; NAN: there was none yet */
    double eval_loss;
    double best; /* lowest loss or highest accuracy of all validations; NAN: there was none yet */
    int64_t best_step;
    int64_t without_better; /* validations since the best */
    int64_t eval_step;      /* of the last validation */
} tsri_train_position;

/* The SHA-256, in hex, of weights that a run reads and a checkpoint lacks: those that adapters belong to, and a
 * teacher's; "": the run has none, or its checkpoint doesn't say. */
typedef struct tsri_train_frozen {
    char base[65], teacher[65];
} tsri_train_frozen;

/* What a checkpoint is made from; borrowed. */
typedef struct tsri_train_kept {
    tsri_training *training;
    tsr_ranks *ranks; /* that write it together; NULL: this process is alone */
    const char *out;
    const tsri_train_companions *companions; /* copied into it; NULL with LoRA */
    const char *base; /* with LoRA: the model that the adapter belongs to, as the user named it */
    const tsri_train_settings *settings;
    const char *identity; /* of the data: tsri_train_data_identity */
    const tsri_train_frozen *frozen;
} tsri_train_kept;

/* Writes the model's own files into a folder that exists: of `kept`, the training, ranks, companions, base
 * and settings are read. All ranks call it. */
tsr_status tsri_train_checkpoint_write_model(const tsri_train_kept *kept, const char *folder);

/* All ranks call it, after tsri_training_complete_values. Where it fails, no part of the checkpoint
 * stays. */
tsr_status tsri_train_checkpoint_write(const tsri_train_kept *kept,
                                       const tsri_train_position *position);
/* The newest complete checkpoint: its folder in new memory, or NULL where there is none. For each
 * newer one that is incomplete or damaged, `warn` gets a sentence, and its folder is renamed to
 * checkpoint-N.damaged. */
tsr_status tsri_train_checkpoint_newest(const char *out,
                                        void (*warn)(void *data, const char *sentence),
                                        void *warn_data, char **folder);
/* Whether every file is what the manifest says: TSR_E_FORMAT or TSR_E_IO names the first that
 * isn't. */
tsr_status tsri_train_checkpoint_check(const char *folder);
/* What the manifest says; `identity` in new memory. */
tsr_status tsri_train_checkpoint_position(const char *folder, tsri_train_position *position,
                                          char **identity);
tsr_status tsri_train_checkpoint_frozen(const char *folder, tsri_train_frozen *out);
/* state.c: state.safetensors, an array at a time. All ranks call it. */
tsr_status tsri_train_state_write(tsri_training *training, tsr_ranks *ranks, const char *path);
/* Reads what this rank holds of every array of the training. TSR_E_FORMAT: the file has other arrays. */
tsr_status tsri_train_checkpoint_restore(const char *folder, tsri_training *training);
/* Removes all checkpoints but the newest `keep` (0: all stay) and the one of best_step. Where one
 * can't be removed, the others are removed first; then the failure names it. */
tsr_status tsri_train_checkpoint_prune(const char *out, int64_t keep, int64_t best_step);
/* OUT/checkpoint-STEP, in new memory. */
char *tsri_train_checkpoint_path(const char *out, int64_t step);
/* Puts the finished model into OUT: copies of the checkpoint's files except state and manifest; last the
 * weights, by a link. */
tsr_status tsri_train_checkpoint_publish(const char *folder, const char *out);

#endif
