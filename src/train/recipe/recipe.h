/* train/recipe/recipe.h - what a model is made by from scratch: its architecture, its tokenizer and
 * the settings of its training, as a JSON file says them.
 *
 *     {"name": ..., "description": ..., "model": {...}, "tokenizer": {...}, "training": {...}}
 *
 * The keys of "model" and "tokenizer" are rows of a table in recipe.c, the same ones that `--set
 * key=value` takes; those of "training" are the settings', and are handed on unread.
 */
#ifndef TSRI_TRAIN_RECIPE_RECIPE_H
#define TSRI_TRAIN_RECIPE_RECIPE_H

#include "train/recipe/settings.h"

typedef enum tsri_train_kind {
    TSRI_KIND_DECODER = 0,
    TSRI_KIND_ENCODER,
    TSRI_KIND_ENCODER_DECODER,
    TSRI_KIND_RECURRENT /* gated units with additive attention: an encoder-decoder */
} tsri_train_kind;

typedef enum tsri_train_attention {
    TSRI_TRAIN_ATTENTION_OF_KIND = 0, /* an encoder's is bidirectional, a decoder's causal */
    TSRI_TRAIN_CAUSAL,
    TSRI_TRAIN_BIDIRECTIONAL
} tsri_train_attention;

/* What "model" and "tokenizer" say: the table in recipe.c has what each key means. */
typedef struct tsri_train_architecture {
    int kind;                       /* tsri_train_kind */
    int64_t layers, encoder_layers; /* of an encoder-decoder's decoder; of its encoder */
    int64_t hidden_size, heads, kv_heads, ffn;
    int positions; /* tsri_model_positions */
    int64_t max_positions;
    int attention;  /* tsri_train_attention */
    int norm;       /* tsri_model_norm_place */
    int norm_type;  /* tsr_norm */
    int activation; /* tsr_activation, less 1 */
    bool gated, tied, bias;
    int64_t embed_size, attention_size;
    char tokenizer[TSRI_TRAIN_TEXT];
    int64_t vocab_size;
} tsri_train_architecture;

typedef struct tsri_train_recipe {
    char *path; /* for sentences */
    json_t *json;
    const char *name, *tokenizer; /* tokenizer: model.tokenizer */
    tsri_train_architecture model;
} tsri_train_recipe;

/* The keys of "model" and "tokenizer". */
const tsri_train_keys *tsri_train_recipe_keys(void);

/* A file, or the name of a recipe that came along (TESSERA_RECIPES, then share/tessera/recipes
 * beside the library).
 * owner   the caller: tsri_train_recipe_close
 * error   TSR_E_IO      no such file or recipe: the names of those that are
 *         TSR_E_FORMAT  a key that is none, a value out of its list or range */
tsr_status tsri_train_recipe_open(const char *name, tsri_train_recipe **out);
void tsri_train_recipe_close(tsri_train_recipe **recipe);

/* `--set key=value`: *own says whether the key is one of "model" or "tokenizer"; then it is set. */
tsr_status tsri_train_recipe_set(tsri_train_recipe *recipe, const char *key, const char *value,
                                 bool *own);

/* What is not said follows from the rest (max_positions from block_size); combinations that can't
 * be are refused. Once, after every set and before any other use. */
tsr_status tsri_train_recipe_finish(tsri_train_recipe *recipe, int64_t block_size);

/* The settings, an object, or NULL where the file has none; borrowed. */
const json_t *tsri_train_recipe_settings(const tsri_train_recipe *recipe);

/* The special tokens that a tokenizer trained for this kind of model begins with, by id, NULL at
 * the end; and whether texts are framed by them (ends: "</s>" behind; else [CLS] and [SEP]). */
typedef struct tsri_train_specials {
    const char *const *names;
    const char *bos, *eos, *unk, *pad, *mask; /* NULL: none */
    const char *before, *behind;              /* put around a text, or NULL */
} tsri_train_specials;
const tsri_train_specials *tsri_train_recipe_specials(const tsri_train_recipe *recipe);

#endif
