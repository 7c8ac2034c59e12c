/* train/recipe/recipe.h - how a model is made from scratch: its architecture, its tokenizer and the
 * settings of its training, as stated in a JSON file.
 *
 *     {"name": ..., "description": ..., "model": {...}, "tokenizer": {...}, "training": {...}}
 *
 * The keys of "model" and "tokenizer" are rows of a table in recipe.c; `--set key=value` takes the
 * same ones. The keys of "training" are settings (settings.h), and are handed on unread.
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

/* The values of "model" and "tokenizer"; the table in recipe.c says what each key means. */
typedef struct tsri_train_architecture {
    int kind;                       /* tsri_train_kind */
    int64_t layers, encoder_layers; /* of an encoder-decoder: the decoder's, the encoder's */
    int64_t hidden_size, heads, kv_heads, ffn;
    int positions; /* tsri_model_positions */
    int64_t max_positions;
    int attention;  /* tsri_train_attention */
    int norm;       /* tsri_model_norm_place */
    int norm_type;  /* tsr_norm */
    int activation; /* tsr_activation minus 1 */
    bool gated, tied, bias;
    int64_t embed_size, attention_size;
    char tokenizer[TSRI_TRAIN_TEXT];
    int64_t vocab_size;
} tsri_train_architecture;

/* Who gave vocab_size. A tokenizer of characters takes the default for no limit. */
typedef enum tsri_train_given {
    TSRI_TRAIN_BY_DEFAULT = 0,
    TSRI_TRAIN_BY_FILE,
    TSRI_TRAIN_BY_SET
} tsri_train_given;

typedef struct tsri_train_recipe {
    char *path; /* for messages */
    json_t *json;
    const char *name, *tokenizer; /* tokenizer: model.tokenizer */
    tsri_train_architecture model;
    tsri_train_given vocab_size;
    /* A bit for each key, in the table's order: those that --set gave, and those in the "model" of a file whose
     * kind is recurrent */
    uint32_t given;
} tsri_train_recipe;

/* The keys of "model" and "tokenizer". */
const tsri_train_keys *tsri_train_recipe_keys(void);

/* Opens a file, or a bundled recipe by its name (in TESSERA_RECIPES, then share/tessera/recipes
 * beside the library).
 * owner   the caller: tsri_train_recipe_close
 * error   TSR_E_IO      there is no such file or recipe; the message lists the bundled ones
 *         TSR_E_FORMAT  an unknown key, or a value outside its list or range */
tsr_status tsri_train_recipe_open(const char *name, tsri_train_recipe **out);
void tsri_train_recipe_close(tsri_train_recipe **recipe);

/* Visits the bundled recipes; as tsr_train_recipes. */
tsr_status tsri_train_recipe_visit(void (*visit)(void *data, const char *name, const char *path),
                                   void *data);

/* `--set key=value`: sets a key of "model" or "tokenizer"; *own false: the key is not one of them.
 */
tsr_status tsri_train_recipe_set(tsri_train_recipe *recipe, const char *key, const char *value,
                                 bool *own);

/* Derives the values that are not given (max_positions from block_size), and refuses combinations
 * that are impossible. To be called once, after the last set and before any other use. */
tsr_status tsri_train_recipe_finish(tsri_train_recipe *recipe, int64_t block_size);

/* The object "training", or NULL where the file has none; borrowed. */
const json_t *tsri_train_recipe_settings(const tsri_train_recipe *recipe);

/* The special tokens that a tokenizer trained for this kind of model begins with: `names` in the
 * order of their ids, NULL at the end; their roles; and those that are put around a text. */
typedef struct tsri_train_specials {
    const char *const *names;
    const char *bos, *eos, *unk, *pad, *mask; /* NULL: none */
    const char *before, *behind;              /* put around a text, or NULL */
} tsri_train_specials;
const tsri_train_specials *tsri_train_recipe_specials(const tsri_train_recipe *recipe);

#endif
