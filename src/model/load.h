/* model/load.h - opening a model: files, config, tokenizer and weights joined and checked, then
 * stored on devices. */
#ifndef TSRI_MODEL_LOAD_H
#define TSRI_MODEL_LOAD_H

#include "model/blocks.h"
#include "model/generation.h"
#include "tessera/model.h"
#include "text/tokenizer/tokenizer.h"

typedef struct tsri_model_options {
    tsr_dtype dtype; /* of matrices as kept: f32, f16, bf16, q8_0, q4_0, or NONE: as stored */
    tsr_model_compute compute;
    tsr_status (*progress)(
        void *data, uint64_t done,
        uint64_t total); /* bytes stored; not TSR_OK stops the load. May be NULL */
    void *progress_data;
    const char *const *lora; /* folders of adapters, whose sum is added to the weights */
    size_t n_lora;
    bool tokenizer_only; /* where no model can be opened, its tokenizer alone will do */
    int32_t slots;       /* the memory check counts keys and values of so many sequences (0: 1) */
    int64_t context;     /* of so many tokens (0: what the model reads, at most 2048) */
    tsr_dtype kv_dtype;  /* of keys and values: f32, f16, or NONE: f32 */
} tsri_model_options;

typedef struct tsri_model {
    char *path;        /* the folder or file that was read, links not followed */
    char *config_name; /* the file that sentences about the config name */
    const tsri_model_arch *arch;
    tsri_model_spec spec;
    tsri_model_generation generation;
    tsri_io_archive *archive;
    tsri_model_weights *weights;
    tsri_text_tokenizer *tokenizer; /* NULL: the model has none */
    char *tokenizer_why;            /* why not, or NULL */
    char format[32];                /* "safetensors", "GGUF", "llama2.c" */
    char stored[16];                /* dtype of most of the stored bytes */
    bool quantized;                 /* a folder that holds blocks: they stay what they are */
    tsri_run_context *run;          /* borrowed; NULL: opened to be looked at only */
    tsri_graph *graph;  /* that the weights were stored for; the run context keeps names of it */
    tsr_dtype kv_dtype; /* of the keys and values of its sessions */
    bool *states_used;  /* by session number: sessions take turns to use KV memory */
    struct tsri_session
        *parked; /* the last that ended: its plans serve the next of as many slots */
    size_t states_room;
} tsri_model;

/* Reads and checks everything but the weights' data; touches no device. */
tsr_status tsri_model_open(const char *path, const tsri_model_options *options, tsri_model **out);
/* Stores the weights on the devices of `run` (borrowed; outlives the model). */
tsr_status tsri_model_store(tsri_model *model, tsri_run_context *run,
                            const tsri_model_options *options);
void tsri_model_close(tsri_model **model);

/* Where a name given with -m lies: a path as it is, else a bundled model of that name
 * (TESSERA_MODELS, then share/tessera/models beside the library, then in the user's data folder).
 * New memory. A name that looks like a repository (org/name) is answered with how to download it.
 * NULL: the default. */
tsr_status tsri_model_locate(const char *name, char **path);
/* share/tessera/NAME beside the library's folder; new memory, NULL where the library's place is not
 * known. */
char *tsri_model_share_folder(const char *name);
/* Names of the bundled models that are found: calls visit for each. */
tsr_status tsri_model_bundled(void (*visit)(void *data, const char *name, const char *path),
                              void *data);

/* Figures for `info`. */
typedef struct tsri_model_figures {
    uint64_t parameters;
    uint64_t weight_bytes;      /* as kept */
    uint64_t stored_bytes;      /* in the files */
    const char *kept, *compute; /* dtype of most of the matrices' bytes, and of their products */
    uint64_t kv_bytes_per_token;
    double flops_per_token;      /* of one token with an empty past: 2 a multiply-add */
    double flops_per_past_token; /* what each earlier token adds: attention */
} tsri_model_figures;
void tsri_model_measure(const tsri_model *model, tsri_model_figures *out);

#endif
