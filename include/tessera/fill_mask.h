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
    float probability; /**< of the whole vocabulary */
} tsr_filled;

/** The candidates for one mask of one text, best first. */
typedef struct tsr_fill {
    uint32_t struct_size;
    uint32_t n;               /**< candidates */
    size_t text, mask, masks; /**< numbers of the text and of the mask in it; masks that it has */
    const tsr_filled *candidates;
} tsr_fill;

/**
 * Visits the masks of n texts, text by text and mask by mask, each with its top_k likeliest tokens.
 * "[MASK]" in a text is the model's own mask token, however that is written ("<mask>"). All masks
 * of a text are filled at once, each as if the others stayed masks.
 *
 * visit   not 0 cancels. A text without a mask is visited once, with masks 0 and no candidates
 * alloc   what one batch of texts needs: their ids and top_k candidates a mask
 * error   TSR_E_STATE      no masked-LM head, no mask token, no tokenizer, opened without a device
 *         TSR_E_ARGUMENT   top_k below 1 or above the vocabulary; a text whose mask lies past what
 *                          the model reads: it is named
 *         TSR_E_CANCELLED  visit asked for it
 */
TSR_API tsr_status tsr_fill_mask(tsr_model *model, const tsr_string *texts, size_t n,
                                 uint32_t top_k, int (*visit)(void *data, const tsr_fill *fill),
                                 void *data);

#ifdef __cplusplus
}
#endif
#endif
