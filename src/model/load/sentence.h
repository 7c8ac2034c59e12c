/* model/load/sentence.h - a sentence-transformers folder: how the vector of a text is made from a
 * model's last hidden states, and what is done to the text before.
 *
 * modules.json lists the modules in order: Transformer and Pooling, or StaticEmbedding, then any of Dense,
 * LayerNorm and Normalize.
 * Every setting that would change a vector is either served or refused by name. */
#ifndef TSRI_MODEL_LOAD_SENTENCE_H
#define TSRI_MODEL_LOAD_SENTENCE_H

#include "model/load/load.h"

/* How one vector is made of the hidden states of a text's tokens. */
typedef enum tsri_model_pooling {
    TSRI_POOLING_FIRST = 0,
    TSRI_POOLING_MAX,
    TSRI_POOLING_MEAN,
    TSRI_POOLING_SQRT_MEAN,     /* their sum, divided by the square root of their number */
    TSRI_POOLING_WEIGHTED_MEAN, /* the token at position t counts t + 1 times */
    TSRI_POOLING_LAST
} tsri_model_pooling;

enum { TSRI_POOLINGS = 6, TSRI_MODEL_MAX_POOLINGS = 8, TSRI_MODEL_MAX_STEPS = 8 };

typedef enum tsri_model_step_kind {
    TSRI_STEP_NORMALIZE = 0, /* x / |x| */
    TSRI_STEP_DENSE,         /* activation(W x + b), where `adds` says so plus x, or plus R x */
    TSRI_STEP_LAYER_NORM
} tsri_model_step_kind;

typedef struct tsri_model_step {
    tsri_model_step_kind kind;
    float *weight, *bias,
        *residual; /* W [out, in]; b [out] or NULL; R [out, in] or NULL. Of a norm [in] */
    double (*activation)(double x);
    bool adds;
    int32_t in, out;
} tsri_model_step;

typedef struct tsri_model_prompt {
    char *name, *text; /* `text` is put before each text */
} tsri_model_prompt;

typedef struct tsri_model_sentence {
    bool found; /* modules.json exists; otherwise mean pooling and no step */
    tsri_model_pooling poolings[TSRI_MODEL_MAX_POOLINGS]; /* their vectors stand side by side */
    int n_poolings;
    bool pool_prompt; /* the prompt's tokens are pooled too */
    bool lower_case;
    int64_t max_tokens; /* 0: the files give none */
    tsri_model_step steps[TSRI_MODEL_MAX_STEPS];
    int n_steps;
    int32_t width; /* of the vector */
    int32_t cut;   /* a wider vector is cut to so many numbers after the last step; 0: it stays */
    bool is_cut;   /* the vector is wider before */
    tsri_model_prompt *prompts;
    size_t n_prompts;
    const char *default_prompt; /* the name of one of `prompts`, or NULL */
    bool in_template; /* of a cross-encoder: its pairs stand in the tokenizer's chat template */
} tsri_model_sentence;

/* Reads what a model says of its vectors: in files of its folder (NULL: it has none), or in a GGUF file. Its hidden
 * states are `width` wide, and it reads `context` tokens. Where it says nothing, `found` stays false. `by_task`: of its
 * family (tsri_model_arch).
 *
 * owner   the caller: tsri_model_sentence_clear, also after an error
 * error   TSR_E_FORMAT       a file breaks its rules: the file and the field are named
 *         TSR_E_UNSUPPORTED  a module or setting that is not served */
tsr_status tsri_model_sentence_read(const tsri_io_archive *archive, const char *folder,
                                    bool by_task, int32_t width, int64_t context,
                                    tsri_model_sentence *out);
void tsri_model_sentence_clear(tsri_model_sentence *sentence);

/* The text of a prompt: of the one with this name ("": none), or this text, else of the default one; "" where
 * there is none. `model` is its path, for the message.
 *
 * owner   *out: the sentence or, where it is `text`, the caller
 * error   TSR_E_ARGUMENT  no prompt has this name, or name and text are both given */
