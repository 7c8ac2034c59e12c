/* task/generate/settings.h - the settings of a search: those of the model's generation_config.json
 * (or config.json, where older files have the same keys: model/spec/generation.h), joined with the
 * options of a run. */
#ifndef TSRI_TASK_GENERATE_SETTINGS_H
#define TSRI_TASK_GENERATE_SETTINGS_H

#include "base/json.h"
#include "model/load/load.h"
#include "task/generate/token_rules.h"

/* How a key of transformers' GenerationConfig is treated. */
typedef enum tsri_task_treatment {
    TSRI_TASK_SERVED = 0,
    TSRI_TASK_HARMLESS, /* it doesn't change which tokens are generated */
    TSRI_TASK_TOLD      /* it is ignored, and a warning says so */
} tsri_task_treatment;

typedef struct tsri_task_setting {
    const char *key;
    tsri_task_treatment treatment;
    const char *neutral; /* of a TSRI_TASK_TOLD key: values that change nothing and need no warning,
                            as JSON with '|' between. null, [] and {} are always such values; NULL:
                            only these are */
} tsri_task_setting;

/* The table of all known keys. */
const tsri_task_setting *tsri_task_settings(size_t *n);

/* Warns, once for a model, of each setting that is ignored, with key, value and file. */
void tsri_task_settings_tell(tsri_model *model);

/* How a kind of files is searched where neither they nor the options say: as the program searches that
 * such files are made for. */
typedef struct tsri_task_manner {
    tsri_io_format format;
    tsr_early_stopping stopping;
    bool greedy;      /* a decoder takes the likeliest token */
    uint32_t beams;   /* of a translation */
    int64_t least;    /* min_new_tokens of an encoder-decoder */
    bool renormalize; /* token_rules.h */
    bool after_start; /* in an encoder-decoder, what follows the start token counts as new, a target
                         prefix too: start_apart and penalise_logits of token_rules.h */
} tsri_task_manner;

const tsri_task_manner *tsri_task_manner_of(const tsri_model *model);

/* Makes the rules, which borrow nothing and are freed by tsri_task_token_rules_clear. `options` has
 * been checked. ends: end tokens besides the model's own.
 * error  TSR_E_FORMAT  a list of ids in the settings has a wrong form, or an id outside the
 *                      vocabulary */
tsr_status tsri_task_token_rules_create(tsri_model *model, const tsr_generate_options *options,
                                        const int32_t *ends, uint32_t n_ends,
                                        tsri_task_token_rules *out);

#endif
