/* train/recipe/keys.c - reads and writes the values that a table of keys describes. */
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "train/recipe/settings.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 128 };

tsr_status tsri_train_key_split(const char *set, char name[TSRI_TRAIN_KEY_NAME],
                                const char **value) {
    const char *sign = set ? strchr(set, '=') : NULL;
    if (!sign || sign == set || (size_t)(sign - set) >= TSRI_TRAIN_KEY_NAME)
        return tsri_base_fail(TSR_E_ARGUMENT, "--set %.80s: it must be key=value", set ? set : "");
    memcpy(name, set, (size_t)(sign - set));
    name[sign - set] = 0;
    *value = sign + 1;
    return TSR_OK;
}

const tsri_train_key *tsri_train_key_find(const tsri_train_keys *table, const char *name) {
    for (size_t i = 0; i < table->n; i++)
        if (!tsri_base_name_distance(table->keys[i].name, name))
            return &table->keys[i];
    return NULL;
}

/* The place of `text` in "a|b|c", or -1. */
static int place_of(const char *words, const char *text) {
    const size_t n = strlen(text);
    for (int place = 0;; place++) {
        const size_t length = strcspn(words, "|");
        if (length == n && !memcmp(words, text, n))
            return place;
        if (!words[length])
            return -1;
        words += length + 1;
    }
}

static void word_at(const char *words, int place, char *text, size_t size) {
    for (; place > 0; place--)
        words += strcspn(words, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(words, "|"), words);
}

static tsr_status wanted(const tsri_train_key *key, const char *text, const char *what) {
    return tsri_base_fail(TSR_E_ARGUMENT, "%s=%s: it must be %s", key->name, text, what);
}

static tsr_status wanted_number(const tsri_train_key *key, const char *text) {
    char what[128];
    tsri_base_print(what, sizeof what, "%s from %.12g to %.12g",
                    key->kind == TSRI_TRAIN_VALUE_INT ? "a whole number" : "a number", key->lowest,
                    key->highest);
    return wanted(key, text, what);
}

/* "a|b|c" as "a, b or c". */
static tsr_status wanted_word(const tsri_train_key *key, const char *text) {
    char what[256] = "", word[64];
    int n = 0;
    for (const char *at = key->words; *at; at++)
        n += *at == '|';
    for (int i = 0; i <= n; i++) {
        word_at(key->words, i, word, sizeof word);
        const size_t used = strlen(what);
        snprintf(what + used, sizeof what - used, "%s%s",
                 i == 0  ? ""
                 : i < n ? ", "
                         : " or ",
                 word);
    }
    return wanted(key, text, what);
}

tsr_status tsri_train_key_set(const tsri_train_key *key, void *values, const char *text) {
    char *at = (char *)values + key->offset, *end;
    errno = 0;
    switch (key->kind) {
    case TSRI_TRAIN_VALUE_INT: {
        const long long value = strtoll(text, &end, 10);
        if (end == text || *end || errno || (double)value < key->lowest ||
            (double)value > key->highest)
            return wanted_number(key, text);
        *(int64_t *)at = value;
        return TSR_OK;
    }
    case TSRI_TRAIN_VALUE_REAL: {
        const double value = tsri_base_read_number(text, &end);
        if (end == text || *end || !isfinite(value) || value < key->lowest || value > key->highest)
            return wanted_number(key, text);
        *(double *)at = value;
        return TSR_OK;
    }
    case TSRI_TRAIN_VALUE_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return wanted(key, text, "true or false");
        *(bool *)at = !strcmp(text, "true");
        return TSR_OK;
    case TSRI_TRAIN_VALUE_WORD: {
        const int place = place_of(key->words, text);
        if (place < 0)
            return wanted_word(key, text);
        *(int *)at = place;
        return TSR_OK;
    }
    default:
        if (strlen(text) >= TSRI_TRAIN_TEXT)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s: the text has %zu bytes; at most %d are allowed", key->name,
                                  strlen(text), TSRI_TRAIN_TEXT - 1);
        memset(at, 0, TSRI_TRAIN_TEXT);
        memcpy(at, text, strlen(text));
        return TSR_OK;
    }
}

void tsri_train_key_defaults(const tsri_train_keys *table, void *values) {
    for (size_t i = 0; i < table->n; i++) {
        const tsri_train_key *key = &table->keys[i];
        const tsr_status status = tsri_train_key_set(key, values, key->initial);
        assert(status == TSR_OK);
        (void)status;
    }
}

void tsri_train_key_text(const tsri_train_key *key, const void *values, char *text, size_t size) {
    const char *at = (const char *)values + key->offset;
    switch (key->kind) {
    case TSRI_TRAIN_VALUE_INT:
        snprintf(text, size, "%" PRId64, *(const int64_t *)at);
        break;
    case TSRI_TRAIN_VALUE_REAL: {
        const double value = *(const double *)at;
        tsri_base_print(text, size, "%.15g", value);
        if (tsri_base_read_number(text, NULL) != value)
            tsri_base_print(text, size, "%.17g", value);
        break;
    }
    case TSRI_TRAIN_VALUE_BOOL:
        snprintf(text, size, "%s", *(const bool *)at ? "true" : "false");
        break;
    case TSRI_TRAIN_VALUE_WORD:
        word_at(key->words, *(const int *)at, text, size);
        break;
    default:
        snprintf(text, size, "%s", at);
    }
}

static json_t *value_of(const tsri_train_key *key, const void *values) {
    char text[TSRI_TRAIN_TEXT];
    const char *at = (const char *)values + key->offset;
    switch (key->kind) {
    case TSRI_TRAIN_VALUE_INT:
        return json_integer(*(const int64_t *)at);
    case TSRI_TRAIN_VALUE_REAL:
        return json_real(*(const double *)at);
    case TSRI_TRAIN_VALUE_BOOL:
        return json_boolean(*(const bool *)at);
    default:
        tsri_train_key_text(key, values, text, sizeof text);
        return json_string(text);
    }
}

