/* tessera/model.h - opening a model on a device, and facts about it. */
#ifndef TESSERA_MODEL_H
#define TESSERA_MODEL_H

#include "tessera/device.h"
#include "tessera/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_model tsr_model; /**< an open model */

/** The compute dtype of linear layers: what their products are formed in. */
typedef enum tsr_model_compute {
    /** int8 for weights kept as q8 or q4, unless a device forms such products more slowly than those
     * of floats (a GPU without dot products of bytes); f32 for all others. In int8 a number of a row
     * of x is off by at most the row's largest / 254, so an output by at most that times the sum of
     * its weights' magnitudes. */
    TSR_MODEL_COMPUTE_AUTO = 0,
    TSR_MODEL_COMPUTE_F32 = 1,
    TSR_MODEL_COMPUTE_F16 = 2,  /**< where the device has such arithmetic; else f32 */
    TSR_MODEL_COMPUTE_INT8 = 3, /**< for weights kept as blocks; f32 for all others */
    TSR_MODEL_COMPUTE_BF16 = 4  /**< where the device has fast instructions for it; else f32 */
} tsr_model_compute;

typedef struct tsr_model_options {
    uint32_t struct_size;
    /** Storage dtype of matrices: TSR_F32, TSR_F16, TSR_BF16, TSR_GGML_Q8_0 (each number is within
     * half a step: the largest of its block of 32, over 254) or TSR_GGML_Q4_0 (the scale with the
     * least squared error); 0: as in the file. Blocks then stay as they are, except on devices
     * without products for them: there they become the f32 that they stand for. */
    uint32_t dtype;
    /** Tokens of a sequence for which the model must find memory when it is opened; 0: what the model
     * reads, but at most 2,048. A sequence may grow past that, as long as the device has memory. */
    int64_t context;
    /** Told how many bytes are stored on the device, and how many there are; returns not 0 to
     * cancel the load. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
    /** 1: where there are no weights, a tokenizer alone is enough: a tokenizer.json or
     * tokenizer.model, a tekken.json, a file of tiktoken, a folder with one of them, or the vocabulary of a GGUF file. A
     * folder's own tokenizer is taken before that of GGUF files in it. Such a model can only encode and
     * decode, and is opened without a device. */
    uint32_t tokenizer_only;
    /** Storage dtype of keys and values: TSR_F32, TSR_F16, or TSR_GGML_Q8_0 where the sizes of a head's
     * keys and values are multiples of 32 (each number is within half a step: the largest of its
     * block of 32, over 254); 0: TSR_F32 with weights in f32 (as `dtype` asks, else as the file has
     * them) or where those of one context need at most 64 MiB in f32, else TSR_F16. */
    uint32_t kv_dtype;
    uint32_t compute; /**< tsr_model_compute */
    /** Folders of LoRA adapters as PEFT writes them, which are added to the weights while these are
     * read: W + alpha / r * B A (alpha / sqrt(r) with use_rslora). All are added. Matrices that stay in the
     * blocks of their file stay as they are, and x A' B' is added to products with them. */
    uint32_t n_lora;
    const char *const *lora;
    /** Ranks that share the model's layers: each opens the model with the same options and holds only
     * its own layers, dealt by memory. From then on, all make the same calls with this model in the same
     * order, and all get the results; the device is one. Borrowed until the model is closed. NULL: this
     * process has all layers. */
    tsr_ranks *ranks;
    /** An open model of the same files on the same device; this one is opened with other adapters than it, or
     * without. Both use one copy in the device's memory of each weight that the adapters of
     * neither change; each gives the bytes that it gives alone. Borrowed: it is closed after this model. NULL:
     * all weights are this model's own. */
    const tsr_model *base;
    /** 1: it is opened for vectors (tsr_embedder_create): a decoder is read as an encoder, which reads whole texts
     * and does not write, also where its files don't say that it is one; of a T5, the encoder alone. 2: so is a bare
     * decoder (its class is LlamaModel, Qwen3Model, ...), which has no output matrix to write with; no other. */
    uint32_t vectors;
    uint32_t reserved;
    /** Of a model whose own files have LoRA adapters by task (jina-embeddings-v3): the task whose adapter is added
     * to the weights, as those of `lora` are; "": none; NULL: the one that its sentence-transformers folder names
     * (default_task), else none. */
    const char *task;
} tsr_model_options;

