/* model/formats/ctranslate2_config.c - makes a config from the shape of a CTranslate2 model: its
 * arrays and its single numbers.
 *
 * source  github.com/OpenNMT/CTranslate2: python/ctranslate2/specs/transformer_spec.py,
 *         src/models/transformer.cc, src/layers/transformer.cc */
#include "model/formats/ctranslate2.h"

#include "base/error.h"
#include "model/spec/spec.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 128 };

/* What is read, and the config that is made from it. */
typedef struct maker {
    const tsri_io_archive *archive;
    const char *side; /* "encoder" or "decoder" */
    json_t *config;
    int64_t width;
} maker;

/* ---- arrays and numbers by name ---- */

/* The array "SIDE.format", or NULL if there is none. */
__attribute__((format(PRINTF, 2, 3))) static const tsri_io_array *find(const maker *m,
                                                                       const char *format, ...) {
    char name[NAME];
    const int n = snprintf(name, sizeof name, "%s.", m->side);
    va_list list;
    va_start(list, format);
    vsnprintf(name + n, sizeof name - (size_t)n, format, list);
    va_end(list);
    return tsri_io_find(m->archive, name);
}

/* Finds a matrix that must be there. */
static tsr_status find_matrix(const maker *m, const char *name, const tsri_io_array **out) {
    *out = find(m, "%s", name);
    if (*out && (*out)->rank == 2 && (*out)->dims[0] > 0 && (*out)->dims[1] > 0 &&
        (*out)->dims[0] < TSRI_MODEL_MAX_VOCAB && (*out)->dims[1] <= TSRI_MODEL_MAX_WIDTH)
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: tensor \"%s.%s\" is missing, is not a matrix, or is too large; a "
                          "Transformer model of CTranslate2 needs it",
                          m->archive->path, m->side, name);
}

/* A number of one side: under "encoder/" or "decoder/" or, in files of revisions before 5, without
 * either. */
static tsr_status side_int(const maker *m, const char *key, int64_t lowest, int64_t highest,
                           int64_t *out) {
    char name[NAME];
    TRY(tsri_io_meta_int(m->archive, key, lowest, highest, out));
    snprintf(name, sizeof name, "%s/%s", m->side, key);
    return tsri_io_meta_int(m->archive, name, lowest, highest, out);
}

static tsr_status side_real(const maker *m, const char *key, double *out) {
    char name[NAME];
    snprintf(name, sizeof name, "%s/%s", m->side, key);
    return tsri_io_meta_real(m->archive, name, -1e12, 1e12, out);
}

/* Refuses numbers that change results and are not served, unless they are 0. */
static tsr_status refuse_unserved(const maker *m) {
    static const char *const keys[] = {"alibi",
                                       "sliding_window",
                                       "multi_query_attention",
                                       "final_logit_softcapping",
                                       "layer_0/layer_scalar",
                                       "layer_0/self_attention/rotary_dim",
                                       "layer_0/self_attention/rotary_base",
                                       "layer_0/self_attention/num_heads_kv",
                                       "layer_0/self_attention/sliding_window",
                                       "layer_0/self_attention/layer_norm/layer_norm_use_residual"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double value = 0;
        TRY(side_real(m, keys[i], &value));
        if (value != 0)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"%s/%s\" is %g, which is not served for CTranslate2 "
                                  "models; give the model's Hugging Face folder instead",
                                  m->archive->path, m->side, keys[i], value);
    }
    return TSR_OK;
}

/* ---- one side ---- */

static tsr_status read_activation(const maker *m, json_t *stack) {
    static const char *const names[] = {"relu", "gelu_new", "silu",   "gelu",
                                        NULL,   "tanh",     "sigmoid"};
    int64_t activation = 0;
    TRY(side_int(m, "activation", 0, INT8_MAX, &activation));
    if (activation >= (int64_t)(sizeof names / sizeof *names) || !names[activation])
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"%s/activation\" is %" PRId64
                              "%s, which is not served; ReLU, GELU, GELU by tanh, Swish, tanh and "
                              "sigmoid are",
                              m->archive->path, m->side, activation,
                              activation == 4 ? " (GELU by sigmoid)" : "");
    tsri_base_json_put(stack, "activation", json_string(names[activation]));
    return TSR_OK;
}

