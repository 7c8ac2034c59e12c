/* train/start/init.h - makes the folder that training begins with, in Hugging Face's layout. Its
 * weights are drawn as the family's official implementation draws them, or are those of a loaded
 * model with a new head. Training then opens it like any other model.
 *
 *     recipe  --families.h-->  config.json  --arch/<family>.c-->  spec  -->  arrays  -->  weights
 *
 * Each number is a function of the seed, the name of its array and its place in it: the bytes are
 * the same in every run, with any number of threads.
 */
#ifndef TSRI_TRAIN_START_INIT_H
#define TSRI_TRAIN_START_INIT_H

#include "train/recipe/recipe.h"
#include "train/step/training.h"

typedef struct tsri_train_init_options {
    const char *folder; /* made where it does not exist; files of the same names are replaced */
    uint64_t seed;
    /* A tokenizer.json, or a folder with a tokenizer's files, which are copied. NULL: `folder` has
     * a tokenizer.json already */
    const char *tokenizer;
    tsri_training_objective objective; /* decides which heads an encoder has */
    const char *const *labels;         /* of a classifier */
    size_t n_labels;
    double dropout;   /* what config.json is to state */
    bool no_new_head; /* of tsri_train_init_from: all arrays of the head must be the model's */
} tsri_train_init_options;

typedef struct tsri_train_made {
    char family[32]; /* model_type */
    char class[64];  /* transformers' class; "": none computes this */
    int64_t parameters;
} tsri_train_made;

/* Writes config.json, generation_config.json, tokenizer.json, tokenizer_config.json, README.md, and
 * last model.safetensors. tsri_train_recipe_finish has been called for the recipe.
 * error  TSR_E_FORMAT    a bad tokenizer, or a label that occurs twice
 *        TSR_E_ARGUMENT  an objective that this kind of model can't have
 *        TSR_E_IO        the folder can't be written */
tsr_status tsri_train_init(const tsri_train_recipe *recipe, const tsri_train_init_options *options,
                           tsri_train_made *made);

/* Does the same from a model's folder: copies its weights and tokenizer, and writes a config with
 * the head that the objective needs. Arrays of that head that the model does not have are drawn,
 * and so is a classifier for other labels. Arrays that are not used with this head are left out.
 * Where nothing is missing, the folder is a copy.
 * error  TSR_E_UNSUPPORTED  the family has no such head, or `model` is not a folder with
 *                           safetensors
 *        TSR_E_ARGUMENT     with no_new_head, an array would be drawn */
tsr_status tsri_train_init_from(const char *model, const tsri_train_init_options *options,
                                tsri_train_made *made);

#endif