tsr_status tsri_model_sentence_prompt(const tsri_model_sentence *sentence, const char *model,
                                      const char *name, const char *text, const char **out);
/* Appends the names of all prompts, with ", " between. */
tsr_status tsri_model_sentence_prompt_names(const tsri_model_sentence *sentence, tsri_bytes *out);

/* Reads the prompts of a sentence-transformers folder that was saved as a cross-encoder, which reads pairs of texts; of
 * any other model there are none. folder may be NULL.
 *
 * owner, error  as tsri_model_sentence_read */
tsr_status tsri_model_sentence_pairs(const tsri_io_archive *archive, const char *folder,
                                     tsri_model_sentence *out);

/* Sets the width of the vectors, of which `cut` may leave less. */
void tsri_model_sentence_set_width(tsri_model_sentence *sentence, int32_t width);

/* Whether the model says that it was made for vectors: a modules.json is in its folder, or in the folder
 * above it and names it first; or its GGUF file names a pooling. */
tsr_status tsri_model_sentence_is(const tsri_io_archive *archive, const char *folder, bool *out);

/* Whether the first module of that modules.json is StaticEmbedding, a table of vectors. */
tsr_status tsri_model_sentence_is_table(const char *folder, bool *out);

/* Of a language model whose modules.json says that it ranks documents (LogitScore): the tokens whose logits
 * say that one answers a question, and that it doesn't; -1: none. */
tsr_status tsri_model_sentence_judges(const char *folder, int32_t *yes, int32_t *no);

/* The task whose adapter a sentence-transformers folder takes where none is asked for (default_task); new memory, or NULL:
 * none. */
tsr_status tsri_model_sentence_task(const char *folder, char **out);

/* The tsr_pool that an encoder's own vectors are to have, so that they need no other pooling; -1: there is
 * none. `skipped`: the tokens at the beginning of a text that are not pooled. */
int tsri_model_sentence_device_pool(const tsri_model_sentence *sentence, size_t skipped);
/* Pools the hidden states of a text, rows [n, width], from row `skipped` on; zeros where none is left.
 * out is [n_poolings, width]. */
void tsri_model_sentence_pool(const tsri_model_sentence *sentence, const float *rows,
                              size_t skipped, size_t n, int32_t width, float *out);
/* Pools by this name in place of what the files say; hidden states are `width` wide.
 *
 * error   TSR_E_ARGUMENT  there is no such pooling, or the steps need what several of them give */
tsr_status tsri_model_sentence_pool_by(tsri_model_sentence *sentence, const char *name,
                                       int32_t width);
const char *tsri_model_pooling_name(tsri_model_pooling kind);

/* Applies the steps to pooled rows [n, width]; out is [n, sentence->width]. */
tsr_status tsri_model_sentence_finish(const tsri_model_sentence *sentence, const float *rows,
                                      size_t n, int32_t width, float *out);

/* The names that a Transformer's settings, in the model's own folder, may have: the first that exists counts. NULL at the
 * end. */
extern const char *const tsri_model_sentence_transformer_files[];

/* The folder of the model, if its config.json is in the folder of the first module; new memory.
 * NULL if `folder` is not such a sentence-transformers folder. */
char *tsri_model_sentence_transformer(const char *folder);

/* The folder of the modules.json of the model in `folder`: the one above, if its modules.json names this
 * folder first, however its path is written ("a/b/", "b", "."), else `folder` itself, where there may be none.
 * New memory. */
tsr_status tsri_model_sentence_place(const char *folder, char **out);

/* Visits the names of the folders that modules.json, in `place`, gives to its modules, but the first: that is
 * the model. Visits none where there is no modules.json.
 *
 * error   TSR_E_FORMAT  modules.json is not JSON; and what `visit` returns */
tsr_status tsri_model_sentence_visit(const char *place,
                                     tsr_status (*visit)(void *data, const char *name), void *data);

#endif
