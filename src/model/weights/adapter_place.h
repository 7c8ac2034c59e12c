/* model/weights/adapter_place.h - the array of a model that an array of an adapter belongs to, by its name
 * in the family's files of Hugging Face. */
#ifndef TSRI_MODEL_WEIGHTS_ADAPTER_PLACE_H
#define TSRI_MODEL_WEIGHTS_ADAPTER_PLACE_H

#include "model/weights/weights.h"

typedef struct tsri_model_adapter_search {
    const tsri_model_arch *arch;
    const tsri_model_weights *weights;
    /* For a GGUF file: the arrays that Hugging Face's files have in its place; else nothing */
    const tsri_model_wanted *names;
    const char *path; /* the adapter's file, for messages */
} tsri_model_adapter_search;

typedef struct tsri_model_adapter_place {
    const tsri_model_part *part;
    const tsri_model_weight *weight;
    /* Elements of a head whose rows the model's file has in pairs (i, i + half of them), as they are
     * rotated; 0: the rows lie as in the adapter's file */
    int64_t paired;
} tsri_model_adapter_place;

/* Finds the model's array of this name, or one where either name is the end of the other; of a GGUF file
 * the one in its place. `given`: the adapter's array, for messages.
 *
 * error   TSR_E_FORMAT  there is no such array, or two, or one in another form */
tsr_status tsri_model_adapter_find(const tsri_model_adapter_search *search, const char *given,
                                   const char *name, tsri_model_adapter_place *out);

#endif
