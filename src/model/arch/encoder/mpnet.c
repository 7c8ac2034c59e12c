/* model/arch/encoder/mpnet.c - MPNet: RoBERTa with a bias by distance, the same in all layers, and
 * without segments.
 * https://huggingface.co/docs/transformers/model_doc/mpnet */
#include "base/error.h"
#include "model/arch/encoder/bert.h"

#include <inttypes.h>

/* Those of transformers, whatever the config says. */
enum { PADDING = 1, BUCKETS = 32, FURTHEST = 128 };

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    tsri_model_stack *stack = &spec->encoder;
    int32_t buckets = BUCKETS;
    TRY(tsri_model_arch_roberta_positions(config, PADDING, spec));
    spec->token_types = 0;
    stack->relative_buckets = BUCKETS;
    stack->relative_distance = FURTHEST;
    TRY(tsri_model_config_int(config, "relative_attention_num_buckets", false, 1, 4096, &buckets));
    if (buckets != BUCKETS)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: \"relative_attention_num_buckets\" is %" PRId32
            "; only %d is served, because transformers computes %d whatever this says",
            config->what, buckets, BUCKETS, BUCKETS);
    return TSR_OK;
}

static const tsri_model_names names = {
    .prefix = "mpnet.",
    TSRI_MODEL_NAMES_BERT_EMBEDDING,
    .relative = "encoder.relative_attention_bias",
    .norm1 = "encoder.layer.%d.attention.LayerNorm",
    .norm2 = "encoder.layer.%d.output.LayerNorm",
    TSRI_MODEL_NAMES_QKV("encoder.layer.%d.attention.attn.", "q", "k", "v"),
    .out = "encoder.layer.%d.attention.attn.o",
    .up = "encoder.layer.%d.intermediate.dense",
    .down = "encoder.layer.%d.output.dense",
    TSRI_MODEL_NAMES_ROBERTA_HEADS,
};

const tsri_model_arch tsri_model_arch_mpnet = {
    .name = "mpnet",
    .encoder_names = &names,
    .read = read,
};
