/* model/arch/encoder/deberta_v2.c - DeBERTa v2 and v3, and mDeBERTa: BERT with disentangled attention.
 * https://huggingface.co/docs/transformers/model_doc/deberta-v2 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/encoder/bert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether a text of words between bars, or a list of words, has this one. */
static bool has_word(const json_t *value, const char *word) {
    const char *text = json_string_value(value);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (has_word(json_array_get(value, i), word))
            return true;
    while (text) {
        const char *bar = strchr(text, '|');
        const size_t before = strspn(text, " ");
        size_t n = (bar ? (size_t)(bar - text) : strlen(text)) - before;
        while (n && text[before + n - 1] == ' ')
            n--;
        if (n == strlen(word) && strncmp(text + before, word, n) == 0)
            return true;
        text = bar ? bar + 1 : NULL;
    }
    return false;
}

static tsr_status refuse(const tsri_model_config *config, const char *key, const char *is,
                         const char *served) {
    return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: \"%s\" %s, which is not served; %s", config->what,
                          key, is, served);
}

/* Both kinds of scores by distance. */
static tsr_status check_attention(const tsri_model_config *config) {
    const json_t *kinds = json_object_get(config->root, "pos_att_type");
    bool relative = false;
    TRY(tsri_model_config_bool(config, "relative_attention", &relative));
    if (!relative)
        return refuse(config, "relative_attention", "is false", "true is");
    if (!has_word(kinds, "c2p") || !has_word(kinds, "p2c"))
        return refuse(config, "pos_att_type", "is not both", "c2p with p2c is");
    return TSR_OK;
}

/* A number of the config that must be what it would be without it. */
static tsr_status check_same(const tsri_model_config *config, const char *key, int64_t wanted) {
    int64_t value = wanted;
    TRY(tsri_model_config_long(config, key, false, INT32_MIN, INT32_MAX, &value));
    if (value == wanted)
        return TSR_OK;
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: \"%s\" is %" PRId64 ", which is not served; %" PRId64 " is",
                          config->what, key, value, wanted);
}

static tsr_status read_distances(const tsri_model_config *config, const tsri_model_spec *spec,
                                 tsri_model_stack *stack) {
    int64_t furthest = -1, buckets = -1;
    bool shared = false;
    TRY(tsri_model_config_long(config, "max_relative_positions", false, INT32_MIN, 1 << 20,
                               &furthest));
    TRY(tsri_model_config_long(config, "position_buckets", false, INT32_MIN, 1 << 20, &buckets));
    furthest = furthest < 1 ? spec->max_positions : furthest;
    if (furthest > 1 << 20 || buckets == 1 || (buckets > 0 && furthest - 1 <= buckets / 2))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"max_relative_positions\" %" PRId64 " and \"position_buckets\" %" PRId64
            " are not served: buckets are 2 or more, and half of them less than the "
            "largest distance",
            config->what, furthest, buckets);
    stack->distance_furthest = (int32_t)furthest;
    stack->distance_buckets = buckets > 0 ? (int32_t)buckets : 0;
    stack->distance_span = buckets > 0 ? (int32_t)buckets : (int32_t)furthest;
    TRY(tsri_model_config_bool(config, "share_att_key", &shared));
    stack->distance_apart = !shared;
    stack->distance_norm = has_word(json_object_get(config->root, "norm_rel_ebd"), "layer_norm");
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    bool learned = true;
    TRY(tsri_model_arch_bert_like(config, spec));
    if (!json_object_get(config->root, "layer_norm_eps"))
        stack->norm_eps = 1e-7f;
    TRY(check_attention(config));
    TRY(read_distances(config, spec, stack));
    TRY(tsri_model_config_bool(config, "position_biased_input", &learned));
    stack->positions = learned ? TSRI_POSITIONS_LEARNED : TSRI_POSITIONS_NONE;
    stack->attention_scale = (float)(1 / sqrt(3.0 * stack->head_size));
    TRY(check_same(config, "embedding_size", spec->width));
    TRY(check_same(config, "pooler_hidden_size", spec->width));
    TRY(check_same(config, "attention_head_size", stack->head_size));
    TRY(check_same(config, "conv_kernel_size", 0));
    return tsri_model_config_activation(config, "pooler_hidden_act", "gelu",
                                        &spec->label_activation);
}

static const char *const unserved[] = {"mask_predictions.", "qa_outputs.", NULL};

static const tsri_model_names names = {
    .prefix = "deberta.",
    TSRI_MODEL_NAMES_BERT_EMBEDDING,
    .types = "embeddings.token_type_embeddings",
    .norm1 = "encoder.layer.%d.attention.output.LayerNorm",
    .norm2 = "encoder.layer.%d.output.LayerNorm",
    TSRI_MODEL_NAMES_QKV("encoder.layer.%d.attention.self.", "query_proj", "key_proj",
                         "value_proj"),
    .out = "encoder.layer.%d.attention.output.dense",
    .up = "encoder.layer.%d.intermediate.dense",
    .down = "encoder.layer.%d.output.dense",
    .distances = "encoder.rel_embeddings",
    .distance_norm = "encoder.LayerNorm",
    .distance_q = "encoder.layer.%d.attention.self.pos_query_proj",
    .distance_k = "encoder.layer.%d.attention.self.pos_key_proj",
    .head = "/cls.predictions.decoder",
    .head_bias = "/cls.predictions|/cls.predictions.decoder|/lm_predictions.lm_head",
    .masked_dense = "/cls.predictions.transform.dense|/lm_predictions.lm_head.dense",
    .masked_norm = "/cls.predictions.transform.LayerNorm|/lm_predictions.lm_head.LayerNorm",
    .label_dense = "/pooler.dense",
    TSRI_MODEL_NAMES_BERT_LABELS,
    .unserved = unserved,
};

const tsri_model_arch tsri_model_arch_deberta_v2 = {
    .name = "deberta-v2",
    .encoder_names = &names,
    .read = read,
};
