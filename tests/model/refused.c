/* Bad configs and weights, each with its status and message (bad-input 41-51). Each case changes
 * one thing of a good model. */
#include "base/files.h"
#include "base/json.h"
#include "model/load/load.h"
#include "model/load/model_path.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) cr_assert((call) == TSR_OK, "%s", tsr_error_last())

static char folder[64];

static void make_folder(void) {
    folder_make(folder);
}

static void drop_folder(void) {
    folder_drop(folder);
}

TestSuite(refused, .init = make_folder, .fini = drop_folder);

/* The golden model `base` with config key `key` set to the JSON `value` (NULL: without the key). */
static void make_config(const char *base, const char *key, const char *value) {
    char path[1100], to[128];
    json_t *config = NULL;
    snprintf(path, sizeof path, "%s/tests/golden/models/%s/config.json", TESSERA_SOURCE_DIR, base);
    OK(tsri_base_json_load(path, 1 << 20, 64, &config));
    if (value)
        json_object_set_new(config, key, json_loads(value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(config, key);
    snprintf(to, sizeof to, "%s/config.json", folder);
    cr_assert(json_dump_file(config, to, 0) == 0);
    json_decref(config);
    snprintf(path, sizeof path, "%s/tests/golden/models/%s/model.safetensors", TESSERA_SOURCE_DIR,
             base);
    snprintf(to, sizeof to, "%s/model.safetensors", folder);
    unlink(to);
    cr_assert(symlink(path, to) == 0);
}

static void expect_refused(tsr_status status, const char *fragment, const char *title) {
    const tsri_model_options options = {0};
    tsri_model *model = NULL;
    const tsr_status got = tsri_model_open(folder, &options, &model);
    cr_expect(got == status, "%s: status %s, wanted %s (%s)", title, tsr_status_name(got),
              tsr_status_name(status), tsr_error_last());
    cr_expect(!model, "%s: a model was given", title);
    cr_expect(got == TSR_OK || strstr(tsr_error_last(), fragment), "%s: \"%s\" lacks \"%s\"", title,
              tsr_error_last(), fragment);
    tsri_model_close(&model);
}

Test(refused, configs) {
    static const struct {
        const char *base, *key, *value;
        tsr_status status;
        const char *fragment;
    } rows[] = {
        {"llama-tiny", "hidden_size", "\"24\"", TSR_E_FORMAT,
         "\"hidden_size\" is a text; a whole number is needed"},
        {"llama-tiny", "hidden_size", "24.0", TSR_E_FORMAT, "\"hidden_size\" is a fraction"},
        {"llama-tiny", "hidden_size", NULL, TSR_E_FORMAT, "\"hidden_size\" is missing"},
        {"llama-tiny", "num_hidden_layers", "0", TSR_E_FORMAT,
         "\"num_hidden_layers\" is 0; it must be from 1 to 1024"},
        {"llama-tiny", "num_hidden_layers", "1025", TSR_E_FORMAT, "it must be from 1 to 1024"},
        {"llama-tiny", "num_hidden_layers", "3", TSR_E_FORMAT,
         "tensor \"model.layers.2.input_layernorm.weight\" is missing"},
        {"llama-tiny", "num_hidden_layers", "1", TSR_E_UNSUPPORTED, "is not part of a llama model"},
        {"llama-tiny", "num_attention_heads", "-4", TSR_E_FORMAT, "\"num_attention_heads\" is -4"},
        {"llama-tiny", "num_key_value_heads", "3", TSR_E_FORMAT,
         "3 key/value heads do not divide 4 attention heads"},
        {"gpt2-tiny", "n_head", "5", TSR_E_FORMAT, "n_head 5 does not divide n_embd 24"},
        {"llama-tiny", "head_dim", "7", TSR_E_FORMAT,
         "7 rotary dimensions of a head of 7; an even number is needed"},
        {"llama-tiny", "rms_norm_eps", "-1e-5", TSR_E_FORMAT, "\"rms_norm_eps\""},
        {"llama-tiny", "rope_theta", "0", TSR_E_FORMAT, "\"rope_theta\""},
        {"llama-tiny", "vocab_size", "60", TSR_E_FORMAT,
         "tensor \"model.embed_tokens.weight\" has shape [61, 24]"},
        {"llama-tiny", "vocab_size", "16777217", TSR_E_FORMAT, "it must be from 1 to 16777216"},
        {"llama-tiny", "intermediate_size", "41", TSR_E_FORMAT, "needs [41, 24]"},
        {"gpt2-tiny", "n_inner", "95", TSR_E_FORMAT, "needs [24, 95]"},
        {"llama-tiny", "max_position_embeddings", "9999999999", TSR_E_FORMAT,
         "\"max_position_embeddings\""},
        {"llama-tiny", "bos_token_id", "61", TSR_E_FORMAT,
         "\"bos_token_id\" is 61; vocab_size 61 allows ids from 0 to 60"},
        {"llama-tiny", "eos_token_id", "[2, 61]", TSR_E_FORMAT,
         "\"eos_token_id\" must be ids from 0"},
        {"llama-tiny", "eos_token_id", "\"</s>\"", TSR_E_FORMAT, "\"eos_token_id\""},
        {"llama-tiny", "hidden_act", "\"xielu\"", TSR_E_UNSUPPORTED,
         "\"hidden_act\" is \"xielu\", which is not served"},
        {"llama-tiny", "rope_scaling", "{\"type\": \"spiral\", \"factor\": 2}", TSR_E_UNSUPPORTED,
         "rope type \"spiral\" is not served; default, linear, dynamic, llama3, yarn and longrope"},
        {"llama-tiny", "rope_scaling", "{\"type\": \"linear\"}", TSR_E_FORMAT,
         "\"factor\" is missing"},
        {"llama-tiny", "rope_scaling", "[1]", TSR_E_FORMAT, "\"rope_scaling\" must be an object"},
        {"llama-tiny", "sliding_window", "5", TSR_E_UNSUPPORTED,
         "\"sliding_window\" is 5, which changes results"},
        {"llama-tiny", "quantization_config", "{\"quant_method\": \"gptq\"}", TSR_E_FORMAT,
         "says gptq, but no tensor of"},
        {"llama-tiny", "quantization_config", "{\"quant_method\": \"hqq\"}", TSR_E_UNSUPPORTED,
         "\"quant_method\" is \"hqq\", which is not read; awq, bitsandbytes, compressed-tensors, "
         "fp8, gptq, mxfp4 and tessera are"},
        {"llama-tiny", "quantization_config", "{}", TSR_E_UNSUPPORTED,
         "\"quant_method\" is missing"},
        {"llama-tiny", "attention_bias", "true", TSR_E_FORMAT,
         "tensor \"model.layers.0.self_attn.q_proj.bias\" is missing"},
        {"llama-biases", "attention_bias", "false", TSR_E_UNSUPPORTED,
         "is not part of a llama model"},
        {"llama-tiny", "attention_bias", "1", TSR_E_FORMAT, "\"attention_bias\""},
        {"qwen2-window", "layer_types", "[\"full_attention\"]", TSR_E_FORMAT,
         "one kind for each of the 2 layers"},
        {"qwen2-window", "layer_types", "[\"full_attention\", \"chunked_attention\"]",
         TSR_E_UNSUPPORTED, "\"chunked_attention\""},
        {"gpt2-tiny", "scale_attn_by_inverse_layer_idx", "true", TSR_E_UNSUPPORTED,
         "\"scale_attn_by_inverse_layer_idx\" is true"},
        {"gpt2-tiny", "n_positions", "64", TSR_E_FORMAT,
         "tensor \"transformer.wpe.weight\" has shape [48, 24]"},
        {"opt", "word_embed_proj_dim", "12", TSR_E_UNSUPPORTED,
         "word_embed_proj_dim 12 differs from hidden_size 24"},
        {"phi3", "rope_scaling",
         "{\"type\": \"longrope\", \"long_factor\": [1], \"short_factor\": [1]}", TSR_E_FORMAT,
         "\"short_factor\" has 1 numbers; 6 rotary dimensions of a head need 3"},
        {"phi3-longrope-odd", "rope_scaling",
         "{\"type\": \"longrope\", \"long_factor\": [1, 2, 3, 4], \"short_factor\": [1, 2, 3]}",
         TSR_E_FORMAT, "\"long_factor\" has 4 numbers; 6 rotary dimensions of a head need 3"},
        {"phi3-longrope-odd", "rope_scaling",
         "{\"type\": \"longrope\", \"short_factor\": [1, 2, 3]}", TSR_E_FORMAT,
         "\"rope_scaling\": \"long_factor\" is missing"},
        {"phi3-longrope-odd", "rope_scaling",
         "{\"type\": \"longrope\", \"long_factor\": [1, 2, 3], \"short_factor\": 3}", TSR_E_FORMAT,
         "\"short_factor\" must be a list of numbers"},
        {"phi3-longrope-odd", "rope_scaling",
         "{\"type\": \"longrope\", \"long_factor\": [1, 2, 3], \"short_factor\": [1, \"2\", 3]}",
         TSR_E_FORMAT, "\"short_factor\" must have positive numbers only; number 2 of it is not"},
        {"phi3-longrope-odd", "rope_scaling",
         "{\"type\": \"longrope\", \"long_factor\": [1, 2, 1e39], \"short_factor\": [1, 2, 3]}",
         TSR_E_FORMAT, "\"long_factor\" must have positive numbers only; number 3 of it is not"},
        {"phi3-longrope-odd", "original_max_position_embeddings", NULL, TSR_E_FORMAT,
         "\"original_max_position_embeddings\" is missing, there and in the config; longrope"},
        {"phi3-longrope-odd", "original_max_position_embeddings", "1", TSR_E_FORMAT,
         "\"original_max_position_embeddings\" is 1; it must be from 2"},
        {"phi3-longrope-odd", "architectures", "[\"Phi3ForSequenceClassification\"]",
         TSR_E_UNSUPPORTED, "longrope is not served in an encoder"},
        {"gemma3_text", "rope_parameters",
         "{\"full_attention\": {\"rope_type\": \"longrope\", \"long_factor\": [1, 2, 3], "
         "\"short_factor\": [1, 2, 3], \"original_max_position_embeddings\": 8}}",
         TSR_E_UNSUPPORTED, "dynamic scaling and longrope are not served where layers have"},
        {"llama-tiny", "rope_parameters",
         "{\"full_attention\": {\"rope_theta\": 1e6, \"rope_type\": \"default\"}}",
         TSR_E_UNSUPPORTED, "\"rope_parameters\" has parameters for each kind of layer"},
        {"gemma3_text", "rope_parameters", "{\"rope_theta\": 1e6}", TSR_E_UNSUPPORTED,
         "\"rope_parameters\" has \"rope_theta\"; parameters for full_attention and for sliding_"},
        {"gemma3_text", "sliding_window", "null", TSR_E_FORMAT, "\"sliding_window\" is missing"},
        {"gemma3_text", "use_bidirectional_attention", "true", TSR_E_UNSUPPORTED,
         "\"use_bidirectional_attention\" is true"},
        {"gemma", "hidden_activation", "\"relu\"", TSR_E_UNSUPPORTED,
         "\"hidden_act\" and \"hidden_activation\" name different activations"},
        {"deepseek_v3", "scoring_func", "\"tanh\"", TSR_E_UNSUPPORTED,
         "\"scoring_func\" is \"tanh\", which is not served; softmax and sigmoid are"},
        {"deepseek_v3", "topk_method", "\"best\"", TSR_E_UNSUPPORTED,
         "\"topk_method\" is \"best\", which is not served; greedy, group_limited_greedy and "
         "noaux_tc are"},
        {"deepseek_v3", "n_group", "5", TSR_E_FORMAT, "12 experts in 5 groups (n_group)"},
        {"deepseek_v3", "n_group", "12", TSR_E_FORMAT, "of two experts at least"},
        {"deepseek_v3", "topk_group", "0", TSR_E_FORMAT, "\"topk_group\""},
        {"deepseek_v3", "num_experts_per_tok", "7", TSR_E_FORMAT, "have the 7 that a token takes"},
        {"deepseek_v3", "num_key_value_heads", "2", TSR_E_UNSUPPORTED,
         "latent attention has as many as num_attention_heads, 4"},
        {"deepseek_v3", "kv_lora_rank", "11", TSR_E_FORMAT, "self_attn.kv_a_proj_with_mqa.weight"},
        {"deepseek_v3", "qk_rope_head_dim", "3", TSR_E_FORMAT, "3 rotary dimensions"},
        {"deepseek_v3", "mlp_bias", "true", TSR_E_UNSUPPORTED, "\"mlp_bias\" is true"},
        {"deepseek_v3", "num_nextn_predict_layers", "17", TSR_E_FORMAT,
         "\"num_nextn_predict_layers\""},
        {"deepseek_v2", "norm_topk_prob", "true", TSR_E_UNSUPPORTED,
         "\"norm_topk_prob\" is true, which is served with scoring_func sigmoid only"},
        {"deepseek_v2", "num_local_experts", "9", TSR_E_FORMAT,
         "\"n_routed_experts\" is 7, and another key says that a layer has 9 experts"},
        {"deepseek_v2", "num_experts_per_tok", NULL, TSR_E_FORMAT,
         "\"num_experts_per_tok\" is missing"},
        {"mpnet/mlm", "relative_attention_num_buckets", "48", TSR_E_UNSUPPORTED,
         "\"relative_attention_num_buckets\" is 48; only 32 is served"},
        {"mpnet/mlm", "relative_attention_num_buckets", "16", TSR_E_UNSUPPORTED,
         "is 16; only 32 is"},
        {"gte-odd/new", "rope_scaling", "{\"type\": \"ntk\", \"factor\": 8, \"mixed_b\": 0.6}",
         TSR_E_UNSUPPORTED, "\"rope_scaling\" has \"mixed_b\", which is not served"},
        {"gte-odd/new", "layer_norm_type", "\"rms_norm\"", TSR_E_UNSUPPORTED,
         "\"layer_norm_type\" is \"rms_norm\"; only \"layer_norm\""},
        {"gte-odd/new", "logn_attention_scale", "true", TSR_E_UNSUPPORTED,
         "\"logn_attention_scale\" is true, which changes results"},
        {"eurobert-odd/cls", "classifier_pooling", "\"max\"", TSR_E_UNSUPPORTED,
         "\"classifier_pooling\" is \"max\", which is not served; bos, mean and late are"},
        {"deberta_v2/mlm", "relative_attention", "false", TSR_E_UNSUPPORTED,
         "\"relative_attention\" is false, which is not served"},
        {"deberta_v2/mlm", "share_att_key", NULL, TSR_E_FORMAT, "pos_query_proj"},
        {"deberta_v2/mlm", "pos_att_type", "\"c2p\"", TSR_E_UNSUPPORTED,
         "\"pos_att_type\" is not both, which is not served; c2p with p2c is"},
        {"deberta_v2/mlm", "pos_att_type", "[\"p2c\"]", TSR_E_UNSUPPORTED, "\"pos_att_type\""},
        {"deberta_v2/mlm", "conv_kernel_size", "3", TSR_E_FORMAT,
         "tensor \"deberta.encoder.conv.conv.weight\" is missing"},
        {"deberta_v2/mlm", "conv_kernel_size", "4", TSR_E_UNSUPPORTED,
         "\"conv_kernel_size\" is 4, which is not served; odd numbers are"},
        {"deberta_v2-conv-odd/mlm", "conv_kernel_size", "5", TSR_E_FORMAT, "needs [12, 12, 5]"},
        {"deberta_v2-conv-odd/mlm", "conv_kernel_size", "0", TSR_E_UNSUPPORTED,
         "\"deberta.encoder.conv.LayerNorm.bias\" is not part of a deberta-v2 model"},
        {"deberta_v2-conv-odd/mlm", "conv_act", "\"snake\"", TSR_E_UNSUPPORTED,
         "\"conv_act\" is \"snake\", which is not served"},
        {"deberta_v2-conv-odd/mlm", "conv_groups", "2", TSR_E_FORMAT, "needs [12, 6, 3]"},
        {"deberta_v2-conv-odd/mlm", "conv_groups", "5", TSR_E_FORMAT,
         "\"conv_groups\" is 5; it must divide \"hidden_size\", which is 12"},
        {"deberta_v2/mlm", "embedding_size", "12", TSR_E_UNSUPPORTED, "\"embedding_size\" is 12"},
        {"deberta_v2/mlm", "attention_head_size", "8", TSR_E_UNSUPPORTED,
         "\"attention_head_size\" is 8, which is not served; 6 is"},
        {"deberta_v2/cls", "pooler_hidden_size", "12", TSR_E_UNSUPPORTED, "\"pooler_hidden_size\""},
        {"albert-odd/mlm", "num_hidden_groups", "3", TSR_E_UNSUPPORTED,
         "\"num_hidden_groups\" is 3, which does not divide \"num_hidden_layers\" 2"},
        {"modernbert-odd/cls", "classifier_bias", "false", TSR_E_FORMAT,
         "\"classifier_bias\" is false, but the files have the tensor \"head.dense.bias\""},
        {"marian-odd", "share_encoder_decoder_embeddings", "false", TSR_E_FORMAT,
         "one table for both sides, \"model.shared.weight\""},
        {"deberta_v2/mlm", "position_buckets", "1", TSR_E_UNSUPPORTED, "\"position_buckets\" 1"},
        {"deberta_v2/mlm", "position_buckets", "9", TSR_E_FORMAT, "rel_embeddings"},
        {"llama-tiny", "tie_word_embeddings", "\"yes\"", TSR_E_FORMAT, "\"tie_word_embeddings\""},
        {"llama-tiny", "model_type", "\"mamba\"", TSR_E_UNSUPPORTED,
         "\"model_type\" is \"mamba\", which is not served; these are: gpt2, llama"},
        {"llama-tiny", "rope_scaling",
         "{\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}", TSR_E_UNSUPPORTED,
         "\"partial_rotary_factor\" is 0.5, which changes results"},
        {"granite-odd", "rope_scaling",
         "{\"rope_type\": \"linear\", \"factor\": 2.0, \"partial_rotary_factor\": 0.5}",
         TSR_E_UNSUPPORTED, "\"partial_rotary_factor\" is 0.5, which changes results"},
        {"gpt_neox-odd", "rope_theta", "777.0", TSR_E_UNSUPPORTED,
         "\"rope_theta\" is 777, but \"rotary_emb_base\" is 300; which of them counts"},
        {"gpt_neox-odd", "partial_rotary_factor", "0.5", TSR_E_UNSUPPORTED,
         "\"partial_rotary_factor\" is 0.5, but \"rotary_pct\" is 0.666667"},
        {"deberta-odd/mlm", "relative_attention", "false", TSR_E_UNSUPPORTED,
         "\"relative_attention\" is false, which is not served"},
        {"deberta-odd/mlm", "pos_att_type", "[\"c2p\"]", TSR_E_UNSUPPORTED, "\"pos_att_type\""},
        {"deberta-odd/mlm", "pos_att_type", "[\"c2p\", \"p2c\", \"p2p\"]", TSR_E_UNSUPPORTED,
         "\"pos_att_type\" has other kinds, too, which is not served; c2p with p2c is"},
        {"deberta-odd/mlm", "talking_head", "true", TSR_E_UNSUPPORTED, "\"talking_head\" is true"},
        {"deberta-odd/mlm", "embedding_size", "6", TSR_E_UNSUPPORTED, "\"embedding_size\" is 6"},
        {"deberta-odd/mlm", "max_relative_positions", "6", TSR_E_FORMAT, "rel_embeddings"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char title[128];
        snprintf(title, sizeof title, "%s with %s = %s", rows[i].base, rows[i].key,
                 rows[i].value ? rows[i].value : "nothing");
        make_config(rows[i].base, rows[i].key, rows[i].value);
        expect_refused(rows[i].status, rows[i].fragment, title);
    }
}

/* Harmless values of keys that could change results are not refused. */
Test(refused, neutral_keys_are_not) {
    static const struct {
        const char *key, *value;
    } rows[] = {
        {"sliding_window", "null"},       {"pretraining_tp", "1"},  {"use_cache", "false"},
        {"partial_rotary_factor", "1.0"}, {"logit_scale", "1"},     {"num_experts", "null"},
        {"rope_scaling", "null"},         {"unheard_of", "[1, 2]"}, {"eos_token_id", "[2, 3]"}};
    const tsri_model_options options = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_model *model = NULL;
        make_config("llama-tiny", rows[i].key, rows[i].value);
        cr_expect(tsri_model_open(folder, &options, &model) == TSR_OK, "%s = %s: %s", rows[i].key,
                  rows[i].value, tsr_error_last());
        tsri_model_close(&model);
    }
}

/* Classes of transformers, some of which have their family's name in another form, or another family's. */
Test(refused, not_a_class_of_a_family) {
    static const struct {
        const char *class, *family;
    } rows[] = {{"BertForMaskedLM", "bert"},
                {"JinaBertModel", "bert"},
                {"XLMRobertaModel", "xlm-roberta"},
                {"XLMRobertaLoRA", "jina_embeddings_v3"},
                {"XLMRobertaXLModel", NULL},
                {"LLaMAForCausalLM", "llama"},
                {"LlamaModel", "llama"},
                {"MiniCPMForCausalLM", "minicpm"},
                {"GPT2LMHeadModel", "gpt2"},
                {"GPT2DoubleHeadsModel", "gpt2"},
                {"T5WithLMHeadModel", "t5"},
                {"T5EncoderModel", "t5"},
                {"MarianMTModel", "marian"},
                {"M2M100ForConditionalGeneration", "m2m_100"},
                {"RWForCausalLM", "falcon"},
                {"StableLMEpochForCausalLM", "stablelm"},
                {"Gemma3ForCausalLM", "gemma3_text"},
                {"Gemma3TextModel", "gemma3_text"},
                {"Gemma3ForConditionalGeneration", "gemma3"},
                {"DebertaV2ForSequenceClassification", "deberta-v2"},
                {"DebertaModel", "deberta"},
                {"NewModel", "new"},
                {"Model", NULL},
                {"Bert", NULL},
                {"BertForest", NULL},
                {"ForMaskedLM", NULL},
                {"", NULL},
                {"MyBertModel", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsri_model_arch *arch = tsri_model_arch_find_class(rows[i].class);
        cr_expect(arch ? rows[i].family && !strcmp(arch->name, rows[i].family) : !rows[i].family,
                  "%s: %s", rows[i].class, arch ? arch->name : "none");
    }
}

/* Layers behind those of the model, which guess further tokens, are left out, with a warning; not if the config
 * says that there are none. */
Test(refused, not_the_layers_that_guess_further_tokens) {
    const tsri_model_options options = {0};
    tsri_model *model = NULL;
    json_t *config = NULL;
    char path[128];
    make_config("deepseek_v3", "num_hidden_layers", "2");
    OK(tsri_model_open(folder, &options, &model));
    cr_assert(model->weights->left_out.size);
    cr_expect_str_eq(model->weights->left_out.data, "model.layers.2");
    tsri_model_close(&model);
    snprintf(path, sizeof path, "%s/config.json", folder);
    OK(tsri_base_json_load(path, 1 << 20, 64, &config));
    json_object_set_new(config, "num_nextn_predict_layers", json_integer(0));
    cr_assert(json_dump_file(config, path, 0) == 0);
    json_decref(config);
    expect_refused(TSR_E_UNSUPPORTED, "is not part of a deepseek_v3 model", "a layer too many");
}

/* Both spellings of the rotary settings give the same spec. */
Test(refused, both_spellings_are_one) {
    const tsri_model_options options = {0};
    tsri_model *model = NULL, *older = NULL;
    char path[128];
    json_t *config = NULL;
    make_config("llama-llama3", "use_cache", "true");
    OK(tsri_model_open(folder, &options, &model));
    snprintf(path, sizeof path, "%s/config.json", folder);
    OK(tsri_base_json_load(path, 1 << 20, 64, &config));
    json_t *rope = json_incref(json_object_get(config, "rope_parameters"));
    json_object_del(config, "rope_parameters");
    json_object_set(config, "rope_theta", json_object_get(rope, "rope_theta"));
    json_object_set_new(config, "rope_scaling", rope);
    json_object_set_new(config, "torch_dtype", json_string("float32"));
    json_object_del(config, "dtype");
    cr_assert(json_dump_file(config, path, 0) == 0);
    json_decref(config);
    OK(tsri_model_open(folder, &options, &older));
    cr_expect(memcmp(&model->spec.decoder.rope, &older->spec.decoder.rope,
                     sizeof model->spec.decoder.rope) == 0);
    cr_expect(model->spec.decoder.rope.scaling == TSRI_SCALING_LLAMA3);
    tsri_model_close(&model);
    tsri_model_close(&older);
}

/* Changes a key of the config that make_config wrote. */
static void change_config(const char *key, const char *value) {
    char path[128];
    json_t *config = NULL;
    snprintf(path, sizeof path, "%s/config.json", folder);
    OK(tsri_base_json_load(path, 1 << 20, 64, &config));
    json_object_set_new(config, key, json_loads(value, JSON_DECODE_ANY, NULL));
    cr_assert(json_dump_file(config, path, 0) == 0);
    json_decref(config);
}

/* As in transformers: a config's own original length takes precedence over that among its rotary parameters, but not
 * where kinds of layers have parameters of their own. */
Test(refused, an_original_length_beside_rotary_parameters_takes_precedence) {
#define SCALED(type)                                                            \
    "{\"rope_type\": \"" type "\", \"factor\": 4.0, \"low_freq_factor\": 1.0, " \
    "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 24}"
    static const struct {
        const char *base, *key, *parameters;
        int64_t original;
    } rows[] = {{"llama-tiny", "rope_scaling", SCALED("llama3"), 8},
                {"llama-tiny", "rope_scaling", SCALED("yarn"), 8},
                {"llama-tiny", "rope_parameters", SCALED("yarn"), 8},
                {"gemma3_text", "rope_parameters", "{\"full_attention\": " SCALED("yarn") "}", 24},
                {"gemma3_text", "rope_parameters",
                 "{\"full_attention\": {\"rope_type\": \"yarn\", \"factor\": 4.0}}", 48}};
#undef SCALED
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsri_model_options options = {0};
        tsri_model *model = NULL;
        make_config(rows[i].base, "original_max_position_embeddings", "8");
        change_config(rows[i].key, rows[i].parameters);
        OK(tsri_model_open(folder, &options, &model));
        cr_expect(model->spec.decoder.rope.original_positions == rows[i].original, "row %zu: %lld",
                  i, (long long)model->spec.decoder.rope.original_positions);
        tsri_model_close(&model);
    }
}

/* GPT-NeoX's numbers by the names that other families have: they must agree with its own, also where these are
 * missing; rotary parameters in an object take precedence over both. */
Test(refused, rotary_numbers_of_gpt_neox_have_one_value) {
    static const struct {
        const char *own, *key, *value, *fragment;
    } rows[] = {{"rotary_pct", "partial_rotary_factor", "0.5",
                 "\"partial_rotary_factor\" is 0.5, but \"rotary_pct\" is missing and means 0.25"},
                {"rotary_emb_base", "rope_theta", "777.0",
                 "\"rotary_emb_base\" is missing and means 10000"},
                {"rotary_emb_base", "rope_theta", "10000.0", NULL},
                {"rotary_emb_base", "rope_parameters", "{\"rope_theta\": 777.0}", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_config("gpt_neox-odd", rows[i].own, NULL);
        change_config(rows[i].key, rows[i].value);
        if (rows[i].fragment) {
            expect_refused(TSR_E_UNSUPPORTED, rows[i].fragment, rows[i].key);
            continue;
        }
        const tsri_model_options options = {0};
        tsri_model *model = NULL;
        OK(tsri_model_open(folder, &options, &model));
        cr_expect(model->spec.decoder.rope.theta == (i == 2 ? 10000 : 777), "row %zu: %g", i,
                  model->spec.decoder.rope.theta);
        tsri_model_close(&model);
    }
}

/* Linear scaling of one rotation makes the context longer; Gemma 3's config gives the longer one. A window of tokens
 * before and behind, as transformers has it where "is_causal" is false, does not count the token itself. */
Test(refused, lengths_are_those_that_the_config_means) {
    static const struct {
        const char *base, *key, *value;
        bool vectors;
        int64_t context, window;
    } rows[] = {{"llama-linear", "use_cache", "true", false, 120, 0},
                {"gemma3_text", "use_cache", "true", false, 48, 0},
                {"mistral", "use_cache", "true", true, 48, 8},
                {"mistral", "is_causal", "false", true, 48, 9}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsri_model_options options = {.vectors = rows[i].vectors};
        tsri_model *model = NULL;
        make_config(rows[i].base, rows[i].key, rows[i].value);
        OK(tsri_model_open(folder, &options, &model));
        cr_expect(model->spec.context == rows[i].context, "row %zu: %lld", i,
                  (long long)model->spec.context);
        cr_expect(model->spec.encoder.window == rows[i].window, "row %zu: %lld", i,
                  (long long)model->spec.encoder.window);
        tsri_model_close(&model);
    }
}

/* A NaN in a weight is found when its rows are read; the message has its name and place. */
/* By its old name, and with the original length among the factors or beside them, which takes
 * precedence. */
Test(refused, longrope_in_all_spellings_is_one) {
#define FACTORS "\"short_factor\": [1.1, 0.8, 1.6], \"long_factor\": [1.3, 2.7, 5.5]"
    static const struct {
        const char *key, *scaling, *original;
    } rows[] = {{"rope_scaling",
                 "{\"type\": \"su\", " FACTORS ", \"original_max_position_embeddings\": 8}", NULL},
                {"rope_scaling",
                 "{\"rope_type\": \"su\", " FACTORS ", \"original_max_position_embeddings\": 11}",
                 "8"},
                {"rope_parameters",
                 "{\"rope_type\": \"longrope\", \"attention_factor\": null, " FACTORS "}", "8"}};
#undef FACTORS
    const tsri_model_options options = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_model *model = NULL;
        char path[128];
        json_t *config = NULL;
        make_config("phi3-longrope-odd", "rope_scaling", NULL);
        snprintf(path, sizeof path, "%s/config.json", folder);
        OK(tsri_base_json_load(path, 1 << 20, 64, &config));
        json_object_set_new(config, rows[i].key, json_loads(rows[i].scaling, 0, NULL));
        json_object_set_new(config, "original_max_position_embeddings",
                            rows[i].original ? json_loads(rows[i].original, JSON_DECODE_ANY, NULL)
                                             : json_null());
        cr_assert(json_dump_file(config, path, 0) == 0);
        OK(tsri_model_open(folder, &options, &model));
        const tsri_model_rope *rope = &model->spec.decoder.rope;
        static const float factors[][3] = {{1.1f, 0.8f, 1.6f}, {1.3f, 2.7f, 5.5f}};
        for (int64_t length = 8; length <= 9; length++) {
            float got[3];
            tsri_model_rope_frequencies(rope, 48, length, got);
            for (int pair = 0; pair < 3; pair++)
                cr_expect(got[pair] == (float)(pow(300, -pair / 3.0) / factors[length - 8][pair]),
                          "row %zu, length %d, pair %d: %.9g", i, (int)length, pair,
                          (double)got[pair]);
        }
        cr_expect(rope->magnitude == sqrt(1 + log(6) / log(8)) && model->spec.context == 48);
        tsri_model_close(&model);
        json_decref(config);
    }
}

Test(refused, not_a_number) {
    const tsri_model_options options = {0};
    tsri_model *model = NULL;
    tsri_bytes file = {0};
    char path[1100], to[128];
    make_config("llama-tiny", "use_cache", "true");
    snprintf(path, sizeof path, "%s/tests/golden/models/llama-tiny/model.safetensors",
             TESSERA_SOURCE_DIR);
    snprintf(to, sizeof to, "%s/model.safetensors", folder);
    OK(tsri_base_read_whole(path, 1 << 20, &file));
    OK(tsri_model_open(folder, &options, &model));
    const tsri_model_weight *weight = tsri_model_weight_at(model->weights, TSRI_WEIGHT_EMBED);
    const uint32_t nan = 0x7fc00000;
    memcpy(file.data + weight->parts[0].array->offset + 4 * 30, &nan, 4);
    tsri_model_close(&model);
    unlink(to);
    OK(tsri_base_write_whole(to, file.data, file.size));
    OK(tsri_model_open(folder, &options, &model));
    static float rows[61 * 24];
    cr_expect(tsri_model_weights_rows(model->weights, TSRI_WEIGHT_EMBED, 0, 61, TSR_F32, rows) ==
              TSR_E_FORMAT);
    cr_expect(strstr(tsr_error_last(),
                     "\"model.embed_tokens.weight\" holds a NaN or an infinity at element 30"),
              "%s", tsr_error_last());
    tsri_model_close(&model);
    tsri_base_bytes_clear(&file);
}

/* For a name that is not a path the message says what to do. */
Test(refused, names) {
    static const struct {
        const char *name, *fragment;
        tsr_status status;
    } rows[] = {{"openai-community/gpt2", "hf download openai-community/gpt2", TSR_E_UNSUPPORTED},
                {"./nowhere/model", "there is no such folder or file", TSR_E_IO},
                {"no-such-model", "nor a bundled model", TSR_E_IO}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = NULL;
        cr_expect(tsri_model_locate(rows[i].name, &path) == rows[i].status, "%s", rows[i].name);
        cr_expect(strstr(tsr_error_last(), rows[i].fragment), "%s", tsr_error_last());
        free(path);
    }
}

/* Opened for vectors, decoders are encoders, whatever stands behind their layers; an encoder-decoder is one where its
 * encoder can stand alone. */
Test(refused, not_decoders_that_are_opened_for_vectors) {
    static const struct {
        const char *name;
        bool encoder, last, unsaid;
    } rows[] = {{"llama-tiny", true, false, true},
                {"llama-tiny/bare", true, true, false},
                {"gpt2-tiny/bare", true, true, false},
                {"phi-odd", true, false, true},
                {"gptj-odd", true, false, true},
                {"mixtral", true, false, true},
                {"deepseek_v3", true, false, true},
                {"gpt_oss", true, false, true},
                {"gemma2", true, false, true},
                {"mpt-odd", true, false, true},
                {"opt", true, false, true},
                {"qwen3-vectors/vectors", true, false, false},
                {"llama-labels/cls", true, false, false},
                {"t5-tiny", true, false, true},
                {"t5-encoder/vectors", true, false, false},
                {"bert/base", true, false, false},
                {"bart", false, false, false}};
    const tsri_model_options options = {.vectors = true};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[1100];
        tsri_model *model = NULL;
        snprintf(path, sizeof path, "%s/tests/golden/models/%s", TESSERA_SOURCE_DIR, rows[i].name);
        cr_expect(tsri_model_open(path, &options, &model) == TSR_OK, "%s: %s", rows[i].name,
                  tsr_error_last());
        if (!model)
            continue;
        const tsri_model_spec *spec = &model->spec;
        cr_expect((spec->encoder.layers && !spec->decoder.layers) == rows[i].encoder, "%s",
                  rows[i].name);
        cr_expect(spec->pools_last == rows[i].last && spec->pools_unsaid == rows[i].unsaid,
                  "%s: %d, %d", rows[i].name, spec->pools_last, spec->pools_unsaid);
        tsri_model_close(&model);
    }
}