/* The scale of a side's embeddings: a flag that is set, or missing, stands for the square root of
 * the width. */
static tsr_status read_embed_scale(const maker *m, double *out) {
    static const char *const keys[] = {"scale_embeddings", "embeddings/multiply_by_sqrt_depth",
                                       "embeddings_0/multiply_by_sqrt_depth"};
    *out = sqrt((double)m->width);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "%s/%s", m->side, keys[i]);
        const tsri_io_value *value = tsri_io_meta(m->archive, name);
        if (!value)
            continue;
        double number = 0;
        TRY(tsri_io_meta_real(m->archive, name, -1e6, 1e6, &number));
        if (tsri_io_value_kind(value) == TSRI_IO_REAL)
            *out = number;
        else if (number == 0)
            *out = 1;
        break;
    }
    return TSR_OK;
}

static int64_t count_layers(const maker *m) {
    int64_t layers = 0;
    while (find(m, "layer_%" PRId64 ".ffn.linear_0.weight", layers))
        layers++;
    return layers;
}

/* A later layer with its own bias isn't served: all must be the first layer's. */
static tsr_status read_relative(const maker *m, int64_t layers, int64_t heads, json_t *stack) {
    static const char name[] = "self_attention.relative_attention_bias.weight";
    const tsri_io_array *first = find(m, "layer_0.%s", name);
    int64_t distance = 0;
    if (!first)
        return TSR_OK;
    for (int64_t layer = 1; layer < layers; layer++) {
        const tsri_io_array *other = find(m, "layer_%" PRId64 ".%s", layer, name);
        if (other && other->offset != first->offset)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: layer %" PRId64
                                  " of the %s has a relative bias of its own (UMT5), which is not "
                                  "served",
                                  m->archive->path, layer, m->side);
    }
    TRY(side_int(m, "layer_0/self_attention/relative_attention_max_distance", 1, INT32_MAX,
                 &distance));
    if (first->rank != 2 || first->dims[1] != heads || distance < 1)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" must be [buckets, %" PRId64
                              "], with a relative_attention_max_distance beside it",
                              m->archive->path, first->name, heads);
    tsri_base_json_put(stack, "relative_buckets", json_integer(first->dims[0]));
    tsri_base_json_put(stack, "relative_distance", json_integer(distance));
    return TSR_OK;
}

/* Before revision 3 the number of heads follows from the specification's name. */
static tsr_status read_heads(const maker *m, const tsri_io_array *qkv, json_t *stack,
                             int64_t *heads) {
    const char *spec = "";
    TRY(tsri_io_meta_text(m->archive, "spec", &spec, NULL));
    *heads = strcmp(spec, "TransformerBig") == 0 ? 16 : 8;
    TRY(side_int(m, "num_heads", 1, TSRI_MODEL_MAX_WIDTH, heads));
    if (qkv->dims[0] % (3 * *heads) != 0)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: tensor \"%s\" has %" PRId64 " rows; queries, keys and values of %" PRId64
            " heads each would be a multiple of %" PRId64 ", and fewer key heads are not served",
            m->archive->path, qkv->name, qkv->dims[0], *heads, 3 * *heads);
    tsri_base_json_put(stack, "heads", json_integer(*heads));
    tsri_base_json_put(stack, "head_size", json_integer(qkv->dims[0] / (3 * *heads)));
    return TSR_OK;
}

