/* model/load/load.h - opens a model: joins and checks its files, config, tokenizer and weights,
 * then stores the weights on devices. */
#ifndef TSRI_MODEL_LOAD_LOAD_H
#define TSRI_MODEL_LOAD_LOAD_H

#include "model/blocks/blocks.h"
#include "model/spec/generation.h"
#include "model/weights/coded.h"
#include "model/weights/tasks.h"
#include "tessera/model.h"
#include "text/grammar/grammars.h"
#include "text/tokenizer/tokenizer.h"

typedef struct tsri_model_options {
    tsr_dtype dtype; /* dtype that matrices are kept in: f32, f16, bf16, q8_0, q4_0, or NONE: as
                        stored */
    tsr_model_compute compute;
    const char *float_blocks; /* as tsri_model_keeping's; of static storage */
    tsr_status (*progress)(
        void *data, uint64_t done,
        uint64_t total); /* bytes stored; a result other than TSR_OK stops the load. May be NULL */
    void *progress_data;
    const char *const *lora; /* folders of adapters; their sum is added to the weights */
    size_t n_lora;
    const struct tsri_model *base; /* outlives the model, which shares weights with it; or NULL */
    bool tokenizer_only;           /* if no model can be opened, its tokenizer alone will do */
    int32_t slots;      /* the memory check counts keys and values of this many sequences (0: 1) */
    int64_t context;    /* of this many tokens each (0: what the model reads, at most 2048) */
    tsr_dtype kv_dtype; /* of keys and values: f32, f16, q8_0, or NONE: as tsr_model_options says */
    bool vectors;       /* a decoder is read as an encoder, and of a T5 the encoder alone */
    bool bare_vectors;  /* a decoder without an output matrix is read as an encoder */
    const char *
        task; /* of the adapters by task in the files: this one's; "": none; NULL: that of the files, or none */
} tsri_model_options;

typedef struct tsri_model {
    char *path; /* the folder or file that was read, with links not followed */
    /* The folder whose files say the rest: config, tokenizer, modules, templates; NULL: the file that was read says
     * all */
    char *folder;
    char *config_name; /* the file that messages about the config name */
    const tsri_model_arch *arch;
    const char
        *family_by; /* what told the family, where config.json has no model_type; else NULL */
    tsri_model_spec spec;
    tsri_model_generation generation;
    tsri_io_archive *archive;
    tsri_model_weights *weights;
    tsri_text_tokenizer *tokenizer; /* NULL: the model has none */
    char *tokenizer_why;            /* why the model has none, or NULL */
    tsri_text_grammars *grammars;   /* over the tokenizer; NULL: it has none */
    char format[32];                /* "safetensors", "GGUF", "llama2.c" */
    char stored[32];                /* dtype of most of the stored bytes, or how it is quantised */
    bool quantized;                 /* the folder holds blocks, which stay as they are */
    bool joined; /* matrices are made of several arrays when they are read, and not written */
    tsri_model_coded_summary coded; /* those that another program has quantised */
    tsri_model_tasks tasks;         /* adapters by task in its files */
    bool task_asked;                /* the chosen one is not only the files' own choice */
    tsri_run_context *run;          /* borrowed; NULL: opened only for inspection */
    tsri_graph *graph;  /* the graph that the weights were stored for; the run context refers to
                           it */
    tsr_dtype kv_dtype; /* dtype of the keys and values of its sessions */
    bool *states_used;  /* by session number, because sessions take turns with KV memory */
    /* The last session that ended, which may serve the next one (tsri_session_destroy). drop_parked,
     * which is set with it, releases it. */
    struct tsri_session *parked;
    void (*drop_parked)(struct tsri_model *model);
    size_t states_room;
    /* Whether kernels give each row of a run the bytes that it has in a run of its own
     * (tsri_session_can_draft): 1 yes, -1 no, 0 not known yet */
    int rows_alike;
} tsri_model;

/* Reads and checks everything except the weights' data; touches no device. */
tsr_status tsri_model_open(const char *path, const tsri_model_options *options, tsri_model **out);
/* Stores the weights on the devices of `run` (borrowed; must outlive the model). */
tsr_status tsri_model_store(tsri_model *model, tsri_run_context *run,
                            const tsri_model_options *options);
void tsri_model_close(tsri_model **model);
/* TSR_E_STATE where the model was opened only for inspection. */
tsr_status tsri_model_need_device(const tsri_model *model);
/* For who writes another model's folder from this one's: TSR_E_UNSUPPORTED where adapters by task would be lost. */
tsr_status tsri_model_need_no_tasks(const tsri_model *model);

#endif
