/* train/recipe/families.h - finds Hugging Face's model family that computes an architecture, and
 * writes its config.json. */
#ifndef TSRI_TRAIN_RECIPE_FAMILIES_H
#define TSRI_TRAIN_RECIPE_FAMILIES_H

#include "train/recipe/recipe.h"

/* What a config states beside the architecture. Ids are -1 where there is no such token. */
typedef struct tsri_train_config {
    const tsri_train_architecture *model;
    tsri_training_objective objective;
    int32_t vocab;
    int32_t bos, eos, pad;
    double dropout;
    const char *const *labels;
    size_t n_labels;
} tsri_train_config;

typedef struct tsri_train_family {
    const char *type;  /* config.json's model_type */
    const char *class; /* transformers' class for the objective; NULL: none computes this */
} tsri_train_family;

/* Every architecture has a family: where none of Hugging Face's fits, it is "tessera". The epsilon
 * of its norms and the like are the family's own defaults.
 * error  TSR_E_ARGUMENT  this kind of model can't have the objective */
tsr_status tsri_train_config_json(const tsri_train_config *config, tsri_train_family *family,
                                  json_t **out);

/* Adds id2label and label2id to the object. TSR_E_FORMAT: a label occurs twice. */
tsr_status tsri_train_config_labels(json_t *object, const char *const *labels, size_t n);

#endif
