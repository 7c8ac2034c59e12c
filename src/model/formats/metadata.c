/* model/formats/metadata.c - turns the metadata of a GGUF file or a llama2.c checkpoint into the
 * config.json that Hugging Face would write. */
#include "model/formats/metadata.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { INTEGER, OF_LAYERS, REAL, FLAG } kind;

/* Metadata keys below "<architecture>." and the config fields that they become; a second field
 * where families differ. A number OF_LAYERS may be a list with one for each layer. */
static const struct {
    const char *key;
    kind kind;
    const char *field, *also;
} fields[] = {
    {"embedding_length", INTEGER, "hidden_size", "n_embd"},
    {"block_count", INTEGER, "num_hidden_layers", "n_layer"},
    {"feed_forward_length", OF_LAYERS, "intermediate_size", "n_inner"},
    {"expert_used_count", INTEGER, "num_experts_per_tok", NULL},
    {"expert_feed_forward_length", INTEGER, "moe_intermediate_size", NULL},
    {"expert_shared_feed_forward_length", INTEGER, "shared_expert_intermediate_size", NULL},
    {"context_length", INTEGER, "max_position_embeddings", "n_positions"},
    {"attention.head_count", OF_LAYERS, "num_attention_heads", "n_head"},
    {"attention.head_count_kv", OF_LAYERS, "num_key_value_heads", NULL},
    {"attention.key_length", INTEGER, "head_dim", NULL},
    {"attention.layer_norm_rms_epsilon", REAL, "rms_norm_eps", NULL},
    {"attention.layer_norm_epsilon", REAL, "layer_norm_epsilon", "layer_norm_eps"},
    {"rope.global.freq_base", REAL, "rope_theta", NULL}, /* Ollama's names; llama.cpp's win */
    {"rope.local.freq_base", REAL, "rope_local_base_freq", NULL},
    {"rope.freq_base", REAL, "rope_theta", NULL},
    {"rope.freq_base_swa", REAL, "rope_local_base_freq", NULL},
    {"attention.causal", FLAG, "is_causal", NULL},
    {"use_parallel_residual", FLAG, "use_parallel_residual", NULL},
    {"logit_scale", REAL, "logit_scale", NULL},
    {"residual_scale", REAL, "residual_multiplier", NULL},
    {"embedding_scale", REAL, "embedding_multiplier", NULL},
    {"attention.scale", REAL, "attention_multiplier", NULL},
    {"attention.clamp_kqv", REAL, "clip_qkv", NULL},
    {"attn_logit_softcapping", REAL, "attn_logit_softcapping", NULL},
    {"final_logit_softcapping", REAL, "final_logit_softcapping", NULL},
};

static void set(json_t *config, const char *field, const char *also, json_t *value) {
    if (also)
        tsri_base_json_put(config, also, json_incref(value));
    tsri_base_json_put(config, field, value);
}

static tsr_status meta_int(const tsri_io_archive *archive, const char *name, const char *suffix,
                           int64_t *out) {
    char key[128];
    snprintf(key, sizeof key, "%s.%s", name, suffix);
    return tsri_io_meta_int(archive, key, 0, INT32_MAX, out);
}

static tsr_status meta_real(const tsri_io_archive *archive, const char *name, const char *suffix,
                            double *out) {
    char key[128];
    snprintf(key, sizeof key, "%s.%s", name, suffix);
    return tsri_io_meta_real(archive, key, 0, 1e12, out);
}

/* A list with an item of `kind` for each layer; *out is NULL where the value is missing or no list. */
static tsr_status meta_layers(const tsri_io_archive *archive, const char *name, const char *key,
                              tsri_io_kind kind, const tsri_io_value **out) {
    const tsri_io_value *value = tsri_io_meta(archive, key);
    int64_t layers = 0;
    *out = NULL;
    if (!value || tsri_io_value_kind(value) != TSRI_IO_LIST)
        return TSR_OK;
    TRY(tsri_io_meta_list(archive, key, kind, out));
    TRY(meta_int(archive, name, "block_count", &layers));
    if (!layers || tsri_io_list_count(*out) != (size_t)layers)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"%s\" lists %zu values, but \"%s.block_count\" is "
                              "%" PRId64 "; one value for each layer is needed",
                              archive->path, key, tsri_io_list_count(*out), name, layers);
    return TSR_OK;
}

