/* model/arch/encoder/nomic_bert.c - NomicBERT: BERT with rotary positions, GLU, and no biases in its
 * layers. Its first files have GPT-2's names in config.json, and arrays of names of their own.
 * https://huggingface.co/docs/transformers/model_doc/nomic_bert */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/encoder/bert.h"

#include <stdio.h>
#include <string.h>

/* The keys of the first files: what they are called now. */
static const char *const renamed[][2] = {{"n_embd", "hidden_size"},
                                         {"n_layer", "num_hidden_layers"},
                                         {"n_head", "num_attention_heads"},
                                         {"n_inner", "intermediate_size"},
                                         {"n_positions", "max_position_embeddings"},
                                         {"layer_norm_epsilon", "layer_norm_eps"}};

/* And those of which one value is served. */
static const tsri_model_neutral fixed[] = {{"prenorm", TSRI_NEUTRAL_FALSE},
                                           {"parallel_block", TSRI_NEUTRAL_FALSE},
                                           {"qkv_proj_bias", TSRI_NEUTRAL_FALSE},
                                           {"mlp_fc1_bias", TSRI_NEUTRAL_FALSE},
                                           {"mlp_fc2_bias", TSRI_NEUTRAL_FALSE},
                                           {"use_rms_norm", TSRI_NEUTRAL_FALSE},
                                           {"causal", TSRI_NEUTRAL_FALSE},
                                           {"rotary_emb_interleaved", TSRI_NEUTRAL_FALSE},
                                           {"rotary_emb_fraction", TSRI_NEUTRAL_ONE},
                                           {"rotary_emb_scale_base", TSRI_NEUTRAL_NULL},
                                           {"rotary_scaling_factor", TSRI_NEUTRAL_NULL}};

/* "swiglu" and "geglu" name a gate and its activation together; with others there is no gate. */
static tsr_status rename_activation(const char *what, json_t *root) {
    static const char *const gated[][2] = {{"swiglu", "silu"}, {"geglu", "gelu"}};
    const char *name = NULL;
    TRY(tsri_base_json_text(root, what, "activation_function", &name));
    for (size_t i = 0; name && i < 2; i++)
        if (strcmp(name, gated[i][0]) == 0) {
            tsri_base_json_put(root, "hidden_act", json_string(gated[i][1]));
            return TSR_OK;
        }
    return !name ? TSR_OK
                 : tsri_base_fail(
                       TSR_E_UNSUPPORTED,
                       "%s: \"activation_function\" is \"%s\", which is not served; swiglu "
                       "and geglu are",
                       what, name);
}

static tsr_status read_now(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"rope_scaling", "rope_parameters", NULL};
    tsri_model_stack *stack = &spec->encoder;
    int32_t head_size = 0;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_config_refuse_table(config, fixed, sizeof fixed / sizeof *fixed, NULL));
    TRY(tsri_model_config_common(config, true, spec));
    TRY(tsri_model_config_sizes(config, spec, stack));
    TRY(tsri_model_config_even_heads(config, "num_attention_heads", "hidden_size", spec, stack));
    TRY(tsri_model_config_int(config, "head_dim", false, 1, TSRI_MODEL_MAX_WIDTH, &head_size));
    if (head_size)
        stack->head_size = stack->value_size = head_size;
    spec->token_types = 2;
    TRY(tsri_model_config_int(config, "type_vocab_size", false, 0, TSRI_MODEL_MAX_WIDTH,
                              &spec->token_types));
    TRY(tsri_model_config_layer_norm(config, "layer_norm_eps", true, stack));
    if (!json_object_get(config->root, "layer_norm_eps"))
        stack->norm_eps = 1e-12f;
    TRY(tsri_model_config_activation(config, "hidden_act", "silu", &stack->activation));
    stack->place = TSRI_NORM_POST;
    stack->final_norm = false;
    stack->embed_norm = stack->gated = true;
    stack->positions = TSRI_POSITIONS_ROTARY;
    stack->rope.rotary = stack->head_size;
    spec->pad_fixed = true;
    spec->masked_activation = stack->activation;
    spec->label_tokens = tsri_model_config_is_for(config, "ForTokenClassification");
    return tsri_model_config_rope(config, 1000, spec->max_positions, &stack->rope);
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    json_t *root = json_copy(config->root);
    const tsri_model_config now = {.root = root, .what = config->what, .archive = config->archive};
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        json_t *value = json_object_get(root, renamed[i][0]);
        if (value && !json_object_get(root, renamed[i][1]))
            tsri_base_json_put(root, renamed[i][1], json_incref(value));
    }
    tsr_status status = tsri_base_json_made(root, config->what);
    if (status == TSR_OK)
        status = rename_activation(config->what, root);
    if (status == TSR_OK)
        status = tsri_base_json_made(root, config->what);
    if (status == TSR_OK)
        status = read_now(&now, spec);
    json_decref(root);
    return status;
}

static const tsri_model_names names = {
    .prefix = "nomic_bert.",
    TSRI_MODEL_NAMES_ROTARY_BERT,
    .qkv = "encoder.layers.%d.attn.Wqkv",
    .out = TSRI_MODEL_NAMES_ROTARY_LAYER("self_attn.o_proj", "attn.out_proj"),
    .gate = TSRI_MODEL_NAMES_ROTARY_LAYER("mlp.gate_proj", "mlp.fc12"),
    .up = TSRI_MODEL_NAMES_ROTARY_LAYER("mlp.up_proj", "mlp.fc11"),
    .down = TSRI_MODEL_NAMES_ROTARY_LAYER("mlp.down_proj", "mlp.fc2"),
    .pooler = "pooler.dense",
    .head = "/cls.predictions.decoder",
    .head_bias = "/cls.predictions|/cls.predictions.decoder",
    .masked_dense = "/cls.predictions.transform.dense",
    .masked_norm = "/cls.predictions.transform.layer_norm",
    .label = "/classifier",
    .token_label = "/classifier",
};

const tsri_model_arch tsri_model_arch_nomic_bert = {
    .name = "nomic_bert",
    .gguf = "nomic-bert",
    .encoder_names = &names,
    .gguf_names = &tsri_model_names_gguf_encoder,
    .read = read,
    .complete_gguf = tsri_model_gguf_encoder,
};
