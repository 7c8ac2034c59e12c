/* model/load/sentence.h - a sentence-transformers folder: how the vector of a text is made from a
 * model's last hidden states, and what is done to the text before.
 *
 * modules.json lists the modules in order: Transformer, Pooling, then any of Dense and Normalize.
 * Every setting that would change a vector is either served or refused by name. */
#ifndef TSRI_MODEL_LOAD_SENTENCE_H
#define TSRI_MODEL_LOAD_SENTENCE_H

#include "model/load/load.h"

/* y = activation(W x + b), or x / |x| if there is no weight. */
typedef struct tsri_model_step {
    float *weight, *bias; /* [out, in]; [out] or NULL */
    int32_t in, out;
    bool tanh;
} tsri_model_step;

typedef struct tsri_model_prompt {
    char *name, *text; /* `text` is put before each text */
} tsri_model_prompt;

enum { TSRI_MODEL_MAX_STEPS = 8 };

typedef struct tsri_model_sentence {
    bool found;       /* modules.json exists; otherwise mean pooling and no step */
    uint32_t pooling; /* tsr_pool */
    bool pool_prompt; /* the prompt's tokens are pooled too */
    bool lower_case;
    int64_t max_tokens; /* 0: the files give none */
    tsri_model_step steps[TSRI_MODEL_MAX_STEPS];
    int n_steps;
    int32_t width; /* of the vector */
    tsri_model_prompt *prompts;
    size_t n_prompts;
    const char *default_prompt; /* the name of one of `prompts`, or NULL */
} tsri_model_sentence;

/* Reads what a model at `path` says of its vectors: in files of its folder, or in a GGUF file. Its hidden
 * states are `width` wide, and it reads `context` tokens. Where it says nothing, `found` stays false.
 *
 * owner   the caller: tsri_model_sentence_clear, also after an error
 * error   TSR_E_FORMAT       a file breaks its rules: the file and the field are named
 *         TSR_E_UNSUPPORTED  a module or setting that is not served */
tsr_status tsri_model_sentence_read(const tsri_io_archive *archive, const char *path, int32_t width,
                                    int64_t context, tsri_model_sentence *out);
void tsri_model_sentence_clear(tsri_model_sentence *sentence);

/* Whether the model says that it was made for vectors: a modules.json is in its folder, or in the folder
 * above it and names it first; or its GGUF file names a pooling. */
tsr_status tsri_model_sentence_is(const tsri_io_archive *archive, const char *folder, bool *out);

/* Applies the steps to rows [n, width] as the model gives them; out is [n, sentence->width]. */
tsr_status tsri_model_sentence_finish(const tsri_model_sentence *sentence, const float *rows,
                                      size_t n, int32_t width, float *out);

/* The folder of the model, if its config.json is in the folder of the first module; new memory.
 * NULL if `folder` is not such a sentence-transformers folder. */
char *tsri_model_sentence_transformer(const char *folder);

#endif
