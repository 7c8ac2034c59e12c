/* task/generate/settings.h - what a model's generation_config.json (or config.json, where files
 * made before it keep the same keys: model/spec/generation.h) says of searching, joined with the
 * options of a run. */
#ifndef TSRI_TASK_GENERATE_SETTINGS_H
#define TSRI_TASK_GENERATE_SETTINGS_H

#include "base/json.h"
#include "model/load/load.h"
#include "task/generate/token_rules.h"

/* What is made of a key of transformers' GenerationConfig. */
typedef enum tsri_task_treatment {
    TSRI_TASK_SERVED = 0,
    TSRI_TASK_HARMLESS, /* it doesn't change which tokens come */
    TSRI_TASK_TOLD      /* it is not heeded, and a warning says so */
} tsri_task_treatment;

typedef struct tsri_task_setting {
    const char *key;
    tsri_task_treatment treatment;
    const char *neutral; /* of a key that is told: values, as JSON with '|' between, that change
                            nothing; null, [] and {} never do. NULL: no other does */
} tsri_task_setting;

/* The table of all keys that are known. */
const tsri_task_setting *tsri_task_settings(size_t *n);

/* Warns once for a model of each setting that is not heeded: key, value and file. */
void tsri_task_settings_tell(tsri_model *model);

/* Fills rules that stand on their own until tsri_task_token_rules_clear; `options` is checked
 * before.
 * error  TSR_E_FORMAT  a list of ids in the settings breaks its form or the vocabulary */
tsr_status tsri_task_token_rules_create(tsri_model *model, const tsr_generate_options *options,
                                        tsri_task_token_rules *out);

#endif
