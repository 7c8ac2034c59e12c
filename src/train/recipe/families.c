/* train/recipe/families.c - a table of Hugging Face's model families: finds the one that computes
 * an architecture, and writes its config.json. */
#include "train/recipe/families.h"

#include "base/error.h"
#include "text/base/unicode.h"

#include <stdio.h>
#include <string.h>

typedef tsri_train_architecture architecture;

/* ---- what each family's config.json says of an architecture ---- */

static const char *activation(const architecture *model) {
    static const char *const names[] = {"relu", "gelu", "gelu_new", "silu", "tanh", "sigmoid"};
    return names[model->activation];
}

static json_t *gpt2(const tsri_train_config *c) {
    const architecture *m = c->model;
    return json_pack("{s:I s:I s:I s:I s:I s:s s:f s:b s:f s:f s:f s:f}", "n_positions",
                     (json_int_t)m->max_positions, "n_embd", (json_int_t)m->hidden_size, "n_layer",
                     (json_int_t)m->layers, "n_head", (json_int_t)m->heads, "n_inner",
                     (json_int_t)m->ffn, "activation_function", activation(m), "layer_norm_epsilon",
                     1e-5, "scale_attn_weights", 1, "attn_pdrop", 0.0, "resid_pdrop", c->dropout,
                     "embd_pdrop", c->dropout, "initializer_range", 0.02);
}

static json_t *opt(const tsri_train_config *c) {
    const architecture *m = c->model;
    return json_pack("{s:I s:I s:I s:I s:I s:I s:s s:b s:b s:f s:f s:f}", "hidden_size",
                     (json_int_t)m->hidden_size, "word_embed_proj_dim", (json_int_t)m->hidden_size,
                     "num_hidden_layers", (json_int_t)m->layers, "num_attention_heads",
                     (json_int_t)m->heads, "ffn_dim", (json_int_t)m->ffn, "max_position_embeddings",
                     (json_int_t)m->max_positions, "activation_function", activation(m),
                     "do_layer_norm_before", m->norm == TSRI_NORM_PRE, "enable_bias", m->bias,
                     "dropout", c->dropout, "attention_dropout", 0.0, "init_std", 0.02);
}

/* The keys that Llama and the families like it share. */
static json_t *llama_sizes(const architecture *m) {
    return json_pack("{s:I s:I s:I s:I s:I s:s s:f s:f}", "hidden_size", (json_int_t)m->hidden_size,
                     "num_hidden_layers", (json_int_t)m->layers, "num_attention_heads",
                     (json_int_t)m->heads, "intermediate_size", (json_int_t)m->ffn,
                     "max_position_embeddings", (json_int_t)m->max_positions, "hidden_act",
                     activation(m), "initializer_range", 0.02, "rope_theta", 10000.0);
}

/* `object` with the members of `more`, whose reference it takes. */
static json_t *with(json_t *object, json_t *more) {
    if (object && more && json_object_update(object, more) == 0) {
        json_decref(more);
        return object;
    }
    json_decref(object);
    json_decref(more);
    return NULL;
}

static json_t *llama(const tsri_train_config *c) {
    const architecture *m = c->model;
    return with(llama_sizes(m),
                json_pack("{s:I s:f s:b s:b s:f}", "num_key_value_heads", (json_int_t)m->kv_heads,
                          "rms_norm_eps", 1e-5, "attention_bias", m->bias, "mlp_bias", m->bias,
                          "attention_dropout", 0.0));
}

static json_t *gpt_neox(const tsri_train_config *c) {
    return with(llama_sizes(c->model),
                json_pack("{s:f s:f s:b s:b s:f s:f}", "rotary_pct", 1.0, "layer_norm_eps", 1e-5,
                          "use_parallel_residual", 0, "attention_bias", 1, "hidden_dropout",
                          c->dropout, "attention_dropout", 0.0));
}

static json_t *starcoder2(const tsri_train_config *c) {
    const architecture *m = c->model;
    return with(llama_sizes(m),
                json_pack("{s:I s:f s:b s:n s:f s:f s:f}", "num_key_value_heads",
                          (json_int_t)m->kv_heads, "norm_epsilon", 1e-5, "use_bias", m->bias,
                          "sliding_window", "embedding_dropout", c->dropout, "residual_dropout",
                          c->dropout, "attention_dropout", 0.0));
}

static json_t *bloom(const tsri_train_config *c) {
    const architecture *m = c->model;
    return json_pack("{s:I s:I s:I s:I s:f s:f s:f s:f s:b}", "hidden_size",
                     (json_int_t)m->hidden_size, "n_layer", (json_int_t)m->layers, "n_head",
                     (json_int_t)m->heads, "seq_length", (json_int_t)m->max_positions,
                     "layer_norm_epsilon", 1e-5, "hidden_dropout", c->dropout, "attention_dropout",
                     0.0, "initializer_range", 0.02, "apply_residual_connection_post_layernorm", 0);
}

