/* train/start/init.h - the folder that training begins with: one in Hugging Face's layout, whose
 * weights are drawn as the family's official implementation draws them, or are a loaded model's
 * with a new head. Training then opens it like any other model.
 *
 *     recipe  --families.h-->  config.json  --arch/<family>.c-->  spec  -->  arrays  -->  weights
 *
 * Each number is a function of the seed, its array's name and its place: the same bytes in every
 * run, on any number of threads.
 */
#ifndef TSRI_TRAIN_START_INIT_H
#define TSRI_TRAIN_START_INIT_H

#include "train/recipe/recipe.h"
#include "train/step/training.h"

typedef struct tsri_train_init_options {
    const char *folder; /* OUT; made where there is none. What has these names is replaced */
    uint64_t seed;
    /* A tokenizer.json, or a folder with a tokenizer's files, which are copied. NULL:
     * tokenizer.json lies in OUT */
    const char *tokenizer;
    tsri_training_objective objective; /* which heads an encoder has */
    const char *const *labels;         /* of a classifier */
    size_t n_labels;
    double dropout; /* as config.json says it to others */
} tsri_train_init_options;

typedef struct tsri_train_made {
    char family[32]; /* model_type */
    char class[64];  /* of transformers; "" where it has none that computes this */
    int64_t parameters;
} tsri_train_made;

/* config.json, generation_config.json, tokenizer.json, tokenizer_config.json, README.md, and last
 * model.safetensors. The recipe is finished.
 * error  TSR_E_FORMAT    the tokenizer, or a label that is there twice
 *        TSR_E_ARGUMENT  an objective that this kind of model hasn't
 *        TSR_E_IO        the folder can't be written */
tsr_status tsri_train_init(const tsri_train_recipe *recipe, const tsri_train_init_options *options,
                           tsri_train_made *made);

/* The same from a model's folder: its weights and tokenizer, and a config with the head that the
 * objective needs. Arrays of that head that the model lacks are drawn; a classifier of other labels
 * is drawn anew. Arrays that the head doesn't read are left out. Where nothing is missing the
 * folder is a copy.
 * error  TSR_E_UNSUPPORTED  the family has no such head, or `model` is no folder of safetensors */
tsr_status tsri_train_init_from(const char *model, const tsri_train_init_options *options,
                                tsri_train_made *made);

#endif
