/* task/settings.h - what a model's generation_config.json says of searching, joined with the
 * options of a run. */
#ifndef TSRI_TASK_SETTINGS_H
#define TSRI_TASK_SETTINGS_H

#include "base/json.h"
#include "model/load.h"
#include "task/rules.h"

/* The settings of a model's folder: generation_config.json; of an encoder-decoder without one,
 * config.json, where files made before it keep the same keys. *out is NULL where there is neither,
 * *path then too; else the caller frees both. */
tsr_status tsri_task_config_load(const tsri_model *model, json_t **out, char **path);

/* Fills rules that stand on their own until tsri_task_rules_clear; `options` is checked before.
 * error  TSR_E_FORMAT  a list of ids in the settings breaks its form or the vocabulary */
tsr_status tsri_task_rules_create(const tsri_model *model, const tsr_generate_options *options,
                                  tsri_task_rules *out);
#endif
