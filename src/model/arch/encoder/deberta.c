/* model/arch/encoder/deberta.c - DeBERTa, the first version: BERT with disentangled attention, whose keys have no
 * biases. https://huggingface.co/docs/transformers/model_doc/deberta */
#include "model/arch/encoder/deberta.h"

#include "base/error.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const tsri_model_names_deberta_ignored[] = {
    "embeddings.position_ids", "embeddings.position_embeddings.weight", NULL};
const char *const tsri_model_names_deberta_unserved[] = {"mask_predictions.", "qa_outputs.", NULL};

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

bool tsri_model_arch_deberta_word(const tsri_model_config *config, const char *key,
                                  const char *word) {
    return has_word(json_object_get(config->root, key), word);
}

static tsr_status refuse(const tsri_model_config *config, const char *key, const char *is,
                         const char *served) {
    return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: \"%s\" %s, which is not served; %s", config->what,
                          key, is, served);
}

/* Both kinds of scores by distance. */
static tsr_status check_attention(const tsri_model_config *config) {
    bool relative = false;
    TRY(tsri_model_config_bool(config, "relative_attention", &relative));
    if (!relative)
        return refuse(config, "relative_attention", "is false", "true is");
    if (!tsri_model_arch_deberta_word(config, "pos_att_type", "c2p") ||
        !tsri_model_arch_deberta_word(config, "pos_att_type", "p2c"))
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
    int64_t furthest = -1;
    TRY(tsri_model_config_long(config, "max_relative_positions", false, INT32_MIN, 1 << 20,
                               &furthest));
    furthest = furthest < 1 ? spec->max_positions : furthest;
    if (furthest > 1 << 20)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: a table of %" PRId64
            " distances to each side is not served; \"max_relative_positions\" or, "
            "without it, \"max_position_embeddings\" may be up to %d",
            config->what, furthest, 1 << 20);
    stack->distance_span = stack->distance_furthest = (int32_t)furthest;
    return TSR_OK;
}

tsr_status tsri_model_arch_deberta_like(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    bool learned = true;
    TRY(tsri_model_arch_bert_like(config, spec));
    if (!json_object_get(config->root, "layer_norm_eps"))
        stack->norm_eps = 1e-7f;
    /* the output matrix of its own head is the embedding, whatever the config says */
    if (tsri_io_find(config->archive, "lm_predictions.lm_head.dense.weight"))
        spec->tied = true;
    TRY(check_attention(config));
    TRY(read_distances(config, spec, stack));
    TRY(tsri_model_config_bool(config, "position_biased_input", &learned));
    stack->positions = learned ? TSRI_POSITIONS_LEARNED : TSRI_POSITIONS_NONE;
    stack->attention_scale = (float)(1 / sqrt(3.0 * stack->head_size));
    TRY(check_same(config, "embedding_size", spec->width));
    if (tsri_model_config_is_for(config, "ForSequenceClassification"))
        TRY(check_same(config, "pooler_hidden_size", spec->width));
    return tsri_model_config_activation(config, "pooler_hidden_act", "gelu",
                                        &spec->label_activation);
}

/* Here the scale depends on how many kinds of scores are listed, known or not. */
static tsr_status check_kinds(const tsri_model_config *config) {
    const json_t *kinds = json_object_get(config->root, "pos_att_type");
    const char *text = json_string_value(kinds);
    size_t n = text ? 1 : json_array_size(kinds);
    for (; text && (text = strchr(text, '|')); text++)
        n++;
    return n == 2 ? TSR_OK
                  : refuse(config, "pos_att_type", "has other kinds, too", "c2p with p2c is");
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    bool talking = false;
    TRY(tsri_model_arch_deberta_like(config, spec));
    TRY(check_kinds(config));
    TRY(tsri_model_config_bool(config, "talking_head", &talking));
    if (talking)
        return refuse(config, "talking_head", "is true", "false is");
    spec->encoder.distance_apart = spec->encoder.keys_unbiased = true;
    return TSR_OK;
}

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_DEBERTA,
    .qkv = "encoder.layer.%d.attention.self.in_proj",
    .q_bias = "encoder.layer.%d.attention.self.q_bias",
    .v_bias = "encoder.layer.%d.attention.self.v_bias",
    .distance_q = "encoder.layer.%d.attention.self.pos_q_proj",
    .distance_k = "encoder.layer.%d.attention.self.pos_proj",
    .fused = TSRI_FUSED_GROUPS,
};

const tsri_model_arch tsri_model_arch_deberta = {
    .name = "deberta",
    .encoder_names = &names,
    .read = read,
};