/**
 * Opens a model. Everything is checked before the device is touched.
 *
 * name    a path: a folder of Hugging Face or CTranslate2, a folder of GGUF files, a .gguf file, or a
 *         llama2.c .bin file with tokenizer.bin beside it;
 *         the name of a bundled model;
 *         a name of a model that another program has downloaded (tsr_model_list):
 *         org/name[@revision][:quantisation] in the cache of Hugging Face or llama.cpp, name[:tag],
 *         org/name[:tag] or host/org/name[:tag] of Ollama; no network is used;
 *         or "shape:NAME", a model for measuring that has random weights and no tokenizer: llama-15m,
 *         llama-110m, smollm2-135m, llama-1b, gpt2-124m, minilm, bert-base, transformer-base, tiny.
 *         NULL: the default bundled model
 * device  NULL: the model can be examined (info, tokenizer), but can't run
 * options may be NULL
 * owner   the caller closes *out; device is borrowed and stays open until then
 * thread  one call at a time for a model and its device
 * error   TSR_E_IO             there is no such path, or it cannot be read
 *         TSR_E_FORMAT         a file breaks its format, or files contradict each other
 *         TSR_E_UNSUPPORTED    an architecture, dtype or setting that is not supported: the
 *                              sentence names it; a name that no cache has: the sentence gives the
 *                              command that downloads it
 *         TSR_E_DEVICE_MEMORY, TSR_E_HOST_MEMORY  the model does not fit: the sentence gives the
 *                              sizes
 *         TSR_E_ARGUMENT       more ranks than layers; a base that is another model or on another device; the files
 *                              have no adapter for the task
 *         TSR_E_PEER           a rank is gone
 *         TSR_E_CANCELLED      progress asked for it
 */
TSR_API tsr_status tsr_model_open(const char *name, tsr_device *device,
                                  const tsr_model_options *options, tsr_model **out);
/** Closes a model. *model may be NULL, and is NULL afterwards. */
TSR_API void tsr_model_close(tsr_model **model);

typedef struct tsr_model_info {
    uint32_t struct_size;
    uint32_t has_tokenizer;
    const char *path, *format; /**< "safetensors", "GGUF", "llama2.c" */
    const char *family;        /**< "llama" */
    const char
        *stored; /**< dtype of most bytes in the files, or how they are quantised: "gptq 4 bits" */
    const char *tokenizer_why; /**< why the tokenizer can't be used, or "" */
    int64_t layers, width, heads, kv_heads, head_size, ffn, vocab, context;
    uint64_t parameters;
    uint64_t weight_bytes; /**< in the storage dtype */
    uint64_t kv_bytes_per_token;
    double flops_per_token;      /**< of one token with no token before it */
    double flops_per_past_token; /**< what attention adds for each earlier token in all layers */
    int32_t bos, pad;            /**< token ids; -1: none */
    uint32_t n_eos;
    const int32_t *eos;
    const char *kv_dtype;  /**< storage dtype of keys and values: "f32", "f16" or "q8_0" */
    const char *kept;      /**< storage dtype of most bytes of matrices */
    const char *compute;   /**< compute dtype of their products: "f32", "f16", "bf16", "int8" */
    uint64_t stored_bytes; /**< of all arrays in the files */
    /** "decoder", "encoder" or "encoder-decoder". The sizes above are those of the decoder where
     * there is one, and flops are those of a token that it generates; else they are the
     * encoder's. */
    const char *kind;
    int64_t encoder_layers; /**< 0: no encoder */
    int64_t source_vocab;   /**< how many ids the encoder knows */
    int64_t source_context; /**< the most tokens of a text that the encoder reads */
    int64_t labels;         /**< of the classifier; 0: no classifier */
    int64_t experts;        /**< of a layer; 0: none has experts */
    int64_t experts_used;   /**< those of them that a token takes */
    uint64_t
        active_parameters; /**< with which a token is computed: of experts, those that it takes */
    /** What attention adds to a token that ends a full context; layers with a sliding window see only
     * the tokens in it. Of an encoder, the mean over the tokens of its longest text. */
    double flops_at_context;
} tsr_model_info;

