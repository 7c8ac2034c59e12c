/* train/recipe/settings.c - the table of all settings of a run, and what several of them say
 * together. */
#include "train/recipe/settings.h"

#include "base/error.h"

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

/* Names and starting values of Hugging Face's TrainingArguments where it has such a key. The words
 * are in the order of their enums. */
static const tsri_train_key keys[] = {
    REAL(learning_rate, "5e-05", 0, 1e3, 0, "the highest learning rate"),
    REAL(min_learning_rate, "0", 0, 1e3, 0, "where cosine and linear end"),
    WORD(lr_scheduler_type, "linear|cosine|constant|constant_with_warmup|inverse_sqrt", "linear", 0,
         "how the learning rate goes on after the warmup"),
    INT(warmup_steps, "0", 0, MANY, 0, "steps in which the learning rate grows to its highest"),
    REAL(warmup_ratio, "0", 0, 1, 0, "the same as a share of all steps"),
    INT(max_steps, "-1", -1, MANY, 0, "updates in all; -1: as many as num_train_epochs make"),
    REAL(num_train_epochs, "3", 0, 1e6, 0, "times that all data are read"),
    INT(per_device_train_batch_size, "8", 1, SIZE, 0, "sequences of a batch"),
    INT(per_device_eval_batch_size, "0", 0, SIZE, 0,
        "the same in validation, run as many at a time as fit; 0: the same"),
    INT(gradient_accumulation_steps, "1", 1, SIZE, 0, "batches of an update"),
    INT(block_size, "0", 0, SIZE, 0,
        "tokens of a sequence at most; 0: what the model reads, at most 1024"),
    INT(target_block_size, "0", 0, SIZE, 0, "the same of translations; 0: block_size"),
    BOOL(pack, "true", 0,
         "texts follow each other in sequences of block_size; false: one a sequence"),
    WORD(optim, "adamw|sgd", "adamw", 0, "the optimizer"),
    REAL(weight_decay, "0", 0, 1e3, 0, "decoupled, of parameters of two or more dimensions"),
    REAL(adam_beta1, "0.9", 0, 0.9999999, 0, "adamw: how long the mean gradient is remembered"),
    REAL(adam_beta2, "0.999", 0, 0.9999999, 0, "adamw: the same of its square"),
    REAL(adam_epsilon, "1e-08", 1e-30, 1, 0, "adamw: added to the divisor"),
    REAL(momentum, "0", 0, 0.9999999, 0, "sgd: how long the gradient is remembered"),
    BOOL(nesterov, "false", 0, "sgd: momentum that looks ahead"),
    REAL(max_grad_norm, "1", 0, 1e9, 0, "gradients are scaled down to this norm; 0: never"),
    REAL(dropout, "0", 0, 0.99, 0, "of embeddings and of what each part of a layer adds"),
    REAL(activation_dropout, "0", 0, 0.99, 0, "inside the feed-forward part"),
    REAL(bpe_dropout, "0", 0, 0.99, 0,
         "share of the tokenizer's merges left out at random; each mention of a file is cut anew"),
    REAL(label_smoothing_factor, "0", 0, 0.99, 0, "share of a target spread over the vocabulary"),
    REAL(mlm_probability, "0.15", 0.001, 1, 0, "share of the tokens that a masked model guesses"),
    STRING(kl_to, 0,
           "adds kl_weight * KL(this || model) to the loss: uniform, or a frozen model's folder"),
    STRING(distill_from, 0,
           "teacher's folder: (1 - kl_weight) * loss + kl_weight * KL(teacher || model)"),
    REAL(kl_weight, "0.5", 0, 1e3, 0, "weight of kl_to or distill_from"),
    REAL(temperature, "1", 0.01, 1e3, 0, "of both distributions of distill_from"),
    INT(lora_rank, "0", 0, 4096, 0,
        "above 0: only LoRA adapters of this rank learn, and are saved apart"),
    REAL(lora_alpha, "16", 0, 1e6, 0, "adapters are added lora_alpha / lora_rank times"),
    BOOL(bf16, "false", 0, "matrices are read in bf16; their f32 masters learn"),
    BOOL(gradient_checkpointing, "false", 0,
         "a layer's activations are computed again instead of kept: less memory, more time"),
    INT(seed, "42", 0, MANY, 0, "of starting weights, order of data, masks and dropout"),
    REAL(validation_split, "0.1", 0, 0.5, 0,
         "share of the data held back for validation where no file is given"),
    INT(eval_steps, "0", 0, MANY, 0, "steps between validations; 0: save_steps"),
    INT(eval_batches, "200", 0, MANY, 0, "batches of a validation at most; 0: all"),
    INT(early_stopping_patience, "0", 0, MANY, 0,
        "ends after so many validations without a better one; 0: never"),
    WORD(metric_for_best_model, "loss|accuracy", "loss", 0, "what makes a validation the best"),
    BOOL(load_best_model_at_end, "false", 0,
         "the result is the best checkpoint, not the last; so it is with early stopping"),
    STRING(sample_prompt, FREE,
           "what the sample shown with each validation continues, or translates"),
    INT(sample_tokens, "64", 0, 4096, FREE, "length of that sample; 0: none"),
    INT(logging_steps, "10", 1, MANY, FREE, "steps between lines of the log"),
    INT(save_steps, "500", 0, MANY, FREE, "steps between checkpoints; 0: only at the end"),
    INT(save_total_limit, "2", 0, MANY, FREE, "checkpoints kept, besides the best; 0: all"),
    STRING(text_field, 0, "name of the column or key with the text"),
    STRING(label_field, 0, "the same with the label"),
    STRING(source_field, 0, "the same with what is translated"),
    STRING(target_field, 0, "the same with its translation"),
};

