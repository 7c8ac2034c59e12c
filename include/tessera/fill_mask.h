/* tessera/fill_mask.h - the likeliest tokens where a text has a mask. */
#ifndef TESSERA_FILL_MASK_H
#define TESSERA_FILL_MASK_H

#include "tessera/model.h"
#include "tessera/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_filled {
    int32_t id;
    float probability; /**< among the whole vocabulary */
} tsr_filled;

/** The candidates for one mask of one text, best first. */
typedef struct tsr_fill {
    uint32_t struct_size;
    uint32_t n;               /**< how many candidates */
    size_t text, mask, masks; /**< number of the text, of the mask in it; how many masks it has */
    const tsr_filled *candidates; /**< [n] */
    /** Masks past what the model reads: the text has no candidates then, and masks is 0. */
    size_t lost;
    /** Where lost is not 0: the tokens of the text, and the most that the model reads. */
    size_t tokens, reads;
} tsr_fill;

/**
 * Visits the masks of n texts, text by text and mask by mask, each with its top_k likeliest tokens.
 * "[MASK]" in a text is the model's own mask token, however that is spelled ("<mask>"). All masks
 * of a text are filled at once, each as if the others stayed masks.
 *
 * visit   returns not 0 to cancel; what it is given is valid during its call. A text without a mask
 *         is visited once, with masks 0 and no candidates; so is one with a mask past what the model
 *         reads, none of whose masks is filled. The texts run in batches of some thousand tokens, and
 *         each batch is visited before the texts after it are read
 * alloc   the ids of all texts, and for each mask of a batch top_k candidates
 * thread  one call at a time for a model
 * error   TSR_E_STATE      the model has no masked-LM head, no mask token or no tokenizer, or was
 *                          opened without a device
 *         TSR_E_ARGUMENT   top_k is below 1 or above the vocabulary
 *         TSR_E_DEVICE     a logit is not finite
 *         TSR_E_CANCELLED  visit asked for it
 */
TSR_API tsr_status tsr_fill_mask(tsr_model *model, const tsr_string *texts, size_t n,
                                 uint32_t top_k, int (*visit)(void *data, const tsr_fill *fill),
                                 void *data);

#ifdef __cplusplus
}
#endif
#endif