static json_t *bert(const tsri_train_config *c) {
    const architecture *m = c->model;
    return json_pack("{s:I s:I s:I s:I s:I s:I s:s s:f s:f s:f s:f}", "hidden_size",
                     (json_int_t)m->hidden_size, "num_hidden_layers", (json_int_t)m->layers,
                     "num_attention_heads", (json_int_t)m->heads, "intermediate_size",
                     (json_int_t)m->ffn, "max_position_embeddings", (json_int_t)m->max_positions,
                     "type_vocab_size", (json_int_t)2, "hidden_act", activation(m),
                     "layer_norm_eps", 1e-12, "hidden_dropout_prob", c->dropout,
                     "attention_probs_dropout_prob", 0.0, "initializer_range", 0.02);
}

/* Both stacks of an encoder-decoder. It also has keys that only some of the families read. */
static json_t *bart(const tsri_train_config *c) {
    const architecture *m = c->model;
    json_t *stacks = json_pack(
        "{s:I s:I s:I s:I s:I s:I s:I s:I}", "d_model", (json_int_t)m->hidden_size,
        "encoder_layers", (json_int_t)m->encoder_layers, "decoder_layers", (json_int_t)m->layers,
        "encoder_attention_heads", (json_int_t)m->heads, "decoder_attention_heads",
        (json_int_t)m->heads, "encoder_ffn_dim", (json_int_t)m->ffn, "decoder_ffn_dim",
        (json_int_t)m->ffn, "max_position_embeddings", (json_int_t)m->max_positions);
    return with(stacks,
                json_pack("{s:s s:f s:f s:f s:f s:b s:b s:b}", "activation_function", activation(m),
                          "dropout", c->dropout, "attention_dropout", 0.0, "activation_dropout",
                          0.0, "init_std", 0.02, "scale_embedding", 1,
                          "share_encoder_decoder_embeddings", 1, "static_position_embeddings",
                          m->positions == TSRI_POSITIONS_SINUSOIDAL));
}

static json_t *bahdanau(const tsri_train_config *c) {
    const architecture *m = c->model;
    return json_pack(
        "{s:i s:i s:I s:I s:I s:I s:I s:f}", "src_vocab_size", c->vocab, "tgt_vocab_size", c->vocab,
        "embed_size", (json_int_t)m->embed_size, "encoder_size", (json_int_t)m->hidden_size,
        "decoder_size", (json_int_t)m->hidden_size, "attention_size", (json_int_t)m->attention_size,
        "max_position_embeddings", (json_int_t)m->max_positions, "dropout", c->dropout);
}

static json_t *tessera(const tsri_train_config *c) {
    static const char *const positions[] = {"none", "learned", "rotary", "sinusoidal", "alibi"};
    const architecture *m = c->model;
    const bool encoder = m->kind != TSRI_KIND_DECODER, decoder = m->kind != TSRI_KIND_ENCODER;
    json_t *sizes = json_pack(
        "{s:I s:I s:I s:I s:I s:I s:I}", "hidden_size", (json_int_t)m->hidden_size,
        "encoder_layers", (json_int_t)(encoder ? m->encoder_layers : 0), "decoder_layers",
        (json_int_t)(decoder ? m->layers : 0), "num_attention_heads", (json_int_t)m->heads,
        "num_key_value_heads", (json_int_t)m->kv_heads, "intermediate_size", (json_int_t)m->ffn,
        "max_position_embeddings", (json_int_t)m->max_positions);
    return with(sizes, json_pack("{s:s s:s s:s s:s s:f s:s s:b s:b s:b s:f}", "positions",
                                 positions[m->positions], "attention",
                                 m->attention == TSRI_TRAIN_CAUSAL ? "causal" : "bidirectional",
                                 "norm", m->norm == TSRI_NORM_PRE ? "pre" : "post", "norm_type",
                                 m->norm_type == TSR_NORM_RMS ? "rms" : "layer", "norm_eps", 1e-5,
                                 "hidden_act", activation(m), "gated", m->gated, "use_bias",
                                 m->bias, "scale_embedding",
                                 m->positions == TSRI_POSITIONS_SINUSOIDAL, "dropout", c->dropout));
}

/* ---- the table ---- */

enum { ANY = -1 };

/* Which architectures a family computes: each member that is not ANY must equal the architecture's.
 * The first family that fits is taken; the last one always fits. */
