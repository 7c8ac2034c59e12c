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
    const char *const *lora; /**< folders of adapters, as tsr_model_options has them */
    /** Bytes of weights written so far, and in all. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_merge_options;

/**
 * Writes a model folder in Hugging Face's layout whose matrices have the adapters in them: W +
 * alpha / r * B A, summed in f32 and rounded to what W is stored as. Everything else is as the
 * original has it. It gives what the model gives with these adapters.
 *
 * name    as tsr_model_open takes it; a folder in Hugging Face's layout
 * folder  must not exist; it appears when it is whole, and not at all after a failure
 * error   TSR_E_UNSUPPORTED  a model of another format, or one of blocks
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
