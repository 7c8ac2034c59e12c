/* tessera/model.h - opening a model on a device, and what is known of it. */
#ifndef TESSERA_MODEL_H
#define TESSERA_MODEL_H

#include "tessera/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_model tsr_model;

/** How the products of linear layers are formed. */
typedef enum tsr_model_compute {
    /** int8 of weights kept as q8 or q4: a number of a row of x is off by at most the row's largest
     * / 254, so an output by that times the sum of its weights' magnitudes. f32 of all others. */
    TSR_MODEL_COMPUTE_AUTO = 0,
    TSR_MODEL_COMPUTE_F32 = 1,
    TSR_MODEL_COMPUTE_F16 = 2, /**< where the device has such arithmetic; else f32 */
    TSR_MODEL_COMPUTE_INT8 = 3 /**< of weights kept as q8 or q4; f32 of all others */
} tsr_model_compute;

typedef struct tsr_model_options {
    uint32_t struct_size;
    /** tsr_dtype that matrices are kept in: TSR_F32, TSR_F16, TSR_BF16, TSR_GGML_Q8_0 (each number
     * within half a step, the largest of its 32 over 254) or TSR_GGML_Q4_0 (the scale of least
     * squares); 0: as stored (blocks of GGUF: the f32 that they hold). */
    uint32_t dtype;
    int64_t
        context; /**< tokens of a sequence that memory is planned for; 0: what the model reads */
    /** Bytes stored on the device so far, and in all. Not 0 cancels the load. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
    /** 1: where there are no weights, the tokenizer alone will do: a tokenizer.json or
     * tokenizer.model, a folder with one, the vocabulary in a GGUF file. Such a model encodes and
     * decodes, and nothing else; without a device only. */
    uint32_t tokenizer_only;
    uint32_t kv_dtype; /**< tsr_dtype that keys and values are kept in: TSR_F32, TSR_F16; 0: f32 */
    uint32_t compute;  /**< tsr_model_compute */
    /** Folders of LoRA adapters as PEFT writes them, which are added to the weights as these are
     * read: W + alpha / r * B A (alpha / sqrt(r) with use_rslora). Several add up. */
    uint32_t n_lora;
    const char *const *lora;
} tsr_model_options;

/**
 * Opens a model: a folder in Hugging Face's layout, a .gguf file, a llama2.c .bin file with
 * tokenizer.bin beside it, the name of a bundled model (NULL: the default one), or "shape:NAME", a
 * model of random weights and without a tokenizer, for measuring: llama-110m, gpt2-124m, minilm,
 * bert-base, transformer-base, tiny.
 * Everything is checked before the device is touched.
 *
 * device  borrowed: it stays open until the model is closed. NULL: the model is opened to be looked
 * at (info, tokenizer), and can't run owner   the caller closes *out thread  one call at a time for
 * a model and its device error   TSR_E_IO             no such path, or it cannot be read
 *         TSR_E_FORMAT         a file breaks its format, or files contradict each other
 *         TSR_E_UNSUPPORTED    an architecture, dtype or setting that is not served, by name;
 * org/name that is no path TSR_E_DEVICE_MEMORY, TSR_E_HOST_MEMORY  it does not fit: the sentence
 * has the sizes TSR_E_CANCELLED      progress asked for it
 */
TSR_API tsr_status tsr_model_open(const char *name, tsr_device *device,
                                  const tsr_model_options *options, tsr_model **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_model_close(tsr_model **model);

typedef struct tsr_model_info {
    uint32_t struct_size;
    uint32_t has_tokenizer;
    const char *path, *format; /**< "safetensors", "GGUF", "llama2.c" */
    const char *family;        /**< "llama" */
    const char *stored;        /**< dtype of most of the stored bytes */
    const char *tokenizer_why; /**< why the tokenizer can't be used, or "" */
    int64_t layers, width, heads, kv_heads, head_size, ffn, vocab, context;
    uint64_t parameters;
    uint64_t weight_bytes; /**< as kept */
    uint64_t kv_bytes_per_token;
    double flops_per_token;      /**< of one token with nothing before it */
    double flops_per_past_token; /**< what attention adds for each earlier token */
    int32_t bos, pad;            /**< -1: none */
    uint32_t n_eos;
    const int32_t *eos;
    const char *kv_dtype;  /**< "f32" or "f16": how keys and values are kept */
    const char *kept;      /**< dtype that most bytes of matrices are kept in */
    const char *compute;   /**< how their products are formed: "f32", "f16", "int8" */
    uint64_t stored_bytes; /**< of all arrays in the files */
    /** "decoder", "encoder" or "encoder-decoder". The sizes above are those of the decoder where
     * there is one, the work that of a token which it generates; without a decoder, the encoder's.
     */
    const char *kind;
    int64_t encoder_layers; /**< 0: none */
    int64_t source_vocab;   /**< ids that the encoder reads */
    int64_t source_context; /**< tokens of a text that the encoder reads at most */
    int64_t labels;         /**< of the classifier; 0: the model has none */
} tsr_model_info;

/** Strings and arrays live as long as the model. */
TSR_API tsr_status tsr_model_info_get(const tsr_model *model, tsr_model_info *out);

/** Appends lines "name: value" that describe the settings (positions, norms, windows, tokenizer
 * ...) for a reader, by a callback. */
TSR_API tsr_status tsr_model_describe(const tsr_model *model,
                                      void (*line)(void *data, const char *name, const char *value),
                                      void *data);

/** Device memory in use by kind, in bytes. */
typedef struct tsr_model_memory {
    uint32_t struct_size, reserved;
    uint64_t weights, states, activations, inputs;
} tsr_model_memory;
TSR_API tsr_status tsr_model_memory_get(const tsr_model *model, tsr_model_memory *out);

/** Visits the bundled models that are found: name and folder. */
TSR_API tsr_status tsr_model_bundled(void (*visit)(void *data, const char *name, const char *path),
                                     void *data);

#ifdef __cplusplus
}
#endif
#endif
