/* model/arch/encoder/deberta_v2.c - DeBERTa v2 and v3, and mDeBERTa: distances in buckets, and a convolution.
 * https://huggingface.co/docs/transformers/model_doc/deberta-v2 */
#include "model/arch/encoder/deberta.h"

#include "base/error.h"

#include <inttypes.h>

/* The buckets of distances, and what is made of their rows. */
static tsr_status read_buckets(const tsri_model_config *config, tsri_model_stack *stack) {
    int64_t buckets = -1, size = stack->head_size;
    const int64_t furthest = stack->distance_furthest;
    bool shared = false;
    TRY(tsri_model_config_long(config, "position_buckets", false, INT32_MIN, 1 << 20, &buckets));
    if (buckets == 1 || (buckets > 0 && furthest - 1 <= buckets / 2))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"max_relative_positions\" %" PRId64 " and \"position_buckets\" %" PRId64
            " are not served: buckets are 2 or more, and half of them less than the "
            "largest distance",
            config->what, furthest, buckets);
    stack->distance_buckets = buckets > 0 ? (int32_t)buckets : 0;
    stack->distance_span = buckets > 0 ? (int32_t)buckets : (int32_t)furthest;
    TRY(tsri_model_config_bool(config, "share_att_key", &shared));
    stack->distance_apart = !shared;
    stack->distance_norm = tsri_model_arch_deberta_word(config, "norm_rel_ebd", "layer_norm");
    TRY(tsri_model_config_long(config, "attention_head_size", false, INT32_MIN, INT32_MAX, &size));
    if (size == stack->head_size)
        return TSR_OK;
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: \"attention_head_size\" is %" PRId64
                          ", which is not served; %" PRId32 " is",
                          config->what, size, stack->head_size);
}

/* The convolution beside the first layer. */
static tsr_status read_convolution(const tsri_model_config *config, const tsri_model_spec *spec,
                                   tsri_model_stack *stack) {
    int32_t taps = 0, groups = 1;
    TRY(tsri_model_config_int(config, "conv_kernel_size", false, INT32_MIN, 1 << 10, &taps));
    if (taps < 1)
        return TSR_OK;
    TRY(tsri_model_config_int(config, "conv_groups", false, 1, spec->width, &groups));
    if (taps % 2 == 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"conv_kernel_size\" is %" PRId32
                              ", which is not served; odd numbers are",
                              config->what, taps);
    if (spec->width % groups)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"conv_groups\" is %" PRId32
                              "; it must divide \"hidden_size\", which is %" PRId32,
                              config->what, groups, spec->width);
    stack->conv_taps = taps;
    stack->conv_groups = groups;
    return tsri_model_config_activation(config, "conv_act", "tanh", &stack->conv_activation);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    TRY(tsri_model_arch_deberta_like(config, spec));
    TRY(read_buckets(config, &spec->encoder));
    return read_convolution(config, spec, &spec->encoder);
}

static const tsri_model_names names = {
    TSRI_MODEL_NAMES_DEBERTA,
    TSRI_MODEL_NAMES_QKV("encoder.layer.%d.attention.self.", "query_proj", "key_proj",
                         "value_proj"),
    .distance_norm = "encoder.LayerNorm",
    .distance_q = "encoder.layer.%d.attention.self.pos_query_proj",
    .distance_k = "encoder.layer.%d.attention.self.pos_key_proj",
    .conv = "encoder.conv.conv",
    .conv_norm = "encoder.conv.LayerNorm",
};

const tsri_model_arch tsri_model_arch_deberta_v2 = {
    .name = "deberta-v2",
    .encoder_names = &names,
    .read = read,
};