static const struct family {
    const char *type;
    json_t *(*write)(const tsri_train_config *config);
    int kind, positions, norm, norm_type, gated, bias,
        grouped /* fewer key/value heads than heads */;
    const char *class, *classifier, *tagger; /* names of transformers' classes */
} families[] = {
    {"gpt2", gpt2, TSRI_KIND_DECODER, TSRI_POSITIONS_LEARNED, TSRI_NORM_PRE, TSR_NORM_LAYER, false,
     true, false, "GPT2LMHeadModel", NULL, NULL},
    {"opt", opt, TSRI_KIND_DECODER, TSRI_POSITIONS_LEARNED, ANY, TSR_NORM_LAYER, false, ANY, false,
     "OPTForCausalLM", NULL, NULL},
    {"llama", llama, TSRI_KIND_DECODER, TSRI_POSITIONS_ROTARY, TSRI_NORM_PRE, TSR_NORM_RMS, true,
     ANY, ANY, "LlamaForCausalLM", NULL, NULL},
    {"gpt_neox", gpt_neox, TSRI_KIND_DECODER, TSRI_POSITIONS_ROTARY, TSRI_NORM_PRE, TSR_NORM_LAYER,
     false, true, false, "GPTNeoXForCausalLM", NULL, NULL},
    {"starcoder2", starcoder2, TSRI_KIND_DECODER, TSRI_POSITIONS_ROTARY, TSRI_NORM_PRE,
     TSR_NORM_LAYER, false, ANY, ANY, "Starcoder2ForCausalLM", NULL, NULL},
    {"bloom", bloom, TSRI_KIND_DECODER, TSRI_POSITIONS_ALIBI, TSRI_NORM_PRE, TSR_NORM_LAYER, false,
     true, false, "BloomForCausalLM", NULL, NULL},
    {"bert", bert, TSRI_KIND_ENCODER, TSRI_POSITIONS_LEARNED, TSRI_NORM_POST, TSR_NORM_LAYER, false,
     true, false, "BertForMaskedLM", "BertForSequenceClassification", "BertForTokenClassification"},
    {"marian", bart, TSRI_KIND_ENCODER_DECODER, TSRI_POSITIONS_SINUSOIDAL, TSRI_NORM_POST,
     TSR_NORM_LAYER, false, true, false, "MarianMTModel", NULL, NULL},
    {"pegasus", bart, TSRI_KIND_ENCODER_DECODER, TSRI_POSITIONS_SINUSOIDAL, TSRI_NORM_PRE,
     TSR_NORM_LAYER, false, true, false, "PegasusForConditionalGeneration", NULL, NULL},
    {"bart", bart, TSRI_KIND_ENCODER_DECODER, TSRI_POSITIONS_LEARNED, TSRI_NORM_POST,
     TSR_NORM_LAYER, false, true, false, "BartForConditionalGeneration", NULL, NULL},
    {"mbart", bart, TSRI_KIND_ENCODER_DECODER, TSRI_POSITIONS_LEARNED, TSRI_NORM_PRE,
     TSR_NORM_LAYER, false, true, false, "MBartForConditionalGeneration", NULL, NULL},
    {"bahdanau", bahdanau, TSRI_KIND_RECURRENT, ANY, ANY, ANY, ANY, ANY, ANY, NULL, NULL, NULL},
    {"tessera", tessera, ANY, ANY, ANY, ANY, ANY, ANY, ANY, NULL, NULL, NULL},
};

static bool same(int wanted, int given) {
    return wanted == ANY || wanted == given;
}

/* What the table can't express: the direction of attention, and what a family's config has no key
 * for. */
static bool fits_besides(const struct family *f, const architecture *m) {
    const int usual = m->kind == TSRI_KIND_DECODER ? TSRI_TRAIN_CAUSAL : TSRI_TRAIN_BIDIRECTIONAL;
    if (f->write == bahdanau || f->write == tessera)
        return true;
    if (m->attention != usual)
        return false;
    if (f->write == bloom) /* its feed-forward part is always like this */
        return m->ffn == 4 * m->hidden_size && m->activation + 1 == TSR_ACT_GELU_TANH && m->tied;
    return m->tied || m->kind == TSRI_KIND_DECODER; /* the others share one embedding */
}

static const struct family *find_family(const architecture *m) {
    const struct family *f = families;
    while (!(same(f->kind, m->kind) && same(f->positions, m->positions) && same(f->norm, m->norm) &&
             same(f->norm_type, m->norm_type) && same(f->gated, m->gated) &&
             same(f->bias, m->bias) && same(f->grouped, m->kv_heads != m->heads) &&
             fits_besides(f, m)))
        f++;
    return f;
}

