/* train/recipe.h - what a model is made by from scratch: its architecture, its tokenizer and the
 * settings of its training, as a JSON file says them.
 *
 *     {"name": ..., "description": ..., "model": {...}, "tokenizer": {...}, "training": {...}}
 *
 * The keys of "model" and "tokenizer" are rows of a table in recipe.c, the same ones that `--set
 * key=value` takes; those of "training" are the settings', and are handed on unread.
 */
#ifndef TSRI_TRAIN_RECIPE_H
#define TSRI_TRAIN_RECIPE_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

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

/* What "model" says; every member is an int32_t, so that one table reads and checks them all. */
typedef struct tsri_train_architecture {
    int32_t kind;                   /* tsri_train_kind */
    int32_t layers, encoder_layers; /* of an encoder-decoder's decoder; of its encoder, 0: layers */
    int32_t hidden_size, heads;
    int32_t kv_heads;      /* 0: heads */
    int32_t ffn;           /* 0: four times the hidden size */
    int32_t positions;     /* tsri_model_positions */
    int32_t max_positions; /* 0: the settings' block_size */
    int32_t attention;     /* tsri_train_attention */
    int32_t norm;          /* tsri_model_norm_place */
    int32_t norm_type;     /* tsr_norm */
    int32_t activation;    /* tsr_activation */
    int32_t gated, tied, bias;
    int32_t embed_size, attention_size; /* recurrent; 0: the hidden size */
    int32_t vocab_size;                 /* that a tokenizer is trained to; 0: 8192 */
} tsri_train_architecture;

typedef struct tsri_train_recipe {
    char *path; /* for sentences */
    json_t *json;
    const char *name;
    tsri_train_architecture model;
    char *tokenizer; /* "char", "bpe", or a tokenizer.json or folder that holds one */
} tsri_train_recipe;

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
tsr_status tsri_train_recipe_finish(tsri_train_recipe *recipe, int32_t block_size);

/* The settings, an object (empty where the file has none); borrowed. */
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
