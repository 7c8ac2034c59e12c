/* model/spec/config.h - reads a model's config.json in both spellings that are in use, and refuses
 * by name what Tessera would compute wrongly. */
#ifndef TSRI_MODEL_SPEC_CONFIG_H
#define TSRI_MODEL_SPEC_CONFIG_H

#include "base/json.h"
#include "io/archive.h"
#include "model/spec/spec.h"

/* The metadata of GGUF and llama2.c is turned into the same object, so each family is read by one
 * function. */
typedef struct tsri_model_config {
    json_t *root;
    const char *what;               /* the file, for messages */
    const tsri_io_archive *archive; /* the arrays that it describes */
} tsri_model_config;

/* Typed fields. With `required`, *out has no usable default: a key that is missing (or null) is
 * TSR_E_FORMAT. */
tsr_status tsri_model_config_int(const tsri_model_config *config, const char *key, bool required,
                                 int64_t lowest, int64_t highest, int32_t *out);
tsr_status tsri_model_config_long(const tsri_model_config *config, const char *key, bool required,
                                  int64_t lowest, int64_t highest, int64_t *out);
tsr_status tsri_model_config_float(const tsri_model_config *config, const char *key, bool required,
                                   double lowest, double highest, float *out);
tsr_status tsri_model_config_bool(const tsri_model_config *config, const char *key, bool *out);

/* "silu", "gelu_new", ... by Hugging Face's names; `fallback` where the key is missing. */
tsr_status tsri_model_config_activation(const tsri_model_config *config, const char *key,
                                        const char *fallback, tsr_activation *out);

/* Layer norms, whose eps stands under `key`; 1e-5 where the key is missing. */
tsr_status tsri_model_config_layer_norm(const tsri_model_config *config, const char *key, bool bias,
                                        tsri_model_stack *stack);

/* vocab_size, bos/eos/pad ids and tie_word_embeddings, which are the same in every family. eos may
 * be a list. */
tsr_status tsri_model_config_common(const tsri_model_config *config, bool tied,
                                    tsri_model_spec *spec);
/* Whether the output matrix is the embedding: tie_word_embeddings, or `fallback`. */
tsr_status tsri_model_config_tied(const tsri_model_config *config, bool fallback,
                                  tsri_model_spec *spec);
/* hidden_size, num_hidden_layers, intermediate_size and max_position_embeddings: the sizes of most
 * families with one stack. */
tsr_status tsri_model_config_sizes(const tsri_model_config *config, tsri_model_spec *spec,
                                   tsri_model_stack *stack);
/* What a config says of an encoder and a decoder together: tsri_model_config_common, the width by
 * the key `width`, max_position_embeddings, decoder_start_token_id and scale_embedding. */
tsr_status tsri_model_config_two_stacks(const tsri_model_config *config, const char *width,
                                        tsri_model_spec *spec);
/* Only the bos, eos and pad ids; spec->vocab must be set before. */
tsr_status tsri_model_config_ids(const tsri_model_config *config, tsri_model_spec *spec);

/* Whether "architectures" has a class whose name ends in `end`, such as
 * "ForTokenClassification". */
bool tsri_model_config_is_for(const tsri_model_config *config, const char *end);
/* Whether it has one without a head, such as "LlamaModel". */
bool tsri_model_config_is_bare(const tsri_model_config *config);

/* id2label, num_labels (which takes precedence) and problem_type: the names and the meaning of a classifier's outputs.
 * New memory in the spec. Without a problem type, one label means regression, and several mean that
 * one of them holds. */
tsr_status tsri_model_config_labels(const tsri_model_config *config, tsri_model_spec *spec);
/* n labels without names: LABEL_0, LABEL_1, .., as in transformers. New memory in the spec. */
tsr_status tsri_model_spec_number_labels(tsri_model_spec *spec, int32_t n);

/* Refuses any value but the one that is served, and names both. */
tsr_status tsri_model_config_only(const tsri_model_config *config, const char *key,
                                  const char *served);

/* rope_theta, rope_scaling, partial_rotary_factor and rotary_pct, or rope_parameters. rope->rotary
 * must be set before, to the head size. */
tsr_status tsri_model_config_rope(const tsri_model_config *config, double theta,
                                  int64_t max_positions, tsri_model_rope *rope);

/* The same for a stack whose layers with a window have rotary parameters of their own:
 * rope_parameters has a set for each kind of layer (full_attention, sliding_attention); older
 * configs have rope_theta, rope_scaling and rope_local_base_freq. stack->head_size must be set
 * before; the family sets stack->rotations. */
tsr_status tsri_model_config_two_ropes(const tsri_model_config *config, double theta,
                                       double local_theta, int64_t max_positions,
                                       tsri_model_stack *stack);

/* sliding_window and layer_types; of a family that has no window by default, Qwen's keys
 * use_sliding_window and max_window_layers, too. `usual`: the window if the key is missing (null: no
 * window); 0: none. `stack->layers` must be set before; windowed is new memory. */
tsr_status tsri_model_config_window(const tsri_model_config *config, bool by_default, int32_t usual,
                                    tsri_model_stack *stack);

/* sliding_window and layer_types of a family in which, without layer_types, every layer has a window
 * but each `period`-th; `key` (may be NULL) names a key that gives the period. stack->layers must be
 * set before, and stack->window to the default. */
tsr_status tsri_model_config_window_every(const tsri_model_config *config, const char *key,
                                          int32_t period, tsri_model_stack *stack);

/* layer_types of a family in which, without them, every layer has a window but those whose numbers
 * are multiples of `period`. `window` is its width; stack->layers must be set before. */
tsr_status tsri_model_config_window_between(const tsri_model_config *config, int32_t window,
                                            int32_t period, tsri_model_stack *stack);

/* New memory in stack->rotations: layers with a window rotate as `windowed` says, the others as
 * `others` says. stack->windowed must be set before. */
tsr_status tsri_model_rotate_by_window(tsri_model_stack *stack, tsri_model_rotation windowed,
                                       tsri_model_rotation others);

/* A key, and its value that means "as in every family". */
typedef enum tsri_model_neutral_value {
    TSRI_NEUTRAL_FALSE,
    TSRI_NEUTRAL_TRUE,
    TSRI_NEUTRAL_NULL,
    TSRI_NEUTRAL_ONE,
    TSRI_NEUTRAL_ZERO
} tsri_model_neutral_value;
typedef struct tsri_model_neutral {
    const char *key;
    tsri_model_neutral_value value;
} tsri_model_neutral;

/* Refuses keys that change results and have values that Tessera does not serve, except those in
 * `handled` (NULL at its end), which the family itself reads. */
tsr_status tsri_model_config_refuse(const tsri_model_config *config, const char *const *handled);
/* The same for n keys that only one family has; `handled` may be NULL. */
tsr_status tsri_model_config_refuse_table(const tsri_model_config *config,
                                          const tsri_model_neutral *table, size_t n,
                                          const char *const *handled);

/* Heads of equal parts of the width; the config has both numbers, under the given names.
 * spec->width must be set before. */
tsr_status tsri_model_config_even_heads(const tsri_model_config *config, const char *heads,
                                        const char *width, const tsri_model_spec *spec,
                                        tsri_model_stack *stack);

#endif
