/* task/generate/settings_keys.c - lists every key of transformers' GenerationConfig, and how it is
 * treated. */
#include "base/json.h"
#include "run/context.h"
#include "task/generate/settings.h"

#include <stdlib.h>
#include <string.h>

static const tsri_task_setting table[] = {
    /* lengths and ends */
    {"max_length", TSRI_TASK_SERVED, NULL},
    {"max_new_tokens", TSRI_TASK_SERVED, NULL},
    {"min_length", TSRI_TASK_SERVED, NULL},
    {"min_new_tokens", TSRI_TASK_SERVED, NULL},
    {"early_stopping", TSRI_TASK_SERVED, NULL},
    {"max_time", TSRI_TASK_TOLD, NULL},
    {"stop_strings", TSRI_TASK_TOLD, NULL},
    /* the strategy */
    {"do_sample", TSRI_TASK_SERVED, NULL},
    {"num_beams", TSRI_TASK_SERVED, NULL},
    {"num_return_sequences", TSRI_TASK_TOLD, "1"},
    {"num_beam_groups", TSRI_TASK_TOLD, "1"},
    {"diversity_penalty", TSRI_TASK_TOLD, "0"},
    {"penalty_alpha", TSRI_TASK_TOLD, "0"},
    {"dola_layers", TSRI_TASK_TOLD, NULL},
    {"constraints", TSRI_TASK_TOLD, NULL},
    {"force_words_ids", TSRI_TASK_TOLD, NULL},
    /* the distribution that a token is drawn from */
    {"temperature", TSRI_TASK_SERVED, NULL},
    {"top_k", TSRI_TASK_SERVED, NULL},
    {"top_p", TSRI_TASK_SERVED, NULL},
    {"min_p", TSRI_TASK_SERVED, NULL},
    {"top_h", TSRI_TASK_TOLD, NULL},
    {"typical_p", TSRI_TASK_TOLD, "1"},
    {"epsilon_cutoff", TSRI_TASK_TOLD, "0"},
    {"eta_cutoff", TSRI_TASK_TOLD, "0"},
    /* changes to the logits */
    {"repetition_penalty", TSRI_TASK_SERVED, NULL},
    {"length_penalty", TSRI_TASK_SERVED, NULL},
    {"no_repeat_ngram_size", TSRI_TASK_SERVED, NULL},
    {"bad_words_ids", TSRI_TASK_SERVED, NULL},
    {"renormalize_logits", TSRI_TASK_SERVED, NULL},
    {"forced_bos_token_id", TSRI_TASK_SERVED, NULL},
    {"forced_eos_token_id", TSRI_TASK_SERVED, NULL},
    {"suppress_tokens", TSRI_TASK_SERVED, NULL},
    {"begin_suppress_tokens", TSRI_TASK_SERVED, NULL},
    {"encoder_repetition_penalty", TSRI_TASK_TOLD, "1"},
    {"encoder_no_repeat_ngram_size", TSRI_TASK_TOLD, "0"},
    {"exponential_decay_length_penalty", TSRI_TASK_TOLD, NULL},
    {"sequence_bias", TSRI_TASK_TOLD, NULL},
    {"token_healing", TSRI_TASK_TOLD, "false"},
    {"guidance_scale", TSRI_TASK_TOLD, "1"},
    {"watermarking_config", TSRI_TASK_TOLD, NULL},
    {"forced_decoder_ids", TSRI_TASK_TOLD, NULL},
    {"remove_invalid_values", TSRI_TASK_HARMLESS, NULL}, /* such logits are an error here */
    /* special tokens */
    {"pad_token_id", TSRI_TASK_HARMLESS, NULL},
    {"bos_token_id", TSRI_TASK_SERVED, NULL},
    {"eos_token_id", TSRI_TASK_SERVED, NULL},
    {"decoder_start_token_id", TSRI_TASK_SERVED, NULL},
    /* how it is computed: only a quantized cache changes the logits */
    {"cache_implementation", TSRI_TASK_TOLD,
     "\"dynamic\"|\"static\"|\"offloaded\"|\"offloaded_static\"|\"sliding_window\"|\"hybrid\"|"
     "\"hybrid_chunked\"|\"dynamic_full\"|\"paged\""},
    {"use_cache", TSRI_TASK_HARMLESS, NULL},
    {"cache_config", TSRI_TASK_HARMLESS, NULL},
    {"max_cache_len", TSRI_TASK_HARMLESS, NULL},
    {"prefill_chunk_size", TSRI_TASK_HARMLESS, NULL},
    {"low_memory", TSRI_TASK_HARMLESS, NULL},
    {"compile_config", TSRI_TASK_HARMLESS, NULL},
    {"disable_compile", TSRI_TASK_HARMLESS, NULL},
    {"continuous_batching_config", TSRI_TASK_HARMLESS, NULL},
    {"return_legacy_cache", TSRI_TASK_HARMLESS, NULL},
    /* a second model, or guesses, which give the same tokens sooner */
    {"use_mtp", TSRI_TASK_HARMLESS, NULL},
    {"is_assistant", TSRI_TASK_HARMLESS, NULL},
    {"num_assistant_tokens", TSRI_TASK_HARMLESS, NULL},
    {"num_assistant_tokens_schedule", TSRI_TASK_HARMLESS, NULL},
    {"assistant_confidence_threshold", TSRI_TASK_HARMLESS, NULL},
    {"prompt_lookup_num_tokens", TSRI_TASK_HARMLESS, NULL},
    {"max_matching_ngram_size", TSRI_TASK_HARMLESS, NULL},
    {"assistant_early_exit", TSRI_TASK_HARMLESS, NULL},
    {"assistant_lookbehind", TSRI_TASK_HARMLESS, NULL},
    {"target_lookbehind", TSRI_TASK_HARMLESS, NULL},
    {"assistant_ensemble_weight", TSRI_TASK_HARMLESS, NULL},
    {"speculation_type", TSRI_TASK_HARMLESS, NULL},
    /* what a program gets besides the tokens; notes */
    {"output_attentions", TSRI_TASK_HARMLESS, NULL},
    {"output_hidden_states", TSRI_TASK_HARMLESS, NULL},
    {"output_scores", TSRI_TASK_HARMLESS, NULL},
    {"output_logits", TSRI_TASK_HARMLESS, NULL},
    {"return_dict_in_generate", TSRI_TASK_HARMLESS, NULL},
    {"transformers_version", TSRI_TASK_HARMLESS, NULL},
    {"_from_model_config", TSRI_TASK_HARMLESS, NULL},
    {"_commit_hash", TSRI_TASK_HARMLESS, NULL},
};
enum { KEYS = sizeof table / sizeof *table };

