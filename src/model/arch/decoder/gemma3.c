/* model/arch/decoder/gemma3.c - Gemma 3, its texts: Gemma 2 without the soft cap of scores, with norms
 * of queries and keys, and with rotary parameters of their own in layers that have a window. And
 * EmbeddingGemma, which is its encoder.
 * https://huggingface.co/docs/transformers/model_doc/gemma3 */
#include "base/error.h"
#include "base/json.h"
#include "model/arch/decoder/gemma.h"
#include "model/arch/decoder/llama.h"

#include <stdio.h>

enum { WINDOW = 4096, PERIOD = 6, LARGEST = 62 /* layers of the 27B model */ };

/* EmbeddingGemma: an encoder, whose windows have so many tokens in all. */
static tsr_status see_both_sides(const tsri_model_config *config, tsri_model_spec *spec) {
    if (tsri_model_config_is_for(config, "ForCausalLM"))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"use_bidirectional_attention\" is true, and a model that "
                              "generates tokens from both sides of them is not served",
                              config->what);
    tsri_model_spec_encode(spec);
    spec->encoder.causal = false;
    if (spec->encoder.window)
        spec->encoder.window = spec->encoder.window / 2 + 1;
    return TSR_OK;
}

static tsr_status read(const tsri_model_config *config, tsri_model_spec *spec) {
    static const char *const handled[] = {"attention_bias",
                                          "sliding_window",
                                          "sliding_window_pattern",
                                          "layer_types",
                                          "rope_scaling",
                                          "rope_parameters",
                                          "rope_local_base_freq",
                                          "query_pre_attn_scalar",
                                          "final_logit_softcapping",
                                          "attn_logit_softcapping", /* read, and not used */
                                          "use_bidirectional_attention",
                                          NULL};
    tsri_model_stack *stack = &spec->decoder;
    bool both_sides = false;
    TRY(tsri_model_config_refuse(config, handled));
    TRY(tsri_model_arch_gemma2_layout(config, 0, spec));
    stack->qk_norm = TSRI_QK_NORM_HEADS;
    stack->window = WINDOW;
    TRY(tsri_model_config_window_every(config, "sliding_window_pattern", PERIOD, stack));
    TRY(tsri_model_rotate_by_window(stack, TSRI_ROTATION_LOCAL, TSRI_ROTATION_MAIN));
    TRY(tsri_model_config_two_ropes(config, 1e6, 10000, spec->max_positions, stack));
    TRY(tsri_model_config_bool(config, "use_bidirectional_attention", &both_sides));
    return both_sides ? see_both_sides(config, spec) : TSR_OK;
}

/* The config of a model that reads images, too, has that of its texts inside, with the keys alone that
 * differ from these sizes; ids of tokens may be outside. */
static tsr_status read_texts(const tsri_model_config *config, tsri_model_spec *spec) {
    static const struct {
        const char *key;
        int size;
    } usual[] = {{"vocab_size", 262208},
                 {"num_attention_heads", 8},
                 {"num_key_value_heads", 4},
                 {"max_position_embeddings", 131072}};
    static const char *const outside[] = {"bos_token_id", "eos_token_id", "pad_token_id",
                                          "tie_word_embeddings"};
    static const char *const nothing[] = {NULL};
    json_t *inner = json_object_get(config->root, "text_config");
    char what[512];
    snprintf(what, sizeof what, "%s: \"text_config\"", config->what);
    TRY(tsri_model_config_refuse(config, nothing));
    if (!json_is_object(inner))
        return tsri_base_fail(TSR_E_FORMAT, "%s is missing or is not an object", what);
    json_t *text = json_copy(inner);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!json_object_get(text, usual[i].key))
            tsri_base_json_put(text, usual[i].key, json_integer(usual[i].size));
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (json_object_get(config->root, outside[i]))
            tsri_base_json_put(text, outside[i],
                               json_incref(json_object_get(config->root, outside[i])));
    const tsri_model_config texts = {.root = text, .what = what, .archive = config->archive};
    tsr_status status = tsri_base_json_made(text, what);
    if (status == TSR_OK)
        status = read(&texts, spec);
    json_decref(text);
    return status;
}

static const char *const unserved[] = {"vision_tower.", "multi_modal_projector.",
                                       "model.vision_tower.", "model.multi_modal_projector.", NULL};

/* In the memory of transformers 5 the modules of a model that reads images, too, have other names than in its files. A
 * GGUF file is that of either model. */
static const char in_memory[] = "model.language_model.";

static const tsri_model_names names_of_texts = {
    TSRI_MODEL_NAMES_GEMMA2("language_model.model."),
    .other_prefix = in_memory,
    .other_in_adapters = true,
    .unserved = unserved,
};

static const tsri_model_names names_of_texts_alone = {
    TSRI_MODEL_NAMES_GEMMA2("model."),
    .other_prefix = in_memory,
    .unserved = unserved,
};

static tsr_status complete_gguf(const tsri_io_archive *archive, json_t *config) {
    (void)archive;
    tsri_model_gguf_windows(config);
    tsri_model_arch_gemma_scale(config, LARGEST);
    return TSR_OK;
}

const tsri_model_arch tsri_model_arch_gemma3_text = {
    .name = "gemma3_text",
    .classes = "Gemma3ForCausalLM",
    .gguf = "gemma3",
    .names = &names_of_texts_alone,
    .gguf_names = &tsri_model_names_gguf,
    .gguf_norm_added = true,
    .read = read,
    .complete_gguf = complete_gguf,
};

/* EmbeddingGemma as GGUF has it, whose dense layers model/load/sentence.h reads. */
static const char *const dense[] = {".attn_rot_embd.weight", "dense_2.weight", "dense_3.weight",
                                    NULL};

static const tsri_model_names gguf_names_of_vectors = {
    TSRI_MODEL_NAMES_GGUF,          .norm1 = "blk.%d.attn_norm",
    .norm2 = "blk.%d.ffn_norm",     TSRI_MODEL_NAMES_QKV("blk.%d.attn_", "q", "k", "v"),
    .q_norm = "blk.%d.attn_q_norm", .k_norm = "blk.%d.attn_k_norm",
    .gate = "blk.%d.ffn_gate",      .ignored = dense,
};

static tsr_status complete_vectors(const tsri_io_archive *archive, json_t *config) {
    tsri_base_json_put(config, "use_bidirectional_attention", json_true());
    return complete_gguf(archive, config);
}

const tsri_model_arch tsri_model_arch_gemma_embedding = {
    .name = "gemma_embedding",
    .gguf = "gemma-embedding",
    .names = &names_of_texts_alone,
    .gguf_names = &gguf_names_of_vectors,
    .gguf_norm_added = true,
    .read = read,
    .complete_gguf = complete_vectors,
};

const tsri_model_arch tsri_model_arch_gemma3 = {
    .name = "gemma3",
    .names = &names_of_texts,
    .read = read_texts,
};