json_t *tsri_train_key_object(const tsri_train_keys *table, const void *values) {
    json_t *object = json_object();
    for (size_t i = 0; object && i < table->n; i++)
        if (json_object_set_new(object, table->keys[i].name, value_of(&table->keys[i], values))) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static tsr_status set_json(const tsri_train_key *key, void *values, const json_t *value) {
    char number[64];
    switch (json_typeof(value)) {
    case JSON_STRING:
        return tsri_train_key_set(key, values, json_string_value(value));
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        return tsri_train_key_set(key, values, number);
    case JSON_REAL:
        tsri_base_print(number, sizeof number, "%.17g", json_real_value(value));
        return tsri_train_key_set(key, values, number);
    case JSON_TRUE:
    case JSON_FALSE:
        return tsri_train_key_set(key, values, json_is_true(value) ? "true" : "false");
    default:
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: it must be a number, a text, true or false",
                              key->name);
    }
}

tsr_status tsri_train_key_set_object(const tsri_train_keys *table, void *values,
                                     const json_t *object, const char *what) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        const tsri_train_key *key = tsri_train_key_find(table, name);
        const tsr_status status =
            key ? set_json(key, values, value) : tsri_train_key_unknown(&table, 1, name);
        if (status != TSR_OK)
            return tsri_base_fail_within(TSR_E_FORMAT, "%s", what);
    }
    return TSR_OK;
}

/* The names that keys have in other programs. */
static const struct {
    const char *typed, *key;
} elsewhere[] = {{"lr", "learning_rate"},
                 {"min_lr", "min_learning_rate"},
                 {"scheduler", "lr_scheduler_type"},
                 {"lr_scheduler", "lr_scheduler_type"},
                 {"warmup", "warmup_steps"},
                 {"epochs", "num_train_epochs"},
                 {"num_epochs", "num_train_epochs"},
                 {"n_epochs", "num_train_epochs"},
                 {"iters", "max_steps"},
                 {"max_iters", "max_steps"},
                 {"steps", "max_steps"},
                 {"num_steps", "max_steps"},
                 {"bs", "per_device_train_batch_size"},
                 {"batch", "per_device_train_batch_size"},
                 {"batch_size", "per_device_train_batch_size"},
                 {"train_batch_size", "per_device_train_batch_size"},
                 {"eval_batch_size", "per_device_eval_batch_size"},
                 {"grad_accum", "gradient_accumulation_steps"},
                 {"gradient_accumulation", "gradient_accumulation_steps"},
                 {"max_length", "block_size"},
                 {"max_seq_length", "block_size"},
                 {"max_seq_len", "block_size"},
                 {"seq_len", "block_size"},
                 {"context", "block_size"},
                 {"n_ctx", "block_size"},
                 {"optimizer", "optim"},
                 {"wd", "weight_decay"},
                 {"beta1", "adam_beta1"},
                 {"beta2", "adam_beta2"},
                 {"eps", "adam_epsilon"},
                 {"grad_clip", "max_grad_norm"},
                 {"clip", "max_grad_norm"},
                 {"label_smoothing", "label_smoothing_factor"},
                 {"mask_probability", "mlm_probability"},
                 {"lora_r", "lora_rank"},
                 {"rank", "lora_rank"},
                 {"fp16", "bf16"},
                 {"patience", "early_stopping_patience"},
                 {"eval_interval", "eval_steps"},
                 {"log_interval", "logging_steps"},
                 {"n_layer", "layers"},
                 {"num_layers", "layers"},
                 {"num_hidden_layers", "layers"},
                 {"n_head", "heads"},
                 {"num_heads", "heads"},
                 {"num_attention_heads", "heads"},
                 {"num_key_value_heads", "kv_heads"},
                 {"n_embd", "hidden_size"},
                 {"d_model", "hidden_size"},
                 {"intermediate_size", "ffn"},
                 {"d_ff", "ffn"},
                 {"max_position_embeddings", "max_positions"},
                 {"tie_word_embeddings", "tied"}};
enum { N_ELSEWHERE = sizeof elsewhere / sizeof *elsewhere };

/* The key that other programs call by this name, or NULL. */
static const char *known_elsewhere(const tsri_train_keys *const *tables, size_t n_tables,
                                   const char *name) {
    for (size_t e = 0; e < N_ELSEWHERE; e++)
        for (size_t t = 0; t < n_tables; t++)
            if (!tsri_base_name_distance(name, elsewhere[e].typed) &&
                tsri_train_key_find(tables[t], elsewhere[e].key))
                return elsewhere[e].key;
    return NULL;
}

tsr_status tsri_train_key_unknown(const tsri_train_keys *const *tables, size_t n_tables,
                                  const char *name) {
    const char *names[MOST_KEYS] = {NULL}, *nearest = known_elsewhere(tables, n_tables, name);
    size_t n = 0;
    for (size_t t = 0; t < n_tables; t++)
        for (size_t i = 0; i < tables[t]->n && n < MOST_KEYS; i++)
            names[n++] = tables[t]->keys[i].name;
    const size_t found = nearest ? n : tsri_base_name_nearest(name, names, n);
    nearest = found < n ? names[found] : nearest;
    return nearest ? tsri_base_fail(TSR_E_ARGUMENT,
                                    "%.64s: no such key; the nearest is %s, and tessera help train "
                                    "lists all",
                                    name, nearest)
                   : tsri_base_fail(TSR_E_ARGUMENT,
                                    "%.64s: no such key; tessera help train lists all", name);
}
