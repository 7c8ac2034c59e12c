/* tessera/merge.h - LoRA adapters added to a model's weights, in a folder of their own. */
#ifndef TESSERA_MERGE_H
#define TESSERA_MERGE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_merge_options {
    uint32_t struct_size;
    uint32_t n_lora;         /**< at least 1 */
    const char *const *lora; /**< folders of adapters, as in tsr_model_options */
    /** Told how many bytes of weights are written, and how many there are; returns not 0 to cancel.
     * May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_merge_options;

/**
 * Writes a model folder in Hugging Face's layout whose matrices include the adapters: W +
 * alpha / r * B A, summed in f32 and rounded to the dtype in which W is stored. Everything else is
 * as in the original: with copies of all other files that are neither hidden nor weights, and of
 * the folders of modules.json (sentence-transformers). The new model gives what the original gives
 * with these adapters.
 *
 * name    as tsr_model_open takes it; a folder in Hugging Face's layout
 * folder  must not exist; it appears once it is whole, and not at all after a failure
 * thread  any
 * error   TSR_E_ARGUMENT     no adapter is given
 *         TSR_E_UNSUPPORTED  the model is in another format, or is stored in blocks
 *         TSR_E_IO           the folder exists, or cannot be written
 *         TSR_E_CANCELLED    progress asked for it
 *         and those of tsr_model_open
 */
TSR_API tsr_status tsr_merge(const char *name, const char *folder,
                             const tsr_merge_options *options);

#ifdef __cplusplus
}
#endif
#endif
