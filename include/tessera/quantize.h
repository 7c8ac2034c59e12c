/* tessera/quantize.h - a model's matrices as blocks of 8 or 4 bits, in a folder of their own. */
#ifndef TESSERA_QUANTIZE_H
#define TESSERA_QUANTIZE_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_quantize_options {
    uint32_t struct_size;
    uint32_t dtype; /**< TSR_GGML_Q8_0 or TSR_GGML_Q4_0; 0: TSR_GGML_Q8_0 */
    /** Told how many bytes of weights are written, and how many there are; returns not 0 to cancel.
     * May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_quantize_options;

/**
 * Writes a model folder whose matrices are quantised as tsr_model_options.dtype describes.
 * Everything else is as in the original: the other arrays, config.json (with a
 * "quantization_config", which other engines refuse by name), and copies of all other files that
 * are neither hidden nor weights, and of the folders of modules.json (sentence-transformers). The
 * folder opens like any other model, on any device, and gives the bytes that the original gives
 * with that dtype.
 *
 * name    as tsr_model_open takes it; a folder in Hugging Face's layout
 * folder  must not exist; it appears once it is whole, and not at all after a failure
 * options may be NULL
 * thread  any
 * error   TSR_E_ARGUMENT     dtype is not one of those above
 *         TSR_E_UNSUPPORTED  the model is a GGUF or llama2.c file, or is stored in blocks already
 *         TSR_E_IO           the folder exists, or cannot be written
 *         TSR_E_CANCELLED    progress asked for it
 *         and those of tsr_model_open
 */
TSR_API tsr_status tsr_quantize(const char *name, const char *folder,
                                const tsr_quantize_options *options);

#ifdef __cplusplus
}
#endif
#endif