/* A number, or a list with the same number for each layer. */
static tsr_status meta_of_layers(const tsri_io_archive *archive, const char *name,
                                 const char *suffix, int64_t *out) {
    const tsri_io_value *list = NULL;
    char key[128];
    snprintf(key, sizeof key, "%s.%s", name, suffix);
    TRY(meta_layers(archive, name, key, TSRI_IO_INT, &list));
    if (!list)
        return tsri_io_meta_int(archive, key, 0, INT32_MAX, out);
    const int64_t first = tsri_io_list_int(list, 0);
    for (size_t i = 1; i < tsri_io_list_count(list); i++)
        if (tsri_io_list_int(list, i) != first)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: metadata \"%s\" is %" PRId64 " for layer 0 and %" PRId64
                                  " for layer %zu; layers of different sizes are not served",
                                  archive->path, key, first, tsri_io_list_int(list, i), i);
    if (first < 0 || first > INT32_MAX)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"%s\" is %" PRId64
                              " for each layer; it must be from 0 to %d",
                              archive->path, key, first, INT32_MAX);
    *out = first;
    return TSR_OK;
}

static tsr_status copy_fields(const tsri_io_archive *archive, const char *name, json_t *config) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char key[128];
        int64_t integer = 0;
        double real = 0;
        bool flag = false;
        snprintf(key, sizeof key, "%s.%s", name, fields[i].key);
        if (!tsri_io_meta(archive, key))
            continue;
        if (fields[i].kind == INTEGER || fields[i].kind == OF_LAYERS) {
            TRY(fields[i].kind == INTEGER ? tsri_io_meta_int(archive, key, 0, INT32_MAX, &integer)
                                          : meta_of_layers(archive, name, fields[i].key, &integer));
            set(config, fields[i].field, fields[i].also, json_integer(integer));
        } else if (fields[i].kind == REAL) {
            TRY(tsri_io_meta_real(archive, key, -1e12, 1e12, &real));
            set(config, fields[i].field, fields[i].also, json_real((double)(float)real));
        } else {
            TRY(tsri_io_meta_bool(archive, key, &flag));
            set(config, fields[i].field, fields[i].also, json_boolean(flag));
        }
    }
    return TSR_OK;
}

/* Which layers have a window: all but every n-th, or those whose flag in a list is set. */
static tsr_status copy_pattern(const tsri_io_archive *archive, const char *name, json_t *config) {
    const tsri_io_value *list = NULL;
    int64_t period = -1;
    char key[128];
    snprintf(key, sizeof key, "%s.attention.sliding_window_pattern", name);
    TRY(meta_layers(archive, name, key, TSRI_IO_BOOL, &list));
    if (!list)
        TRY(tsri_io_meta_int(archive, key, 0, INT32_MAX, &period));
    if (period >= 0)
        set(config, "sliding_window_pattern", NULL, json_integer(period));
    if (!list)
        return TSR_OK;
    json_t *types = json_array();
    for (size_t i = 0; i < tsri_io_list_count(list); i++)
        tsri_base_json_append(types, json_string(tsri_io_list_bool(list, i) ? "sliding_attention"
                                                                            : "full_attention"));
    set(config, "layer_types", NULL, types);
    return TSR_OK;
}

/* New JSON: the numbers of an array that divide the frequencies. */
static tsr_status list_factors(const tsri_io_archive *archive, const tsri_io_array *array,
                               json_t **out) {
    float *factors = NULL;
    if (array->rank != 1 || array->elements > TSRI_MODEL_MAX_ROTARY / 2)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" must be a vector of at most %d numbers",
                              archive->path, array->name, TSRI_MODEL_MAX_ROTARY / 2);
    TRY(tsri_base_new((size_t)array->elements, sizeof *factors, &factors));
    tsr_status status = tsri_io_read_as(archive, array, TSR_F32, 0, array->elements, factors);
    *out = json_array();
    for (uint64_t i = 0; status == TSR_OK && i < array->elements; i++) {
        if (!(factors[i] > 0) || isinf(factors[i]))
            status = tsri_base_fail(
                TSR_E_FORMAT, "%s: tensor \"%s\"[%" PRIu64 "] is %g; a positive number is needed",
                archive->path, array->name, i, (double)factors[i]);
        else
            tsri_base_json_append(*out, json_real((double)factors[i]));
    }
    free(factors);
    if (status != TSR_OK)
        json_decref(*out);
    return status;
}