/* What a stack has if it has this array. */
static const struct {
    const char *key, *array;
} parts[] = {
    {"gated", "layer_0.ffn.linear_0_noact.weight"},
    {"qkv_bias", "layer_0.self_attention.linear_0.bias"},
    {"out_bias", "layer_0.self_attention.linear_1.bias"},
    {"mlp_bias", "layer_0.ffn.linear_0.bias"},
    {"cross", "layer_0.attention.linear_0.weight"},
    {"embed_norm", "layernorm_embedding.weight"},
    {"final_norm", "layer_norm.weight"},
};

static tsr_status read_side(const maker *m, double norm_eps) {
    const tsri_io_array *qkv, *inner;
    const int64_t layers = count_layers(m);
    int64_t heads = 0, pre_norm = 1;
    double queries_scale = 0;
    json_t *stack = json_object();
    tsri_base_json_put(m->config, m->side, stack);
    TRY(find_matrix(m, "layer_0.self_attention.linear_0.weight", &qkv));
    TRY(find_matrix(m, "layer_0.ffn.linear_0.weight", &inner));
    TRY(refuse_unserved(m));
    TRY(read_heads(m, qkv, stack, &heads));
    TRY(read_activation(m, stack));
    TRY(read_relative(m, layers, heads, stack));
    TRY(side_int(m, "pre_norm", 0, 1, &pre_norm));
    TRY(side_real(m, "layer_0/self_attention/queries_scale", &queries_scale));
    const tsri_io_array *norm = find(m, "layer_0.ffn.layer_norm.weight"),
                        *table = find(m, "position_encodings.weight");
    const bool norm_bias = find(m, "layer_0.ffn.layer_norm.bias") != NULL;
    tsri_base_json_put(stack, "layers", json_integer(layers));
    tsri_base_json_put(stack, "ffn", json_integer(inner->dims[0]));
    tsri_base_json_put(stack, "pre_norm", json_boolean(pre_norm));
    tsri_base_json_put(stack, "rms_norm", json_boolean(norm && !norm_bias));
    tsri_base_json_put(stack, "norm_eps",
                       json_real(norm_eps > 0 ? norm_eps
                                 : norm_bias  ? 1e-5
                                              : 1e-6));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        tsri_base_json_put(stack, parts[i].key,
                           json_boolean(find(m, "%s", parts[i].array) != NULL));
    tsri_base_json_put(stack, "attention_scale", json_real(queries_scale));
    if (table && table->rank == 2)
        tsri_base_json_put(stack, "learned_positions", json_integer(table->dims[0]));
    return TSR_OK;
}

/* ---- the whole ---- */

static tsr_status check_rows(const tsri_model_vocabulary *vocabulary, const maker *m,
                             const tsri_io_array *table) {
    if ((int64_t)vocabulary->count == table->dims[0])
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_FORMAT,
        "%s gives %zu pieces (the unknown token counted), but tensor \"%s\" of %s has %" PRId64
        " rows; both must belong to the same model",
        vocabulary->path, vocabulary->count, table->name, m->archive->path, table->dims[0]);
}

/* Sets the id of a special token, if there is such a token. */
static tsr_status set_token(const maker *m, const tsri_model_vocabulary *vocabulary,
                            const char *key, const char *piece) {
    if (!piece)
        return TSR_OK;
    const int32_t id = tsri_model_vocabulary_find(vocabulary, piece);
    if (id < 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s has no piece \"%s\", which is the %s of %s",
                              vocabulary->path, piece, key, m->archive->path);
    char name[NAME];
    snprintf(name, sizeof name, "%s_id", key);
    tsri_base_json_put(m->config, name, json_integer(id));
    return TSR_OK;
}

static tsr_status set_tokens(const maker *m, const tsri_model_ctranslate2_settings *settings,
                             const tsri_model_vocabulary *vocabulary) {
    /* A vocabulary may lack <s> if nothing asks for it. */
    const bool has_bos =
        settings->bos && tsri_model_vocabulary_find(vocabulary, settings->bos) >= 0;
    const bool has_eos =
        settings->eos && tsri_model_vocabulary_find(vocabulary, settings->eos) >= 0;
    TRY(set_token(m, vocabulary, "bos_token", has_bos ? settings->bos : NULL));
    TRY(set_token(m, vocabulary, "eos_token",
                  has_eos || find(m, "layer_0.attention.linear_0.weight") ? settings->eos : NULL));
    return set_token(m, vocabulary, "decoder_start_token", settings->decoder_start);
}

