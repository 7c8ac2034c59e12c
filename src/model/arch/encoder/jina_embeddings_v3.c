/* model/arch/encoder/jina_embeddings_v3.c - Jina's embeddings of version 3: XLM-RoBERTa with rotary positions, and in its
 * first files, whose model type is xlm-roberta, adapters by task.
 * https://huggingface.co/docs/transformers/model_doc/jina_embeddings_v3 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/encoder/bert.h"

static const float eps = 1e-5f; /* if the key is missing */

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    const bool first = json_object_get(config->root, "position_embedding_type") != NULL;
    spec->token_types = 1;
    TRY(tsri_model_config_only(config, "position_embedding_type", "rotary"));
    TRY(tsri_model_arch_bert_rotary(config, first ? 10000 : 20000, spec));
    spec->encoder.norm_eps = eps;
    return tsri_model_config_float(config, "layer_norm_eps", false, 1e-15, 1,
                                   &spec->encoder.norm_eps);
}

static const tsri_model_names names = {
    .prefix = "roberta.",
    TSRI_MODEL_NAMES_ROTARY_BERT,
    .qkv = "encoder.layers.%d.mixer.Wqkv",
    .out = TSRI_MODEL_NAMES_ROTARY_LAYER("self_attn.o_proj", "mixer.out_proj"),
    .up = TSRI_MODEL_NAMES_ROTARY_LAYER("mlp.fc1", "mlp.fc1"),
    .down = TSRI_MODEL_NAMES_ROTARY_LAYER("mlp.fc2", "mlp.fc2"),
    TSRI_MODEL_NAMES_ROBERTA_HEADS,
};

const tsri_model_arch tsri_model_arch_jina_embeddings_v3 = {
    .name = "jina_embeddings_v3",
    .classes = "XLMRobertaLoRA",
    .by_task = true,
    .gguf = "jina-bert-v3",
    .encoder_names = &names,
    .gguf_names = &tsri_model_names_gguf_encoder,
    .read = read,
    .complete_gguf = tsri_model_gguf_encoder,
};