/* What of a file with two arrays of factors may be something else than longrope. */
static tsr_status check_longrope(const tsri_io_archive *archive, const char *name, const char *type,
                                 double factor, int64_t original) {
    const char *const *names = tsri_model_rope_factors_gguf;
    for (int i = 0; i < 2; i++)
        if (!tsri_io_find(archive, names[i]))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\" is missing; the file has \"%s\", and "
                                  "longrope needs both",
                                  archive->path, names[i], names[1 - i]);
    if (tsri_io_find(archive, "rope_freqs.weight"))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: tensor \"rope_freqs.weight\" beside \"%s\" is not served",
                              archive->path, names[0]);
    if ((type && strcmp(type, "none") != 0 && strcmp(type, "longrope") != 0) ||
        (factor > 0 && factor != 1))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: %s.rope.scaling.type \"%s\" with the factor %g beside the "
                              "tensor \"%s\" is not served; only longrope without a factor is",
                              archive->path, name, type ? type : "none", factor, names[0]);
    if (!original)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s.rope.scaling.original_context_length\" is missing; the "
                              "tensor \"%s\" is for contexts of at most so many tokens",
                              archive->path, name, names[0]);
    return TSR_OK;
}

/* Two arrays of factors mean longrope, whether or not the metadata says so. */
static tsr_status copy_longrope(const tsri_io_archive *archive, double attention, int64_t original,
                                json_t *config) {
    static const char *const keys[] = {"short_factor", "long_factor"};
    const char *const *names = tsri_model_rope_factors_gguf;
    json_t *scaling = json_object();
    tsri_base_json_put(config, "rope_scaling", scaling);
    set(scaling, "type", NULL, json_string("longrope"));
    set(scaling, "original_max_position_embeddings", NULL, json_integer(original));
    set(scaling, "attention_factor", NULL, json_real(attention));
    for (int i = 0; i < 2; i++) {
        json_t *factors = NULL;
        TRY(list_factors(archive, tsri_io_find(archive, names[i]), &factors));
        set(scaling, keys[i], NULL, factors);
    }
    return TSR_OK;
}

/* Numbers that change results, with the values that change none: llama.cpp's default, and what stands for it.
 * Those of YaRN count where it is the type; some are read for one architecture. */
static tsr_status refuse_numbers(const tsri_io_archive *archive, const char *name, bool yarn) {
    static const struct {
        const char *key;
        double plain, unset;
        bool of_yarn;
        const char *read_for;
    } numbers[] = {{"rope.scaling.yarn_ext_factor", 1, -1, true, NULL},
                   {"rope.scaling.yarn_attn_factor", 1, 1, true, NULL},
                   {"rope.scaling.yarn_log_multiplier", 0, 0, true, "deepseek2"},
                   {"attention.temperature_scale", 0, 0, false, NULL},
                   {"expert_gating_func", 1, 0, false, "deepseek2"}, /* 1: softmax */
                   {"expert_group_count", 1, 0, false, "deepseek2"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *read_for = numbers[i].read_for;
        double value = numbers[i].plain;
        char key[128];
        if ((numbers[i].of_yarn && !yarn) || (read_for && strcmp(name, read_for) == 0))
            continue;
        snprintf(key, sizeof key, "%s.%s", name, numbers[i].key);
        TRY(tsri_io_meta_real(archive, key, -1e12, 1e12, &value));
        if (value != numbers[i].plain && value != numbers[i].unset)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"%s\" is %g, which changes results; only %g is served",
                                  archive->path, key, value, numbers[i].plain);
    }
    return TSR_OK;
}