/* Which heads say how much of the source a token covers: the first of a layer, 0 for all; a layer below
 * 0 counts from the end. A layer that the decoder doesn't have, as in OpenNMT-py's -3 for two layers,
 * stands for the nearest. */
static tsr_status read_alignment(const maker *m) {
    const int64_t last = count_layers(m) - 1;
    int64_t layer = -1, heads = 1;
    TRY(side_int(m, "alignment_layer", INT16_MIN, INT16_MAX, &layer));
    TRY(side_int(m, "alignment_heads", 0, TSRI_MODEL_MAX_WIDTH, &heads));
    const int64_t back = layer < 0 ? -1 - layer : last - layer;
    tsri_base_json_put(m->config, "alignment_heads", json_integer(heads));
    tsri_base_json_put(m->config, "alignment_back",
                       json_integer(back < 0      ? 0
                                    : back > last ? last
                                                  : back));
    return TSR_OK;
}

static tsr_status read_decoder(maker *m, const tsri_model_ctranslate2_settings *settings,
                               const tsri_model_vocabulary *vocabulary) {
    const tsri_io_array *embed, *head;
    double scale = 1, head_scale = 1;
    int64_t zero_start = 0;
    m->side = "decoder";
    TRY(find_matrix(m, "embeddings.weight", &embed));
    TRY(find_matrix(m, "projection.weight", &head));
    TRY(check_rows(vocabulary, m, embed));
    m->width = embed->dims[1];
    TRY(side_int(m, "start_from_zero_embedding", 0, 1, &zero_start));
    TRY(side_real(m, "scale_outputs", &head_scale));
    TRY(read_embed_scale(m, &scale));
    TRY(set_tokens(m, settings, vocabulary));
    tsri_base_json_put(m->config, "hidden_size", json_integer(m->width));
    tsri_base_json_put(m->config, "vocab_size", json_integer(embed->dims[0] + zero_start));
    tsri_base_json_put(m->config, "blank_start", json_boolean(zero_start));
    if (zero_start)
        tsri_base_json_put(m->config, "decoder_start_token_id", json_integer(embed->dims[0]));
    tsri_base_json_put(m->config, "embed_scale", json_real(scale));
    tsri_base_json_put(m->config, "head_scale", json_real(head_scale));
    tsri_base_json_put(m->config, "tie_word_embeddings",
                       json_boolean(head->offset == embed->offset));
    tsri_base_json_put(m->config, "head_bias", json_boolean(find(m, "projection.bias") != NULL));
    TRY(read_side(m, settings->norm_eps));
    return find(m, "layer_0.attention.linear_0.weight") ? read_alignment(m) : TSR_OK;
}

/* In an encoder-decoder the decoder has been read before. */
static tsr_status read_encoder(maker *m, const tsri_model_ctranslate2_settings *settings,
                               const tsri_model_vocabulary *vocabulary, bool alone) {
    const tsri_io_array *embed, *target;
    double scale = 1;
    int64_t merge = 0;
    m->side = "encoder";
    TRY(find_matrix(m, "embeddings_0.weight", &embed));
    TRY(check_rows(vocabulary, m, embed));
    TRY(side_int(m, "embeddings_merge", 0, 1, &merge));
    const tsri_io_array *types = find(m, "embeddings_1.weight");
    if (types && (!merge || !alone || types->rank != 2))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: its source has more features than the words, which is not served",
            m->archive->path);
    m->width = embed->dims[1];
    TRY(read_embed_scale(m, &scale));
    if (alone) {
        TRY(set_tokens(m, settings, vocabulary));
        tsri_base_json_put(m->config, "hidden_size", json_integer(m->width));
        tsri_base_json_put(m->config, "vocab_size", json_integer(embed->dims[0]));
        tsri_base_json_put(m->config, "embed_scale", json_real(scale));
        tsri_base_json_put(m->config, "token_types", json_integer(types ? types->dims[0] : 0));
        return read_side(m, settings->norm_eps);
    }
    target = tsri_io_find(m->archive, "decoder.embeddings.weight");
    const double other = json_real_value(json_object_get(m->config, "embed_scale"));
    if (m->width != target->dims[1] || fabs(scale - other) > 1e-6 * fabs(other))
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: its encoder is %" PRId64 " wide with embeddings times %g, its decoder %" PRId64
            " with embeddings times %g; only the same width and factor for both are served",
            m->archive->path, m->width, scale, target->dims[1], other);
    tsri_base_json_put(m->config, "source_embed", json_boolean(embed->offset != target->offset));
    tsri_base_json_put(m->config, "source_vocab_size", json_integer(embed->dims[0]));
    return read_side(m, settings->norm_eps);
}

