/* model/weights/adapter_place.h - the array of a model that an array of an adapter belongs to, by its name
 * in the family's files of Hugging Face. */
#ifndef TSRI_MODEL_WEIGHTS_ADAPTER_PLACE_H
#define TSRI_MODEL_WEIGHTS_ADAPTER_PLACE_H

#include "model/weights/weights.h"

typedef struct tsri_model_adapter_search {
    const tsri_model_arch *arch;
    tsri_model_weights *weights;
    /* For a GGUF file: the arrays that Hugging Face's files have in its place; else nothing */
    const tsri_model_wanted *names;
    const char *path; /* the adapter's file, for messages */
} tsri_model_adapter_search;

typedef struct tsri_model_adapter_place {
    /* NULL: the array belongs to a part of the model that is not computed */
    const tsri_model_part *part;
    const tsri_model_weight *weight;
    /* Elements of a head whose rows the model's file has in pairs (i, i + half of them), as they are
     * rotated; 0: the rows lie as in the adapter's file */
    int64_t paired;
} tsri_model_adapter_place;

/* Finds the model's array of this name, or one where either name is the end of the other; of a GGUF file
 * the one in its place. The name may have the family's other prefix. That of the output matrix is found where it
 * is the embedding, too: see tsri_model_adapter_untie. `given`: the adapter's array, for messages.
 *
 * error   TSR_E_FORMAT  there is no such array, or two, or one in another form */
tsr_status tsri_model_adapter_find(const tsri_model_adapter_search *search, const char *given,
                                   const char *name, tsri_model_adapter_place *out);

/* Where the output matrix of a language model is the embedding, makes it a matrix of its own (tsri_model_untie), which an
 * adapter then changes without the embedding, or the other way round. */
tsr_status tsri_model_adapter_untie(const tsri_model_adapter_search *search);

/* Where they are one, the array by which the files have it a second time, as the output matrix; NULL: none. */
const tsri_io_array *tsri_model_adapter_copy(const tsri_model_adapter_search *search);

#endif