/* Rotated vectors are multiplied by the attention factor whatever the type is; in a config only yarn and longrope
 * have one. In three architectures it counts elsewhere, too: in the local rotations of the Gemmas, and in
 * DeepSeek's scale of scores. */
static tsr_status check_attention_factor(const tsri_io_archive *archive, const char *name,
                                         const char *type, double attention) {
    static const char *const others[] = {"gemma3", "gemma-embedding", "deepseek2"};
    bool served = type && (strcmp(type, "yarn") == 0 || strcmp(type, "longrope") == 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        served &= strcmp(name, others[i]) != 0;
    if (served || attention == 1)
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s: \"%s.rope.scaling.attn_factor\" is %g, which changes results; only 1 is "
        "served for this architecture with the scaling type \"%s\"",
        archive->path, name, attention, type ? type : "none");
}

/* GGUF's attention factor multiplies yarn's own magnitude; a config's attention factor replaces
 * it. A factor without a type is linear scaling. */
static tsr_status copy_rope(const tsri_io_archive *archive, const char *name, json_t *config) {
    char key[128];
    const char *type = NULL;
    double factor = 0, attention = 1, fast = -1, slow = -1;
    int64_t original = 0;
    snprintf(key, sizeof key, "%s.rope.scaling.type", name);
    TRY(tsri_io_meta_text(archive, key, &type, NULL));
    TRY(refuse_numbers(archive, name, type && strcmp(type, "yarn") == 0));
    TRY(meta_real(archive, name, "rope.scale_linear", &factor)); /* the older key */
    TRY(meta_real(archive, name, "rope.scaling.factor", &factor));
    TRY(meta_real(archive, name, "rope.scaling.attn_factor", &attention));
    TRY(meta_real(archive, name, "rope.scaling.yarn_beta_fast", &fast));
    TRY(meta_real(archive, name, "rope.scaling.yarn_beta_slow", &slow));
    TRY(meta_int(archive, name, "rope.scaling.original_context_length", &original));
    if (!original && !strcmp(name, "minicpm")) /* its converter leaves it out */
        TRY(meta_int(archive, name, "context_length", &original));
    if (tsri_io_find(archive, tsri_model_rope_factors_gguf[0]) ||
        tsri_io_find(archive, tsri_model_rope_factors_gguf[1])) {
        TRY(check_longrope(archive, name, type, factor, original));
        return copy_longrope(archive, attention, original, config);
    }
    TRY(check_attention_factor(archive, name, type, attention));
    if (type && strcmp(type, "yarn") == 0 && factor == 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s.rope.scaling.type\" is \"yarn\", which needs a factor; "
                              "\"%s.rope.scaling.factor\" is missing or 0",
                              archive->path, name, name);
    if (!type)
        type = "linear";
    if (strcmp(type, "none") == 0 || (strcmp(type, "linear") == 0 && (factor == 0 || factor == 1)))
        return TSR_OK;
    json_t *scaling = json_object();
    set(scaling, "type", NULL, json_string(type));
    if (factor > 0)
        set(scaling, "factor", NULL, json_real(factor));
    if (original > 0)
        set(scaling, "original_max_position_embeddings", NULL, json_integer(original));
    if (attention != 1)
        set(scaling, "attention_factor", NULL,
            json_real(attention * tsri_model_yarn_magnitude(factor, 1)));
    if (fast >= 0)
        set(scaling, "beta_fast", NULL, json_real(fast));
    if (slow >= 0)
        set(scaling, "beta_slow", NULL, json_real(slow));
    tsri_base_json_put(config, "rope_scaling", scaling);
    return TSR_OK;
}

/* Key and value width, rotary share, window, experts: numbers that a config gives differently, or
 * not at all. */
