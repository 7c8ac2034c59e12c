/* train/recipe/settings.c - the table of all settings of a run, and the checks of settings against
 * each other. */
#include "train/recipe/settings.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(tsri_train_settings, field)
#define INT(field, initial, lowest, highest, flags, help) \
    { #field, TSRI_TRAIN_VALUE_INT, AT(field), lowest, highest, NULL, initial, flags, help }
#define REAL(field, initial, lowest, highest, flags, help) \
    { #field, TSRI_TRAIN_VALUE_REAL, AT(field), lowest, highest, NULL, initial, flags, help }
#define BOOL(field, initial, flags, help) \
    { #field, TSRI_TRAIN_VALUE_BOOL, AT(field), 0, 0, NULL, initial, flags, help }
#define WORD(field, words, initial, flags, help) \
    { #field, TSRI_TRAIN_VALUE_WORD, AT(field), 0, 0, words, initial, flags, help }
#define STRING(field, flags, help) \
    { #field, TSRI_TRAIN_VALUE_STRING, AT(field), 0, 0, NULL, "", flags, help }
#define MANY 1e15
#define SIZE 1048576
#define FREE TSRI_TRAIN_FREE

enum { TSRI_TRAIN_MOST_SHARDS = 1024, DEFAULT_SHARDS = 8 };

/* Where Hugging Face's TrainingArguments have such a key, name and initial value are theirs. Words
 * are in the order of their enums. */
static const tsri_train_key keys[] = {
    REAL(learning_rate, "5e-05", 0, 1e3, 0, "the highest learning rate"),
    REAL(min_learning_rate, "0", 0, 1e3, 0, "the learning rate at which cosine and linear end"),
    WORD(lr_scheduler_type, "linear|cosine|constant|constant_with_warmup|inverse_sqrt", "linear", 0,
         "how the learning rate changes after the warmup"),
    INT(warmup_steps, "0", 0, MANY, 0,
        "steps in which the learning rate rises to its highest value"),
    REAL(warmup_ratio, "0", 0, 1, 0, "warmup_steps as a share of all steps"),
    INT(max_steps, "-1", -1, MANY, 0, "updates in all; -1: as many as num_train_epochs needs"),
    REAL(num_train_epochs, "3", 0, 1e6, 0, "how many times all data is read"),
    INT(per_device_train_batch_size, "8", 1, SIZE, 0, "sequences in a batch"),
    INT(per_device_eval_batch_size, "0", 0, SIZE, 0,
        "sequences in a batch of validation, run as many at a time as fit; 0: as in training"),
    INT(gradient_accumulation_steps, "1", 1, SIZE, 0, "batches for each update"),
    INT(shards, "0", 0, TSRI_TRAIN_MOST_SHARDS, 0,
        "parts of an update, which ranks share: summed apart, then in pairs; 0: 1, 2, 4 or 8, "
        "whichever is the most that divides gradient_accumulation_steps"),
    INT(block_size, "0", 0, SIZE, 0,
        "the most tokens of a sequence; 0: the model's context, at most 1024"),
    INT(target_block_size, "0", 0, SIZE, 0, "the most tokens of a translation; 0: block_size"),
    WORD(pack, "auto|true|false", "auto", 0,
         "true: texts are joined and cut into sequences of block_size; false: one text a sequence; "
         "auto: true, but false where a decoder learns from sources and targets"),
    WORD(optim, "adamw|sgd", "adamw", 0, "the optimizer"),
    REAL(weight_decay, "0", 0, 1e3, 0,
         "adamw: decoupled; sgd: added to the gradient; of parameters that have two or more "
         "dimensions"),
    REAL(adam_beta1, "0.9", 0, 0.9999999, 0, "adamw: decay of the gradient's running mean"),
    REAL(adam_beta2, "0.999", 0, 0.9999999, 0,
         "adamw: decay of the squared gradient's running mean"),
    REAL(adam_epsilon, "1e-08", 1e-30, 1, 0, "adamw: added to the divisor"),
    REAL(momentum, "0", 0, 0.9999999, 0, "sgd: share of the last update that is added to the next"),
    BOOL(nesterov, "false", 0, "sgd: Nesterov's momentum, which looks ahead"),
    REAL(max_grad_norm, "1", 0, 1e9, 0,
         "gradients above this norm are scaled down to it; 0: never"),
    REAL(dropout, "0", 0, 0.99, 0,
         "dropout of embeddings and of the output of each part of a layer"),
    REAL(activation_dropout, "0", 0, 0.99, 0, "dropout inside the feed-forward part"),
    REAL(bpe_dropout, "0", 0, 0.99, 0,
         "share of the tokenizer's merges left out at random, anew each time a file is given"),
    REAL(label_smoothing_factor, "0", 0, 0.99, 0,
         "share of a target's probability spread over the vocabulary"),
    REAL(mlm_probability, "0.15", 0.001, 1, 0,
         "share of the tokens that a masked model has to guess"),
    STRING(kl_to, 0,
           "uniform, or a frozen model's folder: adds kl_weight * KL(this || model) to the loss"),
    STRING(distill_from, 0,
           "teacher's folder: (1 - kl_weight) * loss + kl_weight * KL(teacher || model)"),
    REAL(kl_weight, "0.5", 0, 1e3, 0, "weight of kl_to or distill_from"),
    REAL(temperature, "1", 0.01, 1e3, 0, "temperature of both distributions with distill_from"),
    INT(lora_rank, "0", 0, 4096, 0,
        "above 0: only LoRA adapters of this rank learn, and only they are saved"),
    REAL(lora_alpha, "16", 0, 1e6, 0, "adapters are scaled by lora_alpha / lora_rank"),
    BOOL(bf16, "false", 0, "the forward pass reads matrices in bf16; their f32 masters learn"),
    WORD(compute, "f32|bf16", "f32", 0,
         "matrix products, and those of their gradients, are formed in f32 or bf16; sums in f32"),
    BOOL(gradient_checkpointing, "false", 0,
         "computes a layer's activations again instead of keeping them: less memory, more time"),
    INT(seed, "42", 0, MANY, 0, "seed of initial weights, order of the data, masks and dropout"),
    REAL(validation_split, "0.1", 0, 0.5, 0,
         "share of the data held back for validation where no file is given for it"),
    INT(eval_steps, "0", 0, MANY, 0, "steps between validations; 0: save_steps"),
    INT(eval_batches, "200", 0, MANY, 0,
        "the most batches of a validation, drawn from all of them; 0: all"),
    INT(early_stopping_patience, "0", 0, MANY, 0,
        "stops after this many validations without a better one; 0: never"),
    WORD(metric_for_best_model, "loss|accuracy|f1", "loss", 0,
         "what decides which validation is the best"),
    BOOL(load_best_model_at_end, "false", 0,
         "the result is the best checkpoint, not the last; early stopping implies this"),
    STRING(sample_prompt, FREE,
           "the text that the sample shown with each validation continues or translates"),
    INT(sample_tokens, "64", 0, 4096, FREE, "tokens of that sample; 0: no sample"),
    INT(logging_steps, "10", 1, MANY, FREE, "steps between lines of the log"),
    INT(save_steps, "500", 0, MANY, FREE, "steps between checkpoints; 0: only at the end"),
    INT(save_total_limit, "2", 0, MANY, FREE, "checkpoints kept besides the best; 0: all"),
    STRING(text_field, 0, "name of the column or key with the text"),
    STRING(label_field, 0, "name of the column or key with the label"),
    STRING(source_field, 0, "name of the column or key with the text to translate"),
    STRING(target_field, 0, "name of the column or key with its translation"),
};

const tsri_train_keys *tsri_train_settings_keys(void) {
    static const tsri_train_keys table = {keys, sizeof keys / sizeof *keys};
    return &table;
}

static tsr_status refuse(const char *sentence) {
    return tsri_base_fail(TSR_E_ARGUMENT, "%s", sentence);
}

int64_t tsri_train_settings_shards(const tsri_train_settings *s) {
    int64_t n = 1;
    while (n < DEFAULT_SHARDS && s->gradient_accumulation_steps % (2 * n) == 0)
        n *= 2;
    return s->shards ? s->shards : n;
}

bool tsri_train_settings_keep_best(const tsri_train_settings *s) {
    return s->load_best_model_at_end || s->early_stopping_patience > 0;
}

static int64_t most_shards(const tsri_train_settings *s) {
    return s->gradient_accumulation_steps * s->per_device_train_batch_size;
}

/* A shard is one or more batches, or a part of one. */
static bool shards_fit(const tsri_train_settings *s, int64_t n) {
    const int64_t batches = s->gradient_accumulation_steps;
    return batches % n == 0 || n % batches == 0;
}

int64_t tsri_train_settings_shards_for(const tsri_train_settings *s, int64_t ranks) {
    int64_t n = ranks > DEFAULT_SHARDS ? ranks : DEFAULT_SHARDS;
    if (ranks & (ranks - 1) || ranks > TSRI_TRAIN_MOST_SHARDS)
        return 0;
    while (n >= ranks && (n > most_shards(s) || !shards_fit(s, n)))
        n /= 2;
    return n < ranks ? 0 : n;
}

static tsr_status check_shards(const tsri_train_settings *s) {
    const int64_t n = s->shards, batches = s->gradient_accumulation_steps, most = most_shards(s);
    if (n & (n - 1))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "shards=%" PRId64 ": give a power of two (1, 2, 4, ... %d)", n,
                              TSRI_TRAIN_MOST_SHARDS);
    if (n > most)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "shards=%" PRId64 " is above the %" PRId64
                              " sequences of an update; give at most as many",
                              n, most);
    if (n && !shards_fit(s, n))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "shards=%" PRId64 " does not fit gradient_accumulation_steps=%" PRId64
                              ": one of them must be a multiple of the other",
                              n, batches);
    return TSR_OK;
}

void tsri_train_settings_training(const tsri_train_settings *s, tsri_training_objective objective,
                                  bool head_only, tsri_training_options *out) {
    static const uint32_t products[] = {TSR_COMPUTE_F32, TSR_COMPUTE_BF16}; /* by its words */
    const bool distil = *s->distill_from, toward = *s->kl_to;
    *out =
        (tsri_training_options){.objective = objective,
                                .learns = s->lora_rank > 0 ? TSRI_LEARNS_LORA
                                          : head_only      ? TSRI_LEARNS_HEAD
                                                           : TSRI_LEARNS_ALL,
                                .optimizer = (tsri_training_optimizer)s->optim,
                                .beta1 = (float)s->adam_beta1,
                                .beta2 = (float)s->adam_beta2,
                                .eps = (float)s->adam_epsilon,
                                .momentum = (float)s->momentum,
                                .nesterov = s->nesterov,
                                .decay = (float)s->weight_decay,
                                .dropout = (float)s->dropout,
                                .activation_dropout = (float)s->activation_dropout,
                                .seed = (uint64_t)s->seed,
                                .label_smoothing = (float)s->label_smoothing_factor,
                                .hard = distil ? (float)(1 - s->kl_weight) : 1,
                                .kl = distil || toward ? (float)s->kl_weight : 0,
                                .temperature = distil ? (float)s->temperature : 1,
                                .teacher = distil || (toward && strcmp(s->kl_to, "uniform") != 0),
                                .bf16 = s->bf16,
                                .checkpointing = s->gradient_checkpointing,
                                .lora_rank = (int32_t)s->lora_rank,
                                .lora_alpha = (float)s->lora_alpha,
                                .compute = products[s->compute]};
}

tsr_status tsri_train_settings_check(const tsri_train_settings *s,
                                     tsri_training_objective objective, bool head_only) {
    if (head_only && s->lora_rank > 0)
        return refuse("head_only and lora_rank: the head learns, or adapters do; give only one of "
                      "them");
    if (*s->kl_to && *s->distill_from)
        return refuse("kl_to and distill_from: give only one of them");
    if (*s->distill_from && s->kl_weight > 1)
        return refuse("kl_weight: with distill_from it must be from 0 to 1");
    if (s->min_learning_rate > s->learning_rate)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "min_learning_rate=%g is above learning_rate=%g; it must not be",
                              s->min_learning_rate, s->learning_rate);
    if (s->warmup_steps > 0 && s->warmup_ratio > 0)
        return refuse("warmup_steps and warmup_ratio: give only one of them");
    if (s->max_steps <= 0 && s->num_train_epochs <= 0)
        return refuse("max_steps or num_train_epochs must be above 0");
    if (s->metric_for_best_model == TSRI_METRIC_F1 && objective != TSRI_OBJECTIVE_TOKENS)
        return refuse("metric_for_best_model=f1: only classifiers of words have it; use loss");
    if (s->metric_for_best_model == TSRI_METRIC_ACCURACY && objective < TSRI_OBJECTIVE_CLASSIFY)
        return refuse("metric_for_best_model=accuracy: only classifiers have it; use loss");
    if (s->nesterov && s->momentum <= 0)
        return refuse("nesterov=true needs momentum above 0");
    return check_shards(s);
}

/* Whether a run may be made longer: its learning rate does not depend on the number of steps. */
static bool may_go_on(const tsri_train_settings *s) {
    return s->warmup_ratio == 0 && s->lr_scheduler_type != TSRI_SCHEDULE_LINEAR &&
           s->lr_scheduler_type != TSRI_SCHEDULE_COSINE;
}

/* Whether save_steps also says after how many steps validations choose the result. */
static bool chooses(const tsri_train_key *key, const tsri_train_settings *s) {
    return !strcmp(key->name, "save_steps") && !s->eval_steps && tsri_train_settings_keep_best(s);
}

tsr_status tsri_train_settings_resume(const tsri_train_settings *then,
                                      const tsri_train_settings *now, char *harmless, size_t size) {
    *harmless = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char a[TSRI_TRAIN_TEXT], b[TSRI_TRAIN_TEXT];
        const tsri_train_key *key = &keys[i];
        tsri_train_key_text(key, then, a, sizeof a);
        tsri_train_key_text(key, now, b, sizeof b);
        if (!strcmp(a, b))
            continue;
        const bool length =
            !strcmp(key->name, "max_steps") || !strcmp(key->name, "num_train_epochs");
        if (length && !may_go_on(then))
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "%s=%.80s: this run began with %.80s, and its learning rate depends on "
                "that; give the same to --resume, or begin in a new folder",
                key->name, b, a);
        if (chooses(key, then))
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "%s=%.80s: this run began with %.80s, and as it has no eval_steps, it chooses its "
                "result by validations after as many steps; give the same to --resume, or begin in "
                "a new folder",
                key->name, b, a);
        if (!length && !(key->flags & FREE))
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "%s=%.80s: this run began with %.80s; give the same to --resume, or begin in a "
                "new folder",
                key->name, b, a);
        const size_t used = strlen(harmless);
        snprintf(harmless + used, size - used, "%s%s=%.80s", used ? ", " : "", key->name, b);
    }
    return TSR_OK;
}