const tsri_task_setting *tsri_task_settings(size_t *n) {
    *n = KEYS;
    return table;
}

static const tsri_task_setting *find(const char *key) {
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(table[i].key, key) == 0)
            return &table[i];
    return NULL;
}

static bool same(const json_t *a, const json_t *b) {
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

/* Whether the value is one of those, separated by '|', that change nothing. */
static bool is_neutral(const json_t *value, const char *neutral) {
    if (json_is_null(value) || (json_is_array(value) && !json_array_size(value)) ||
        (json_is_object(value) && !json_object_size(value)))
        return true;
    for (const char *at = neutral; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        json_t *one = json_loadb(at, strcspn(at, "|"), JSON_DECODE_ANY, NULL);
        const bool hit = same(value, one);
        json_decref(one);
        if (hit)
            return true;
    }
    return false;
}

static void tell(const tsri_model *model, const char *key, const json_t *value, const char *why) {
    char *text = tsri_base_json_print(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    tsri_run_log(model->run, TSR_LOG_WARNING, "%s: \"%s\" is %.60s%s, %s", model->generation.path,
                 key, text ? text : "set", text && strlen(text) > 60 ? "..." : "", why);
    free(text);
}

/* Warns of keys that are served, but not with this value, or not together with another key. */
static void tell_parts(const tsri_model *model, const json_t *settings) {
    const json_t *beams = json_object_get(settings, "num_beams"),
                 *sample = json_object_get(settings, "do_sample"), *forced;
    static const char *const forcing[] = {"forced_bos_token_id", "forced_eos_token_id"};
    if (json_is_true(sample) && json_is_number(beams) && json_number_value(beams) > 1)
        tell(model, "do_sample", sample,
             "which is ignored where \"num_beams\" is above 1: a beam search draws nothing");
    for (size_t i = 0; i < 2; i++)
        if (json_array_size(forced = json_object_get(settings, forcing[i])) > 1)
            tell(model, forcing[i], forced, "of which only the first is forced");
}

void tsri_task_settings_tell(tsri_model *model) {
    tsri_model_generation *g = &model->generation;
    const char *key;
    json_t *value;
    if (!g->settings || g->told || !model->run)
        return;
    g->told = true;
    json_object_foreach(g->settings, key, value) {
        const tsri_task_setting *known = find(key);
        if (!known && !g->old && !is_neutral(value, NULL))
            tell(model, key, value, "an unknown key, which is ignored");
        else if (known && known->treatment == TSRI_TASK_TOLD && !is_neutral(value, known->neutral))
            tell(model, key, value, "which is not supported and is ignored");
    }
    tell_parts(model, g->settings);
}
