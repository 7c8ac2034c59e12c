/* The table of settings: defaults, refused values, nearest names, and what --resume allows. */
#include "train/recipe/settings.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static tsri_train_settings fresh(void) {
    tsri_train_settings s;
    memset(&s, 0xAA, sizeof s);
    tsri_train_key_defaults(tsri_train_settings_keys(), &s);
    return s;
}

static tsr_status set(tsri_train_settings *s, const char *name, const char *text) {
    return tsri_train_key_set(tsri_train_key_find(tsri_train_settings_keys(), name), s, text);
}

Test(train, settings_begin_with_a_value_that_their_own_key_takes) {
    const tsri_train_keys *table = tsri_train_settings_keys();
    tsri_train_settings s = fresh();
    for (size_t i = 0; i < table->n; i++) {
        char text[TSRI_TRAIN_TEXT];
        cr_expect_eq(tsri_train_key_set(&table->keys[i], &s, table->keys[i].initial), TSR_OK, "%s",
                     table->keys[i].name);
        tsri_train_key_text(&table->keys[i], &s, text, sizeof text);
        cr_expect_str_eq(text, table->keys[i].initial, "%s", table->keys[i].name);
        for (size_t j = 0; j < i; j++)
            cr_expect_neq(strcmp(table->keys[i].name, table->keys[j].name), 0);
    }
    cr_expect_eq(tsri_train_settings_check(&s, TSRI_OBJECTIVE_NEXT, false), TSR_OK);
    cr_expect_eq(tsri_train_settings_check(&s, TSRI_OBJECTIVE_NEXT, true), TSR_OK);
}

Test(train, settings_survive_json) {
    tsri_train_settings s = fresh(), back = fresh();
    char harmless[256];
    cr_assert_eq(set(&s, "learning_rate", "0.1234567890123456789"), TSR_OK);
    cr_assert_eq(set(&s, "kl_to", "uniform"), TSR_OK);
    cr_assert_eq(set(&s, "lr_scheduler_type", "inverse_sqrt"), TSR_OK);
    cr_assert_eq(set(&s, "bf16", "true"), TSR_OK);
    cr_assert_eq(set(&s, "seed", "999999999999999"), TSR_OK);
    json_t *object = tsri_train_key_object(tsri_train_settings_keys(), &s);
    cr_assert_eq(tsri_train_key_set_object(tsri_train_settings_keys(), &back, object, "x"), TSR_OK);
    json_decref(object);
    cr_expect_eq(memcmp(&s.learning_rate, &back.learning_rate, sizeof s.learning_rate), 0);
    cr_expect_eq(tsri_train_settings_resume(&s, &back, harmless, sizeof harmless), TSR_OK);
    cr_expect_str_eq(harmless, "");
}

Test(train, settings_refuse_each_bad_value_with_a_reason) {
    static const struct {
        const char *name, *text, *fragment;
    } rows[] = {
        {"learning_rate", "", "learning_rate=: it must be a number from 0 to 1000"},
        {"learning_rate", "1e-3x", "a number"},
        {"learning_rate", "-1", "from 0"},
        {"learning_rate", "nan", "a number"},
        {"learning_rate", "inf", "a number"},
        {"max_steps", "1.5", "a whole number from -1"},
        {"max_steps", "99999999999999999999", "a whole number"},
        {"seed", "-1", "from 0"},
        {"per_device_train_batch_size", "0", "from 1"},
        {"adam_beta1", "1", "a number from 0 to 0.9999999"},
        {"dropout", "1", "to 0.99"},
        {"bf16", "yes", "bf16=yes: it must be true or false"},
        {"lr_scheduler_type", "polynomial",
         "linear, cosine, constant, constant_with_warmup or inverse_sqrt"},
        {"lr_scheduler_type", "", "it must be linear"},
        {"optim", "ada", "adamw or sgd"},
        {"optim", "adamw|sgd", "adamw or sgd"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_train_settings s = fresh();
        const tsri_train_settings before = s;
        cr_expect_eq(set(&s, rows[i].name, rows[i].text), TSR_E_ARGUMENT, "row %zu", i);
        cr_expect_not_null(strstr(tsri_base_reported(), rows[i].fragment), "row %zu: %s", i,
                           tsri_base_reported());
        cr_expect_eq(memcmp(&s, &before, sizeof s), 0, "row %zu left a trace", i);
    }
    char long_text[TSRI_TRAIN_TEXT + 1];
    memset(long_text, 'a', TSRI_TRAIN_TEXT);
    long_text[TSRI_TRAIN_TEXT] = 0;
    tsri_train_settings s = fresh();
    cr_expect_eq(set(&s, "kl_to", long_text), TSR_E_ARGUMENT);
    long_text[TSRI_TRAIN_TEXT - 1] = 0;
    cr_expect_eq(set(&s, "kl_to", long_text), TSR_OK);
}

Test(train, settings_name_the_nearest_key) {
    static const char *const rows[][2] = {
        {"learnig_rate", "learning_rate"},
        {"lr", "the nearest is learning_rate"},
        {"batch-size", "the nearest is per_device_train_batch_size"},
        {"n_layer",
         "no such key; tessera help train lists all"}, /* a key of recipes, not of this table */
        {"quite another thing", "no such key; tessera help train lists all"},
        {"gradient_accumulation_step", "gradient_accumulation_steps"},
        {"warmup", "warmup_steps"},
        {"laerning_rate", "the nearest is learning_rate"},
        {"", "no such key; tessera help train lists all"}};
    const tsri_train_keys *tables[] = {tsri_train_settings_keys()};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect_eq(tsri_train_key_unknown(tables, 1, rows[i][0]), TSR_E_ARGUMENT);
        cr_expect_not_null(strstr(tsri_base_reported(), rows[i][1]), "%s: %s", rows[i][0],
                           tsri_base_reported());
    }
}