static tsr_status copy_heads(const tsri_io_archive *archive, const char *name, json_t *config) {
    int64_t width = 0, heads = 0, key = 0, value = 0, rotary = 0, window = 0, experts = 0,
            latent = 0; /* then the family reads the widths */
    TRY(meta_int(archive, name, "embedding_length", &width));
    TRY(meta_of_layers(archive, name, "attention.head_count", &heads));
    TRY(meta_int(archive, name, "attention.key_length", &key));
    TRY(meta_int(archive, name, "attention.value_length", &value));
    TRY(meta_int(archive, name, "rope.dimension_count", &rotary));
    TRY(meta_int(archive, name, "attention.sliding_window", &window));
    TRY(meta_int(archive, name, "expert_count", &experts));
    TRY(meta_int(archive, name, "attention.kv_lora_rank", &latent));
    const int64_t head = key ? key : heads ? width / heads : 0;
    if (value && value != head && !latent)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: %s.attention.value_length %" PRId64
                              " differs from the keys' %" PRId64 "; this is not served",
                              archive->path, name, value, head);
    if (head)
        set(config, "partial_rotary_factor", NULL,
            json_real((double)(rotary ? rotary : head) / (double)head));
    if (window)
        set(config, "sliding_window", NULL, json_integer(window));
    if (experts)
        set(config, "num_local_experts", NULL, json_integer(experts));
    if (experts && !json_object_get(config, "num_experts_per_tok"))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"%s.expert_count\" is %" PRId64
                              ", but \"%s.expert_used_count\" is missing",
                              archive->path, name, experts, name);
    return TSR_OK;
}

/* Keys that files must have, as llama.cpp has no value for those that lack them. */
static tsr_status check_required(const tsri_io_archive *archive, const char *name) {
    static const struct {
        const char *name, *key,
            *other; /* name NULL: all architectures; other: what may stand for key */
    } required[] = {{NULL, "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"},
                    {"command-r", "logit_scale", NULL},
                    {"cohere2", "logit_scale", NULL},
                    {"cohere2", "attention.sliding_window", NULL},
                    {"granite", "logit_scale", NULL},
                    {"granitemoe", "logit_scale", NULL},
                    {"gpt-oss", "attention.sliding_window", NULL},
                    {"gemma-embedding", "attention.sliding_window", NULL},
                    {"gptneox", "use_parallel_residual", NULL},
                    {"mpt", "attention.max_alibi_bias", NULL}};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        char key[128], other[128] = "";
        if (required[i].name && strcmp(required[i].name, name) != 0)
            continue;
        snprintf(key, sizeof key, "%s.%s", name, required[i].key);
        if (required[i].other)
            snprintf(other, sizeof other, "%s.%s", name, required[i].other);
        if (!tsri_io_meta(archive, key) && !tsri_io_meta(archive, other))
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: metadata \"%s%s%s\" is missing, and there is no default for "
                                  "it",
                                  archive->path, key, *other ? "\" or \"" : "", other);
    }
    return TSR_OK;
}

/* What a missing key means in GGUF; the families' readers would take what it means to transformers. */
static void put_defaults(json_t *config) {
    const json_int_t width = json_integer_value(json_object_get(config, "hidden_size")),
                     heads = json_integer_value(json_object_get(config, "num_attention_heads"));
    tsri_base_json_default(config, "rope_theta", json_real(10000));
    if (heads > 0)
        tsri_base_json_default(config, "num_key_value_heads", json_integer(heads));
    if (heads > 0 && width % heads == 0)
        tsri_base_json_default(config, "head_dim", json_integer(width / heads));
}

/* The id of a special token; -1: the file has none, or one that the vocabulary doesn't have, which llama.cpp leaves out,
 * too. */
static tsr_status token_of(const tsri_io_archive *archive, const char *key, int64_t V,
                           int64_t *out) {
    *out = -1;
    TRY(tsri_io_meta_int(archive, key, 0, UINT32_MAX, out));
    *out = *out < V ? *out : -1;
    return TSR_OK;
}

static tsr_status copy_tokens(const tsri_io_archive *archive, json_t *config) {
    static const char *const ends[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    const int64_t V = json_integer_value(json_object_get(config, "vocab_size"));
    int64_t bos, pad, id;
    json_t *eos = json_array();
    tsri_base_json_put(config, "eos_token_id", eos);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        TRY(token_of(archive, ends[i], V, &id));
        if (id >= 0)
            tsri_base_json_append(eos, json_integer(id));
    }
    TRY(token_of(archive, "tokenizer.ggml.bos_token_id", V, &bos));
    TRY(token_of(archive, "tokenizer.ggml.padding_token_id", V, &pad));
    set(config, "bos_token_id", NULL, json_integer(bos));
    set(config, "pad_token_id", NULL, json_integer(pad));
    return TSR_OK;
}