/* ---- the whole ---- */

static tsr_status check_objective(const architecture *m, tsri_training_objective objective) {
    static const char *const names[] = {[TSRI_OBJECTIVE_NEXT] = "generates",
                                        [TSRI_OBJECTIVE_MASKED] = "fills masks",
                                        [TSRI_OBJECTIVE_TRANSLATE] = "translates",
                                        [TSRI_OBJECTIVE_CLASSIFY] = "classifies",
                                        [TSRI_OBJECTIVE_TOKENS] = "labels words"};
    static const char *const kinds[] = {"decoder", "encoder", "encoder-decoder", "recurrent"};
    const bool fits = m->kind == TSRI_KIND_DECODER   ? objective == TSRI_OBJECTIVE_NEXT
                      : m->kind == TSRI_KIND_ENCODER ? objective == TSRI_OBJECTIVE_MASKED ||
                                                           objective >= TSRI_OBJECTIVE_CLASSIFY
                                                     : objective == TSRI_OBJECTIVE_TRANSLATE;
    if (fits)
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_ARGUMENT,
        "a model of kind %s can't be one that %s: a decoder generates, an encoder "
        "fills masks or classifies, an encoder-decoder translates",
        kinds[m->kind], names[objective]);
}

static void set_id(json_t *object, const char *key, int32_t id) {
    if (id >= 0)
        tsri_base_json_put(object, key, json_integer(id));
}

/* The keys of every family's config. */
static void set_common(json_t *object, const tsri_train_config *c, const struct family *f,
                       const char *class) {
    const bool pair = c->objective == TSRI_OBJECTIVE_TRANSLATE;
    tsri_base_json_put(object, "model_type", json_string(f->type));
    if (class)
        tsri_base_json_put(object, "architectures", json_pack("[s]", class));
    if (f->write != bahdanau) {
        tsri_base_json_put(object, "vocab_size", json_integer(c->vocab));
        tsri_base_json_put(object, "tie_word_embeddings", json_boolean(c->model->tied));
    }
    set_id(object, "eos_token_id", c->eos);
    set_id(object, "pad_token_id", c->pad);
    /* a target begins with padding, as Marian's does */
    set_id(object, "bos_token_id", f->write == bahdanau ? (c->pad < 0 ? c->eos : c->pad) : c->bos);
    if (pair) {
        set_id(object, "decoder_start_token_id", c->pad < 0 ? c->eos : c->pad);
        tsri_base_json_put(object, "is_encoder_decoder", json_true());
    }
    tsri_base_json_put(object, "dtype", json_string("float32"));
}

tsr_status tsri_train_config_labels(json_t *object, const char *const *labels, size_t n) {
    json_t *names = json_object(), *ids = json_object();
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        if (json_object_get(ids, labels[i]))
            status = tsri_base_fail(TSR_E_FORMAT, "label \"%.80s\" occurs twice", labels[i]);
        else if (!tsri_text_utf8_valid(labels[i], strlen(labels[i])))
            status = tsri_base_fail(TSR_E_FORMAT, "labels must be UTF-8");
        tsri_base_json_put(names, key, json_string(labels[i]));
        tsri_base_json_put(ids, labels[i], json_integer((json_int_t)i));
    }
    tsri_base_json_put(object, "id2label", names);
    tsri_base_json_put(object, "label2id", ids);
    tsri_base_json_put(object, "problem_type", json_string("single_label_classification"));
    return status == TSR_OK ? tsri_base_json_made(object, "labels") : status;
}

tsr_status tsri_train_config_json(const tsri_train_config *config, tsri_train_family *family,
                                  json_t **out) {
    const bool classifies = config->objective >= TSRI_OBJECTIVE_CLASSIFY,
               tokens = config->objective == TSRI_OBJECTIVE_TOKENS;
    const struct family *f = find_family(config->model);
    *out = NULL;
    TRY(check_objective(config->model, config->objective));
    if (tokens && !f->tagger)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "words are labelled by a model with BERT's layout alone: positions "
                              "learned, norm post, norm_type layer, with biases, not gated; this "
                              "recipe is of the family %s",
                              f->type);
    *family = (tsri_train_family){.type = f->type,
                                  .class = tokens       ? f->tagger
                                           : classifies ? f->classifier
                                                        : f->class};
    json_t *object = f->write(config);
    set_common(object, config, f, family->class);
    tsr_status status = tsri_base_json_made(object, f->type);
    if (status == TSR_OK && classifies)
        status = tsri_train_config_labels(object, config->labels, config->n_labels);
    if (status == TSR_OK)
        *out = object;
    else
        json_decref(object);
    return status;
}