Test(train, settings_of_a_recipe_are_named_with_their_file) {
    tsri_train_settings s = fresh();
    static const char *const rows[][2] = {
        {"{\"learning_rates\": 1}", "r.json: training: learning_rates: no such key"},
        {"{\"learning_rate\": \"fast\"}",
         "r.json: training: learning_rate=fast: it must be a number"},
        {"{\"learning_rate\": null}", "r.json: training: learning_rate: it must be a number"},
        {"{\"bf16\": 1}", "r.json: training: bf16=1: it must be true or false"},
        {"{\"max_steps\": 2.5}", "r.json: training: max_steps=2.5: it must be a whole number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *object = NULL;
        cr_assert_eq(tsri_base_json_parse(rows[i][0], strlen(rows[i][0]), 4, "t", &object), TSR_OK);
        cr_expect_eq(
            tsri_train_key_set_object(tsri_train_settings_keys(), &s, object, "r.json: training"),
            TSR_E_FORMAT);
        cr_expect_not_null(strstr(tsri_base_reported(), rows[i][1]), "%s", tsri_base_reported());
        json_decref(object);
    }
}

Test(train, settings_that_contradict_each_other) {
    static const struct {
        const char *set[2][2], *fragment;
    } rows[] = {
        {{{"kl_to", "uniform"}, {"distill_from", "x"}}, "one of them"},
        {{{"kl_weight", "2"}, {"distill_from", "x"}}, "from 0 to 1"},
        {{{"min_learning_rate", "1"}, {"learning_rate", "0.5"}}, "is above"},
        {{{"warmup_steps", "5"}, {"warmup_ratio", "0.1"}}, "one of them"},
        {{{"max_steps", "0"}, {"num_train_epochs", "0"}}, "above 0"},
        {{{"metric_for_best_model", "accuracy"}, {"seed", "1"}}, "only classifiers"},
        {{{"nesterov", "true"}, {"optim", "sgd"}}, "momentum"},
        {{{"shards", "6"}, {"gradient_accumulation_steps", "6"}}, "a power of two"},
        {{{"shards", "4"}, {"per_device_train_batch_size", "3"}}, "the 3 sequences"},
        {{{"shards", "4"}, {"gradient_accumulation_steps", "6"}}, "gradient_accumulation_steps=6"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_train_settings s = fresh();
        for (int j = 0; j < 2; j++)
            cr_assert_eq(set(&s, rows[i].set[j][0], rows[i].set[j][1]), TSR_OK);
        cr_expect_eq(tsri_train_settings_check(&s, TSRI_OBJECTIVE_NEXT, false), TSR_E_ARGUMENT);
        cr_expect_not_null(strstr(tsri_base_reported(), rows[i].fragment), "%s",
                           tsri_base_reported());
    }
}

Test(train, settings_of_adapters_contradict_a_head_that_learns_alone) {
    tsri_train_settings s = fresh();
    cr_assert_eq(set(&s, "lora_rank", "2"), TSR_OK);
    cr_expect_eq(tsri_train_settings_check(&s, TSRI_OBJECTIVE_CLASSIFY, false), TSR_OK);
    cr_expect_eq(tsri_train_settings_check(&s, TSRI_OBJECTIVE_CLASSIFY, true), TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsri_base_reported(), "head_only and lora_rank"), "%s",
                       tsri_base_reported());
}

Test(train, settings_shards_by_default_are_whole_batches) {
    static const int64_t rows[][2] = {{1, 1}, {2, 2}, {6, 2}, {8, 8}, {12, 4}, {60, 4}, {64, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_train_settings s = fresh();
        s.gradient_accumulation_steps = rows[i][0];
        cr_expect_eq(tsri_train_settings_shards(&s), rows[i][1]);
        s.shards = 1;
        cr_expect_eq(tsri_train_settings_shards(&s), 1);
    }
}

/* Another value than a key's first one. */
static void another(const tsri_train_key *key, char *text, size_t size) {
    switch (key->kind) {
    case TSRI_TRAIN_VALUE_WORD:
        snprintf(text, size, "%s", strrchr(key->words, '|') + 1);
        if (!strcmp(text, key->initial))
            snprintf(text, size, "%.*s", (int)strcspn(key->words, "|"), key->words);
        break;
    case TSRI_TRAIN_VALUE_BOOL:
        snprintf(text, size, "%s", strcmp(key->initial, "true") ? "true" : "false");
        break;
    case TSRI_TRAIN_VALUE_STRING:
        snprintf(text, size, "other");
        break;
    default: /* both bounds are values, and one of them is not the first */
        snprintf(text, size, key->kind == TSRI_TRAIN_VALUE_INT ? "%.0f" : "%.15g",
                 atof(key->initial) > key->lowest ? key->lowest : key->highest);
        break;
    }
}

/* Each setting that a computed number depends on; the length of a run has a case of its own below. */
Test(train, settings_that_must_not_differ_on_resume) {
    const tsri_train_keys *table = tsri_train_settings_keys();
    size_t refused = 0;
    for (size_t i = 0; i < table->n; i++) {
        const tsri_train_key *key = &table->keys[i];
        char text[TSRI_TRAIN_TEXT], harmless[256], wanted[TSRI_TRAIN_TEXT + 64];
        tsri_train_settings then = fresh(), now = fresh();
        another(key, text, sizeof text);
        cr_assert_eq(tsri_train_key_set(key, &now, text), TSR_OK, "%s=%s", key->name, text);
        const tsr_status status =
            tsri_train_settings_resume(&then, &now, harmless, sizeof harmless);
        snprintf(wanted, sizeof wanted, "%s=", key->name);
        cr_expect_eq(status == TSR_OK, (key->flags & TSRI_TRAIN_FREE) != 0, "%s=%s", key->name,
                     text);
        cr_expect(status == TSR_OK || !strncmp(tsri_base_reported(), wanted, strlen(wanted)), "%s",
                  tsri_base_reported());
        refused += status != TSR_OK;
    }
    cr_expect_eq(refused,
                 table->n - 5); /* the sample, its length, the log, when and what to save */
}

Test(train, settings_that_may_differ_on_resume) {
    char harmless[256];
    tsri_train_settings then = fresh(), now = fresh();
    cr_assert_eq(set(&now, "logging_steps", "3"), TSR_OK);
    cr_assert_eq(set(&now, "save_total_limit", "7"), TSR_OK);
    cr_expect_eq(tsri_train_settings_resume(&then, &now, harmless, sizeof harmless), TSR_OK);
    cr_expect_str_eq(harmless, "logging_steps=3, save_total_limit=7");
    cr_assert_eq(set(&now, "seed", "3"), TSR_OK);
    cr_expect_eq(tsri_train_settings_resume(&then, &now, harmless, sizeof harmless),
                 TSR_E_ARGUMENT);
    cr_expect_not_null(strstr(tsri_base_reported(), "seed=3: this run began with 42"));
    /* Validations that choose the result are as often as checkpoints, unless they have a number of their own. */
    static const char *const choices[] = {"load_best_model_at_end", "early_stopping_patience"},
                             *const values[] = {"true", "1"};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        tsri_train_settings chosen = fresh(), other;
        cr_assert_eq(set(&chosen, choices[i], values[i]), TSR_OK);
        other = chosen;
        cr_assert_eq(set(&other, "save_steps", "50"), TSR_OK);
        cr_expect_eq(tsri_train_settings_resume(&chosen, &other, harmless, sizeof harmless),
                     TSR_E_ARGUMENT);
        cr_expect(strstr(tsri_base_reported(), "save_steps=50: this run began with 500, and") &&
                      strstr(tsri_base_reported(), "eval_steps"),
                  "%s", tsri_base_reported());
        cr_assert_eq(set(&chosen, "eval_steps", "20"), TSR_OK);
        cr_assert_eq(set(&other, "eval_steps", "20"), TSR_OK);
        cr_expect_eq(tsri_train_settings_resume(&chosen, &other, harmless, sizeof harmless),
                     TSR_OK);
        cr_expect_str_eq(harmless, "save_steps=50");
    }
    /* A run can be made longer where its learning rates don't depend on its end. */
    now = then;
    cr_assert_eq(set(&now, "max_steps", "9"), TSR_OK);
    cr_expect_eq(tsri_train_settings_resume(&then, &now, harmless, sizeof harmless),
                 TSR_E_ARGUMENT);
    cr_assert_eq(set(&then, "lr_scheduler_type", "constant"), TSR_OK);
    cr_assert_eq(set(&now, "lr_scheduler_type", "constant"), TSR_OK);
    cr_expect_eq(tsri_train_settings_resume(&then, &now, harmless, sizeof harmless), TSR_OK);
    cr_expect_str_eq(harmless, "max_steps=9");
}
