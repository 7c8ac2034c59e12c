/* train/recipe/families.h - which family of Hugging Face's computes an architecture, and its
 * config.json. */
#ifndef TSRI_TRAIN_RECIPE_FAMILIES_H
#define TSRI_TRAIN_RECIPE_FAMILIES_H

#include "train/recipe/recipe.h"

/* What a config says beside the architecture. Ids: -1 where there is no such token. */
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
    const char *type; /* config.json's model_type */
    const char
        *class; /* of transformers, for the objective; NULL: it has none that computes this */
} tsri_train_family;

/* Any architecture has a family: where none of Hugging Face's fits, "tessera". Its layer norms'
 * epsilon and the like are the family's own defaults.
 * error  TSR_E_ARGUMENT  this kind of model hasn't the objective */
tsr_status tsri_train_config_json(const tsri_train_config *config, tsri_train_family *family,
                                  json_t **out);

/* id2label and label2id; the object takes them. TSR_E_FORMAT: a label is there twice. */
tsr_status tsri_train_config_labels(json_t *object, const char *const *labels, size_t n);

#endif