const tsri_train_keys *tsri_train_settings_keys(void) {
    static const tsri_train_keys table = {keys, sizeof keys / sizeof *keys};
    return &table;
}

static tsr_status refuse(const char *sentence) {
    return tsri_base_fail(TSR_E_ARGUMENT, "%s", sentence);
}

void tsri_train_settings_training(const tsri_train_settings *s, tsri_training_objective objective,
                                  bool head_only, tsri_training_options *out) {
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
                                .lora_alpha = (float)s->lora_alpha};
}

tsr_status tsri_train_settings_check(const tsri_train_settings *s,
                                     tsri_training_objective objective) {
    if (*s->kl_to && *s->distill_from)
        return refuse("kl_to and distill_from: one of them at a time");
    if (*s->distill_from && s->kl_weight > 1)
        return refuse("kl_weight: with distill_from it is a share, from 0 to 1");
    if (s->min_learning_rate > s->learning_rate)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "min_learning_rate=%g is above learning_rate=%g; at most that is "
                              "wanted",
                              s->min_learning_rate, s->learning_rate);
    if (s->warmup_steps > 0 && s->warmup_ratio > 0)
        return refuse("warmup_steps and warmup_ratio: one of them at a time");
    if (s->max_steps <= 0 && s->num_train_epochs <= 0)
        return refuse("max_steps or num_train_epochs must be above 0");
    if (s->metric_for_best_model == TSRI_METRIC_ACCURACY && objective != TSRI_OBJECTIVE_CLASSIFY)
        return refuse("metric_for_best_model=accuracy: only classifiers have it; loss is wanted");
    if (s->nesterov && s->momentum <= 0)
        return refuse("nesterov=true wants momentum above 0");
    return TSR_OK;
}

/* Without an end in its formula, a run may be made longer. */
static bool may_go_on(const tsri_train_settings *s) {
    return s->warmup_ratio == 0 && s->lr_scheduler_type != TSRI_SCHEDULE_LINEAR &&
           s->lr_scheduler_type != TSRI_SCHEDULE_COSINE;
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
                "%s=%.80s: this run began with %.80s, and its learning rate goes by "
                "that; --resume wants the same, or a new folder",
                key->name, b, a);
        if (!length && !(key->flags & FREE))
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "%s=%.80s: this run began with %.80s; --resume wants the same, or "
                "a new folder",
                key->name, b, a);
        const size_t used = strlen(harmless);
        snprintf(harmless + used, size - used, "%s%s=%.80s", used ? ", " : "", key->name, b);
    }
    return TSR_OK;
}
