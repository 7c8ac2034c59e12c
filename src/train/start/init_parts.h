/* train/start/init_parts.h - what init.c and init_from.c share. */
#ifndef TSRI_TRAIN_START_INIT_PARTS_H
#define TSRI_TRAIN_START_INIT_PARTS_H

#include "model/load/load.h"
#include "train/start/init.h"

/* The heads of an encoder that the objective needs, as tsri_model_wanted.heads; 0: the family has
 * no such head, or the objective needs none. */
uint32_t tsri_train_init_heads(const tsri_model_arch *arch, tsri_training_objective objective);

/* Writes model.safetensors with these arrays: those in `stored` are copied from `source`, those
 * whose entry there is NULL are drawn. *parameters: the numbers in all. */
tsr_status tsri_train_init_weights(const tsri_train_init_options *options,
                                   const tsri_model_spec *spec, const tsri_model_wanted *wanted,
                                   const tsri_io_archive *source,
                                   const tsri_io_array *const *stored, int64_t *parameters);

/* ---- init_folder.c ---- */

/* Ids of special tokens; -1: none. */
typedef struct tsri_train_special_ids {
    int32_t vocab, bos, eos, pad;
} tsri_train_special_ids;

/* Copies a tokenizer.json, or all files of a tokenizer that a folder has, into `folder`, whose
 * other files stay. */
tsr_status tsri_train_copy_tokenizer(const char *from, const char *folder);
/* Writes tokenizer_config.json beside the tokenizer.json of `folder`, unless there is one; finds
 * its special tokens by the names in use. */
tsr_status tsri_train_init_tokenizer(const char *folder, int64_t max_positions,
                                     const tsri_train_specials *specials,
                                     tsri_train_special_ids *out);
tsr_status tsri_train_write_json(const char *folder, const char *name, const json_t *object);
/* Writes generation_config.json from `config`. */
tsr_status tsri_train_write_generation(const char *folder, const json_t *config);
/* Writes README.md: how the model was made, and how to use it. `origin`: "the recipe char-gpt". */
tsr_status tsri_train_write_card(const char *folder, const char *origin,
                                 tsri_training_objective objective, const tsri_train_made *made);

#endif
