/* train/recipe/settings.h - all settings of a run, in one table of keys, which recipes, --set and
 * the help use. */
#ifndef TSRI_TRAIN_RECIPE_SETTINGS_H
#define TSRI_TRAIN_RECIPE_SETTINGS_H

#include "base/json.h"
#include "train/step/training.h"

enum { TSRI_TRAIN_TEXT = 1024 }; /* bytes of a text setting, with the 0 at its end */

typedef enum tsri_train_value {
    TSRI_TRAIN_VALUE_INT = 0, /* int64_t */
    TSRI_TRAIN_VALUE_REAL,    /* double */
    TSRI_TRAIN_VALUE_BOOL,    /* bool */
    TSRI_TRAIN_VALUE_WORD,    /* int: the place in `words` */
    TSRI_TRAIN_VALUE_STRING   /* char[TSRI_TRAIN_TEXT] */
} tsri_train_value;

enum {
    TSRI_TRAIN_FREE = 1 /* --resume may change it: no computed number depends on it */
};

/* A key of any table: of the settings, or of an architecture. */
typedef struct tsri_train_key {
    const char *name;
    tsri_train_value kind;
    size_t offset;          /* in the struct that the table describes */
    double lowest, highest; /* of numbers */
    const char *words;      /* "a|b|c" */
    const char *initial;    /* as it would be typed */
    unsigned flags;
    const char *help;
} tsri_train_key;

typedef struct tsri_train_keys {
    const tsri_train_key *keys;
    size_t n;
} tsri_train_keys;

/* "key=value": the key, and where its value begins. */
enum { TSRI_TRAIN_KEY_NAME = 64 };
tsr_status tsri_train_key_split(const char *set, char name[TSRI_TRAIN_KEY_NAME],
                                const char **value);
/* NULL: there is no key of that name. */
const tsri_train_key *tsri_train_key_find(const tsri_train_keys *table, const char *name);
/* Sets every key to its `initial`. */
void tsri_train_key_defaults(const tsri_train_keys *table, void *values);
/* TSR_E_ARGUMENT: the message begins with the key and says which values it takes. */
tsr_status tsri_train_key_set(const tsri_train_key *key, void *values, const char *text);
/* Sets each member of an object. TSR_E_FORMAT: the message begins with `what`, and names the
 * nearest key for an unknown one. */
tsr_status tsri_train_key_set_object(const tsri_train_keys *table, void *values,
                                     const json_t *object, const char *what);
/* The value as it would be typed, cut to `size`. */
void tsri_train_key_text(const tsri_train_key *key, const void *values, char *text, size_t size);
/* All values as an object; NULL: out of memory. */
json_t *tsri_train_key_object(const tsri_train_keys *table, const void *values);
/* Fails for a name that is in none of these tables; the message names the nearest key. */
tsr_status tsri_train_key_unknown(const tsri_train_keys *const *tables, size_t n_tables,
                                  const char *name);

typedef enum tsri_train_schedule {
    TSRI_SCHEDULE_LINEAR = 0, /* to min_learning_rate at the last step */
    TSRI_SCHEDULE_COSINE,
    TSRI_SCHEDULE_CONSTANT,
    TSRI_SCHEDULE_CONSTANT_WITH_WARMUP,
    TSRI_SCHEDULE_INVERSE_SQRT
} tsri_train_schedule;

typedef enum tsri_train_metric {
    TSRI_METRIC_LOSS = 0,
    TSRI_METRIC_ACCURACY,
    TSRI_METRIC_F1
} tsri_train_metric;

typedef enum tsri_train_pack {
    TSRI_PACK_AUTO = 0, /* unless a decoder's data are sources with their targets */
    TSRI_PACK_TRUE,
    TSRI_PACK_FALSE
} tsri_train_pack;

/* The table in settings.c says what each field means. */
typedef struct tsri_train_settings {
    double learning_rate, min_learning_rate;
    int lr_scheduler_type; /* tsri_train_schedule */
    int64_t warmup_steps;
    double warmup_ratio;
    int64_t max_steps;
    double num_train_epochs;
    int64_t per_device_train_batch_size, per_device_eval_batch_size, gradient_accumulation_steps,
        shards;
    int64_t block_size, target_block_size;
    int pack;  /* tsri_train_pack */
    int optim; /* tsri_training_optimizer */
    double weight_decay, adam_beta1, adam_beta2, adam_epsilon, momentum, max_grad_norm;
    bool nesterov;
    double dropout, activation_dropout, bpe_dropout, label_smoothing_factor, mlm_probability;
    char kl_to[TSRI_TRAIN_TEXT], distill_from[TSRI_TRAIN_TEXT];
    double kl_weight, temperature;
    int64_t lora_rank;
    double lora_alpha;
    bool bf16, gradient_checkpointing;
    int compute; /* place in the words of its key */
    int64_t seed;
    double validation_split;
    int64_t eval_steps, eval_batches, early_stopping_patience;
    int metric_for_best_model; /* tsri_train_metric */
    bool load_best_model_at_end;
    char sample_prompt[TSRI_TRAIN_TEXT];
    int64_t sample_tokens;
    int64_t logging_steps, save_steps, save_total_limit;
    char text_field[TSRI_TRAIN_TEXT], label_field[TSRI_TRAIN_TEXT], source_field[TSRI_TRAIN_TEXT],
        target_field[TSRI_TRAIN_TEXT];
} tsri_train_settings;

const tsri_train_keys *tsri_train_settings_keys(void);
/* The shards of an update: the setting, or its default. */
int64_t tsri_train_settings_shards(const tsri_train_settings *settings);
/* Whether the best checkpoint becomes the result. */
bool tsri_train_settings_keep_best(const tsri_train_settings *settings);
/* A number of shards up to 8 that so many ranks divide, or that is theirs; 0: none serves. */
int64_t tsri_train_settings_shards_for(const tsri_train_settings *settings, int64_t ranks);
/* The options of a training step that these settings give. */
void tsri_train_settings_training(const tsri_train_settings *settings,
                                  tsri_training_objective objective, bool head_only,
                                  tsri_training_options *out);
/* Checks keys against each other, and against head_only. */
tsr_status tsri_train_settings_check(const tsri_train_settings *settings,
                                     tsri_training_objective objective, bool head_only);
/* Whether a run that began with `then` may be resumed with `now`. TSR_E_ARGUMENT: the message names
 * the first key that differs and must not; *harmless lists the others that differ, with commas, ""
 * for none. */
tsr_status tsri_train_settings_resume(const tsri_train_settings *then,
                                      const tsri_train_settings *now, char *harmless, size_t size);

#endif