static tsr_status fill_gguf(const tsri_io_archive *archive, const char *name,
                            const tsri_model_arch *arch, json_t *config) {
    const tsri_io_array *embed = tsri_io_find(archive, "token_embd.weight");
    if (!embed || embed->rank != 2)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"token_embd.weight\" is missing or is not a matrix",
                              archive->path);
    set(config, "model_type", NULL, json_string(arch->name));
    set(config, "vocab_size", NULL, json_integer(embed->dims[0]));
    set(config, "tie_word_embeddings", NULL, json_boolean(!tsri_io_find(archive, "output.weight")));
    if (tsri_io_find(archive, "blk.0.attn_q.bias"))
        set(config, "attention_bias", NULL, json_true());
    if (tsri_io_find(archive, "blk.0.ffn_gate.bias"))
        set(config, "mlp_bias", NULL, json_true());
    TRY(check_required(archive, name));
    TRY(copy_fields(archive, name, config));
    TRY(copy_pattern(archive, name, config));
    TRY(copy_rope(archive, name, config));
    TRY(copy_heads(archive, name, config));
    TRY(copy_tokens(archive, config));
    put_defaults(config);
    return arch->complete_gguf ? arch->complete_gguf(archive, config) : TSR_OK;
}

tsr_status tsri_model_gguf_config(const tsri_io_archive *archive, const tsri_model_arch **arch,
                                  json_t **out) {
    const char *name = NULL;
    TRY(tsri_io_meta_text(archive, "general.architecture", &name, NULL));
    if (!name)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: \"general.architecture\" is missing; the file does not say which model it is",
            archive->path);
    *arch = tsri_model_arch_find_gguf(name);
    const char *family = *arch && (*arch)->gguf_family ? (*arch)->gguf_family(archive) : NULL;
    if (family)
        *arch = tsri_model_arch_find(family);
    if (!*arch) {
        char list[TSRI_MODEL_ARCH_LIST];
        tsri_model_arch_list(true, list);
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: architecture \"%s\" is not served from GGUF; these are: %s",
                              archive->path, name, list);
    }
    *out = json_object();
    if (!*out)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory while %s was read",
                              archive->path);
    tsr_status status = fill_gguf(archive, name, *arch, *out);
    if (status == TSR_OK)
        status = tsri_base_json_made(*out, archive->path);
    if (status != TSR_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

tsr_status tsri_model_llama2c_config(const tsri_io_archive *archive, const tsri_model_arch **arch,
                                     json_t **out) {
    static const struct {
        const char *key, *field;
    } sizes[] = {{"dim", "hidden_size"},
                 {"hidden_dim", "intermediate_size"},
                 {"n_layers", "num_hidden_layers"},
                 {"n_heads", "num_attention_heads"},
                 {"vocab_size", "vocab_size"},
                 {"n_kv_heads", "num_key_value_heads"},
                 {"seq_len", "max_position_embeddings"}};
    bool tied = true;
    TRY(tsri_io_meta_bool(archive, "shared_classifier", &tied));
    *arch = tsri_model_arch_find("llama");
    *out = json_pack("{s:s, s:f, s:i, s:i, s:b}", "model_type", "llama", "rms_norm_eps", 1e-5,
                     "bos_token_id", 1, "eos_token_id", 2, "tie_word_embeddings", (int)tied);
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == TSR_OK; i++) {
        int64_t value = 0;
        status = tsri_io_meta_int(archive, sizes[i].key, 0, INT32_MAX, &value);
        if (status == TSR_OK)
            set(*out, sizes[i].field, NULL, json_integer(value));
    }
    if (status == TSR_OK)
        status = tsri_base_json_made(*out, archive->path);
    if (status != TSR_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}
