/* model/spec/config.h - reads a model's config.json, in both spellings in use, and refuses by name
 * what would be run wrong. */
#ifndef TSRI_MODEL_SPEC_CONFIG_H
#define TSRI_MODEL_SPEC_CONFIG_H

#include "base/json.h"
#include "io/archive.h"
#include "model/spec/spec.h"

/* GGUF and llama2.c metadata are turned into the same object, so that a family is read once. */
typedef struct tsri_model_config {
    json_t *root;
    const char *what;               /* the file, for sentences */
    const tsri_io_archive *archive; /* the arrays that it describes */
} tsri_model_config;

/* Typed fields. A key that is missing (or null) where *out has no usable default is TSR_E_FORMAT:
 * `required` says so. */
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

/* vocab_size, bos/eos/pad ids, tie_word_embeddings: alike in every family. eos may be a list. */
tsr_status tsri_model_config_common(const tsri_model_config *config, bool tied,
                                    tsri_model_spec *spec);
/* The bos, eos and pad ids alone; spec->vocab is set before. */
tsr_status tsri_model_config_ids(const tsri_model_config *config, tsri_model_spec *spec);

/* "architectures" has a class whose name ends so: "ForTokenClassification". */
bool tsri_model_config_is_for(const tsri_model_config *config, const char *end);

/* id2label (or num_labels) and problem_type: what a classifier's outputs are called and mean. New
 * memory in the spec. Without a problem type one label is regression, several are one of several.
 */
tsr_status tsri_model_config_labels(const tsri_model_config *config, tsri_model_spec *spec);

/* Refuses another value than the one that is served, by name: "true where false is served". */
tsr_status tsri_model_config_only(const tsri_model_config *config, const char *key,
                                  const char *served);

/* rope_theta, rope_scaling, partial_rotary_factor and rotary_pct, or rope_parameters. rope->rotary
 * is set before: the head size. */
tsr_status tsri_model_config_rope(const tsri_model_config *config, double theta,
                                  int64_t max_positions, tsri_model_rope *rope);

/* sliding_window, use_sliding_window, max_window_layers and layer_types. `stack->layers` is set
 * before, as is `stack->window` where the family has one that no key names; windowed is new memory. */
tsr_status tsri_model_config_window(const tsri_model_config *config, bool by_default,
                                    tsri_model_stack *stack);

/* Refuses keys that change results, in values that Tessera does not serve: `handled` lists (NULL at
 * its end) those that the family itself reads. */
tsr_status tsri_model_config_refuse(const tsri_model_config *config, const char *const *handled);

/* As many heads as config names, of equal parts of the width, which it names too; spec->width is
 * set before. */
tsr_status tsri_model_config_even_heads(const tsri_model_config *config, const char *heads,
                                        const char *width, const tsri_model_spec *spec,
                                        tsri_model_stack *stack);

#endif