static tsr_status make(maker *m, const tsri_model_ctranslate2_settings *settings,
                       const tsri_model_vocabularies *vocabularies) {
    static const struct {
        const char *name;
        bool decoder, encoder;
        int64_t lowest, highest; /* revisions that are read */
    } specs[] = {{"TransformerSpec", true, true, 1, 7},
                 {"TransformerBase", true, true, 1, 7},
                 {"TransformerBig", true, true, 1, 7},
                 {"TransformerDecoderSpec", true, false, 1, 8},
                 {"TransformerEncoderSpec", false, true, 1, 1}};
    const char *spec = "";
    int64_t revision = 0;
    size_t i = 0;
    TRY(tsri_io_meta_text(m->archive, "spec", &spec, NULL));
    TRY(tsri_io_meta_int(m->archive, "revision", 0, UINT32_MAX, &revision));
    while (i < sizeof specs / sizeof *specs && strcmp(specs[i].name, spec) != 0)
        i++;
    if (i == sizeof specs / sizeof *specs)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: a CTranslate2 model of kind \"%s\" is not served; TransformerSpec, "
            "TransformerDecoderSpec and TransformerEncoderSpec are",
            m->archive->path, spec);
    if (revision < specs[i].lowest || revision > specs[i].highest)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: revision %" PRId64 " of %s is not read; %" PRId64 " to %" PRId64
                              " are; convert the model again",
                              m->archive->path, revision, spec, specs[i].lowest, specs[i].highest);
    tsri_base_json_put(m->config, "model_type", json_string("ctranslate2"));
    if (specs[i].decoder)
        TRY(read_decoder(m, settings, &vocabularies->target));
    if (specs[i].encoder)
        TRY(read_encoder(m, settings,
                         vocabularies->shared ? &vocabularies->target : &vocabularies->source,
                         !specs[i].decoder));
    return TSR_OK;
}

tsr_status tsri_model_ctranslate2_config(const tsri_io_archive *archive, const char *folder,
                                         json_t **out) {
    maker m = {.archive = archive, .config = json_object()};
    tsri_model_ctranslate2_settings settings = {0};
    tsri_model_vocabularies vocabularies = {0};
    tsr_status status = m.config ? tsri_model_ctranslate2_settings_read(archive, folder, &settings)
                                 : tsri_base_fail(TSR_E_HOST_MEMORY,
                                                  "out of host memory while %s was read", folder);
    if (status == TSR_OK)
        status = tsri_model_vocabularies_read(folder, settings.unknown, &vocabularies);
    if (status == TSR_OK)
        status = make(&m, &settings, &vocabularies);
    if (status == TSR_OK)
        status = tsri_base_json_made(m.config, folder);
    tsri_model_vocabularies_clear(&vocabularies);
    tsri_model_ctranslate2_settings_clear(&settings);
    if (status != TSR_OK) {
        json_decref(m.config);
        m.config = NULL;
    }
    *out = m.config;
    return status;
}