/**
 * Tells what a model is.
 *
 * owner   strings and arrays belong to the model
 * error   TSR_E_ARGUMENT  out->struct_size is not set
 */
TSR_API tsr_status tsr_model_info_get(const tsr_model *model, tsr_model_info *out);

/**
 * Describes the settings (positions, norms, windows, tokenizer, ...) for a reader, as names and
 * values.
 *
 * line    called for each; its texts are valid during its call
 * error   TSR_E_HOST_MEMORY  there is too little memory
 */
TSR_API tsr_status tsr_model_describe(const tsr_model *model,
                                      void (*line)(void *data, const char *name, const char *value),
                                      void *data);

/** Device memory in use, by its contents, in bytes. */
typedef struct tsr_model_memory {
    uint32_t struct_size, reserved;
    uint64_t weights, states, activations, inputs;
} tsr_model_memory;
/**
 * Tells how much device memory a model uses; zeros where it was opened without a device.
 *
 * units   bytes
 * error   TSR_E_ARGUMENT  out->struct_size is not set
 */
TSR_API tsr_status tsr_model_memory_get(const tsr_model *model, tsr_model_memory *out);

/**
 * Tells whether two models are the same, without reading all of their weights: the SHA-256, in hex, of
 * the vocabulary; of each array's name, type, shape and first 4096 bytes; of all arrays of its LoRA
 * adapters; and of what says how it is run: the metadata of a GGUF, llama2.c or CTranslate2 file, and the
 * folder's other files (config.json, those of the tokenizer, chat templates, the modules of a
 * sentence-transformers folder).
 *
 * error   TSR_E_IO      a file of the model can't be read
 *         TSR_E_FORMAT  its modules.json is not JSON
 *         TSR_E_STATE   it is a tokenizer without weights (tsr_model_options.tokenizer_only)
 */
TSR_API tsr_status tsr_model_fingerprint(const tsr_model *model, char hex[65]);

/**
 * Visits the bundled models that are found: of several with one name, the one that the name opens.
 *
 * visit   called with the name and the folder of each; both are valid during its call
 * error   TSR_E_HOST_MEMORY  there is too little memory
 */
TSR_API tsr_status tsr_model_bundled(void (*visit)(void *data, const char *name, const char *path),
                                     void *data);

/** A model on this machine. */
typedef struct tsr_model_found {
    uint32_t struct_size, reserved;
    const char *name;  /**< what tsr_model_open takes */
    const char *path;  /**< its folder or file */
    const char *place; /**< "bundled", "own" (in a folder of TESSERA_MODELS or the user's data
                          folder), or whose cache it is in: "Hugging Face", "llama.cpp", .. */
    /** Of the file with its other parts, or of the files in the folder and in those of its
     * sentence-transformers modules; 0 where `why` is set. */
    uint64_t bytes;
    const char *get; /**< the command that downloads what is missing of it; NULL: bundled, or own */
    /** Why tsr_model_open refuses the name, where the cache says so: a manifest of Ollama that is damaged,
     * names no model or adds a LoRA adapter, which `path` then is. NULL: the cache doesn't refuse it. */
    const char *why;
} tsr_model_found;

/**
 * Visits all models that are found by name: bundled and own ones, then those in the caches of Hugging Face
 * (also the revisions beside main, as org/name@revision), llama.cpp and Ollama. None is opened: whether
 * it can be, and whether all its files are there, is not known. Several caches may have one name; it
 * opens the one that is visited first. No network is used.
 *
 * visit   called with each; what it is given is valid during its call
 * error   TSR_E_HOST_MEMORY  there is too little memory
 */
TSR_API tsr_status tsr_model_list(void (*visit)(void *data, const tsr_model_found *model),
                                  void *data);

#ifdef __cplusplus
}
#endif
#endif
