/* Golden encoders, with a folder for each of their heads, and encoder-decoders: float64 results of
 * the official implementation. */
#include "base/files.h"
#include "model/compare.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden {
    fixture fixture;
    tsri_io_archive *expected;
    json_t *cases;
    const char *head; /* the open folder of the golden model: "mlm", or "" */
} golden;

/* `part`: a folder inside the golden model's, or "". */
static void golden_open(golden *g, const char *folder, const char *part, const char *selector) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, part);
    fixture_device(&g->fixture, selector);
    fixture_model(&g->fixture, path, NULL);
    snprintf(path, sizeof path, "%s/expected.safetensors", folder);
    OK(tsri_io_open(path, &g->expected));
    snprintf(path, sizeof path, "%s/cases.json", folder);
    OK(tsri_base_json_load(path, 1 << 24, 64, &g->cases));
    cr_assert(json_array_size(json_object_get(g->cases, "cases")) > 0);
    g->head = part;
}

static void golden_close(golden *g) {
    json_decref(g->cases);
    tsri_io_close(&g->expected);
    fixture_close(&g->fixture);
}

/* Memory for results of `n` arrays [tokens, width], or of any size. */
static float **arrays(int32_t n, int64_t elements) {
    float **out = calloc((size_t)n + 1, sizeof *out);
    for (int32_t i = 0; i < n; i++)
        out[i] = calloc((size_t)elements, sizeof **out);
    return out;
}

static void free_arrays(float **list, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

/* ---- encoders ---- */

/* Compares one result of every sequence or token with the golden array of that name. */
static void compare_one(const golden *g, const char *title, const char *what, const batch *batch,
                        tsri_model_results results, float **to, int64_t width) {
    const bool by_token = results.rows == TSRI_ROWS_ALL;
    tsri_session *session = NULL;
    char name[128];
    snprintf(name, sizeof name, "%s.%s", title, what);
    *to = calloc((size_t)((by_token ? batch->tokens : batch->B) * width), sizeof **to);
    OK(tsri_session_create(g->fixture.model, 1, 0, &session));
    results.logits = results.logits ? *to : NULL;
    results.labels = results.labels ? *to : NULL;
    results.pooled = results.pooled ? *to : NULL;
    results.next = results.next ? *to : NULL;
    OK(tsri_session_encode(session, batch->sequences, batch->B, &results));
    if (by_token)
        compare_tokens(g->expected, name, batch, *to, width);
    else
        compare_sequences(g->expected, name, batch, *to, width);
    tsri_session_destroy(&session);
    free(*to);
}

static void compare_heads(const golden *g, const char *title, const batch *batch) {
    const tsri_model_weight *label =
        tsri_model_weight_at(g->fixture.model->weights, TSRI_WEIGHT_LABEL);
    const tsri_model_spec *spec = &g->fixture.model->spec;
    const int64_t labels = label ? label->dims[0] : 0;
    float mark, *to;
    const struct {
        const char *head, *what;
        tsri_model_results results;
        int64_t width;
    } heads[] = {
        {"base", "base.pooled", {.pooled = &mark}, spec->width},
        {"mlm", "mlm.logits", {.rows = TSRI_ROWS_ALL, .logits = &mark}, spec->vocab},
        {"cls", "cls.logits", {.labels = &mark}, labels},
        {"tokens", "tokens.logits", {.rows = TSRI_ROWS_ALL, .labels = &mark}, labels},
        {"qa", "qa.logits", {.rows = TSRI_ROWS_ALL, .labels = &mark}, labels},
        {"pre", "mlm.logits", {.rows = TSRI_ROWS_ALL, .logits = &mark}, spec->vocab},
        {"pre", "next", {.next = &mark}, 2},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (!strcmp(heads[i].head, g->head))
            compare_one(g, title, heads[i].what, batch, heads[i].results, &to, heads[i].width);
}

static void compare_inside(const golden *g, const char *title, const batch *batch) {
    const tsri_model_spec *spec = &g->fixture.model->spec;
    const int32_t L = spec->encoder.layers, H = spec->encoder.heads;
    float **hidden = arrays(L + 1, batch->tokens * spec->width),
          **attention = arrays(L, batch->B * H * batch->T * batch->T);
    const tsri_model_results results = {.hidden = hidden, .attention = attention},
                             alone = {.hidden = hidden};
    tsri_session *session = NULL;
    char name[128];
    OK(tsri_session_create(g->fixture.model, 1, 0, &session));
    for (int pass = 0; pass < 2; pass++) {
        OK(tsri_session_encode(session, batch->sequences, batch->B, pass ? &results : &alone));
        for (int32_t i = 0; i <= L; i++) {
            snprintf(name, sizeof name, "%s.hidden.%d", title, i);
            compare_tokens(g->expected, name, batch, hidden[i], spec->width);
        }
    }
    for (int32_t i = 0; i < L; i++) {
        snprintf(name, sizeof name, "%s.attn.%d", title, i);
        compare_attention(g->expected, name, batch, batch, attention[i], H);
    }
    tsri_session_destroy(&session);
    free_arrays(hidden, L + 1);
    free_arrays(attention, L);
}

static void compare_cases(const golden *g, void (*compare)(const golden *g, const char *title,
                                                           const json_t *object)) {
    json_t *object;
    size_t i;
    json_array_foreach(json_object_get(g->cases, "cases"), i, object) {
        compare(g, json_string_value(json_object_get(object, "name")), object);
    }
}

static void compare_encoder_case(const golden *g, const char *title, const json_t *object) {
    static batch batch;
    read_batch(object, "input_ids", "attention_mask", &batch);
    for (int32_t b = 0; b < batch.B; b++)
        if (g->fixture.model->spec.encoder.positions_of_tokens)
            batch.sequences[b].positions = NULL;
    compare_inside(g, title, &batch);
    compare_heads(g, title, &batch);
}

static void compare_encoder_in(const char *folder, const char *head, const char *selector) {
    golden g = {0};
    golden_open(&g, folder, head, selector);
    compare_cases(&g, compare_encoder_case);
    golden_close(&g);
}

/* ---- encoder-decoders ---- */

static void compare_source(const golden *g, tsri_session *session, const char *title,
                           const batch *source) {
    const tsri_model_spec *spec = &g->fixture.model->spec;
    const int32_t L = spec->encoder.layers, H = spec->encoder.heads;
    const int64_t W = tsri_model_stack_width(spec, &spec->encoder);
    const bool recurrent = spec->encoder.recurrent;
    float **hidden = arrays(L + 1, source->tokens * spec->width),
          **attention = arrays(L, source->B * H * source->T * source->T);
    const tsri_model_results results = {.hidden = hidden, .attention = attention}, none = {0};
    char name[128];
    OK(tsri_session_encode(session, source->sequences, source->B, &results));
    for (int32_t i = 0; i <= L; i++) {
        snprintf(name, sizeof name, recurrent ? "%s.enc.hidden" : "%s.enc.hidden.%d", title, i);
        compare_tokens(g->expected, name, source, hidden[i], W);
    }
    for (int32_t i = 0; i < tsri_model_attention_layers(&spec->encoder); i++) {
        snprintf(name, sizeof name, "%s.enc.attn.%d", title, i);
        compare_attention(g->expected, name, source, source, attention[i], H);
    }
    OK(tsri_session_encode(session, source->sequences, source->B, &none));
    free_arrays(hidden, L + 1);
    free_arrays(attention, L);
}

static void compare_target(const golden *g, tsri_session *session, const char *title,
                           const batch *source, const batch *target) {
    const tsri_model_spec *spec = &g->fixture.model->spec;
    const int32_t L = spec->decoder.layers, H = spec->decoder.heads;
    const int64_t W = tsri_model_stack_width(spec, &spec->decoder);
    const bool recurrent = spec->decoder.recurrent;
    float **hidden = arrays(L + 1, target->tokens * spec->width),
          **attention = arrays(L, target->B * H * target->T * target->T),
          **cross = arrays(L, target->B * H * target->T * source->T);
    float *logits = calloc((size_t)(target->tokens * spec->vocab), sizeof *logits);
    const bool writes = tsri_model_has_output(g->fixture.model->weights);
    tsri_model_results results = {.rows = TSRI_ROWS_ALL, .logits = writes ? logits : NULL};
    char name[128];
    for (int pass = 0; pass < 2; pass++) {
        OK(tsri_session_forward(session, target->sequences, target->B, &results));
        snprintf(name, sizeof name, "%s.logits", title);
        if (writes)
            compare_tokens(g->expected, name, target, logits, spec->vocab);
        results.hidden = hidden;
        results.attention = attention;
        results.cross = cross;
    }
    for (int32_t i = 0; i <= L; i++) {
        snprintf(name, sizeof name, recurrent ? "%s.dec.hidden" : "%s.dec.hidden.%d", title, i);
        compare_tokens(g->expected, name, target, hidden[i], W);
    }
    for (int32_t i = 0; i < L; i++) {
        if (!recurrent) {
            snprintf(name, sizeof name, "%s.dec.attn.%d", title, i);
            compare_attention(g->expected, name, target, target, attention[i], H);
        }
        snprintf(name, sizeof name, recurrent ? "%s.attn" : "%s.cross.attn.%d", title, i);
        compare_attention(g->expected, name, target, source, cross[i], H);
    }
    free_arrays(hidden, L + 1);
    free_arrays(attention, L);
    free_arrays(cross, L);
    free(logits);
}

enum { STEPS = 24 };

/* Greedy translations of all sources, as one batch of unequal lengths; `keys` gives the place of
 * every key. */
static void compare_greedy(const golden *g) {
    const tsri_model_spec *spec = &g->fixture.model->spec;
    static batch batch;
    const json_t *wanted[MOST_BATCH];
    expected want[MOST_BATCH];
    json_t *object, *list = json_object_get(g->cases, "generate");
    int32_t ids[MOST_BATCH], keys[MOST_BATCH][STEPS + 1];
    tsri_model_sequence targets[MOST_BATCH];
    char name[128];
    size_t i;
    batch.B = 0;
    json_array_foreach(list, i, object) {
        const json_t *prompt = json_object_get(object, "input_ids");
        if (strcmp(json_string_value(json_object_get(object, "mode")), "greedy") != 0)
            continue;
        const int32_t b = batch.B++;
        const int64_t n = (int64_t)json_array_size(prompt);
        cr_assert(b < MOST_BATCH && n <= MOST_TOKENS);
        for (int64_t t = 0; t < n; t++)
            batch.ids[b][t] = (int32_t)json_integer_value(json_array_get(prompt, (size_t)t));
        batch.sequences[b] = (tsri_model_sequence){.ids = batch.ids[b], .n = n, .slot = b};
        wanted[b] = json_object_get(object, "ids_without_eos_stop");
        snprintf(name, sizeof name, "%s.logits",
                 json_string_value(json_object_get(object, "name")));
        cr_assert(read_expected(g->expected, name, &want[b]), "%s is not in the golden file", name);
    }
    if (!batch.B)
        return;
    const int64_t V = spec->vocab;
    float *logits = calloc((size_t)(batch.B * V), sizeof *logits);
    int32_t argmax[MOST_BATCH];
    tsri_session *session = NULL;
    const tsri_model_results none = {0}, results = {.logits = logits, .argmax = argmax};
    OK(tsri_session_create(g->fixture.model, batch.B, 0, &session));
    OK(tsri_session_encode(session, batch.sequences, batch.B, &none));
    for (int32_t b = 0; b < batch.B; b++) {
        ids[b] = spec->decoder_start;
        for (int s = 0; s <= STEPS; s++)
            keys[b][s] = b;
        targets[b] =
            (tsri_model_sequence){.ids = &ids[b], .n = 1, .slot = b, .source = b, .keys = keys[b]};
    }
    for (int step = 0; step < STEPS; step++) {
        OK(tsri_session_forward(session, targets, batch.B, &results));
        for (int32_t b = 0; b < batch.B; b++) {
            compare_row("greedy logits", &want[b], (uint64_t)(step * V), logits + b * V, V);
            cr_assert(argmax[b] == json_integer_value(json_array_get(wanted[b], (size_t)step)),
                      "source %d, token %d: %d", b, step, argmax[b]);
            targets[b].past++;
            ids[b] = argmax[b];
        }
    }
    for (int32_t b = 0; b < batch.B; b++)
        free(want[b].data);
    tsri_session_destroy(&session);
    free(logits);
}

static void compare_translator_case(const golden *g, const char *title, const json_t *object) {
    static batch source, target;
    tsri_session *session = NULL;
    read_batch(object, "input_ids", "attention_mask", &source);
    read_batch(object, "decoder_input_ids", "decoder_attention_mask", &target);
    OK(tsri_session_create(g->fixture.model, source.B, 0, &session));
    compare_source(g, session, title, &source);
    compare_target(g, session, title, &source, &target);
    tsri_session_destroy(&session);
}

static void compare_translator_in(const char *folder, const char *part, const char *selector) {
    golden g = {0};
    golden_open(&g, folder, part, selector);
    compare_cases(&g, compare_translator_case);
    if (tsri_model_has_output(g.fixture.model->weights))
        compare_greedy(&g);
    golden_close(&g);
}

static void compare_encoder(const char *name, const char *head, const char *selector) {
    char *folder;
    for (int which = 0; (folder = golden_folder(name, which)); which++, free(folder))
        compare_encoder_in(folder, head, selector);
}

static void compare_translator_part(const char *name, const char *part, const char *selector) {
    char *folder;
    for (int which = 0; (folder = golden_folder(name, which)); which++, free(folder))
        compare_translator_in(folder, part, selector);
}

static void compare_translator(const char *name, const char *selector) {
    compare_translator_part(name, "", selector);
}

/* On the reference and on the device. Kernels compile for each model's sizes, so on the device only
 * one of our own models runs for each kind of block. */
#define ENCODER_REFERENCE(title, name, head)      \
    Test(golden_encoder_reference, title) {       \
        compare_encoder(name, head, "reference"); \
    }
#define ENCODER(title, name, head)         \
    ENCODER_REFERENCE(title, name, head)   \
    Test(golden_encoder_device, title) {   \
        fixture_few(name "/" head);        \
        compare_encoder(name, head, NULL); \
    }
#define TRANSLATOR_REFERENCE(title, name)      \
    Test(golden_translator_reference, title) { \
        compare_translator(name, "reference"); \
    }
#define TRANSLATOR(title, name)             \
    TRANSLATOR_REFERENCE(title, name)       \
    Test(golden_translator_device, title) { \
        fixture_few(name);                  \
        compare_translator(name, NULL);     \
    }

ENCODER(bert_base, "bert", "base")
ENCODER(bert_mlm, "bert", "mlm")
ENCODER(bert_cls, "bert", "cls")
ENCODER(roberta_mlm, "roberta", "mlm")
ENCODER(roberta_cls, "roberta", "cls")
ENCODER(distilbert_mlm, "distilbert", "mlm")
ENCODER(distilbert_cls, "distilbert", "cls")
ENCODER(albert_base, "albert", "base")
ENCODER(albert_mlm, "albert", "mlm")
ENCODER(albert_cls, "albert", "cls")
ENCODER(bert_tiny_pre, "bert-tiny", "pre")
ENCODER_REFERENCE(bert_tiny_tokens, "bert-tiny", "tokens")
ENCODER(mpnet_mlm, "mpnet", "mlm")
ENCODER_REFERENCE(mpnet_cls, "mpnet", "cls")
ENCODER_REFERENCE(electra_mlm, "electra", "mlm")
ENCODER_REFERENCE(electra_cls, "electra", "cls")
ENCODER_REFERENCE(electra_disc, "electra", "disc") /* its head is not served */
ENCODER_REFERENCE(mpnet_pad, "mpnet-pad", "mlm")
ENCODER(camembert_mlm, "camembert", "mlm")
ENCODER_REFERENCE(camembert_cls, "camembert", "cls")
ENCODER_REFERENCE(xlm_roberta_tokens, "xlm-roberta", "tokens")
ENCODER_REFERENCE(xlm_roberta_cls, "xlm-roberta", "cls")
ENCODER_REFERENCE(albert_groups_mlm, "albert-groups", "mlm")
ENCODER(modernbert_mlm, "modernbert", "mlm")
ENCODER_REFERENCE(modernbert_cls, "modernbert", "cls")
ENCODER_REFERENCE(modernbert_tokens, "modernbert", "tokens")
ENCODER(deberta_v2_mlm, "deberta_v2", "mlm")
ENCODER_REFERENCE(deberta_v2_cls, "deberta_v2", "cls")
ENCODER_REFERENCE(deberta_v2_tokens, "deberta_v2", "tokens")
ENCODER_REFERENCE(nomic_bert_mlm, "nomic_bert", "mlm")
ENCODER_REFERENCE(nomic_bert_cls, "nomic_bert", "cls")
ENCODER_REFERENCE(bert_gguf, "bert", "model.gguf")
ENCODER_REFERENCE(nomic_bert_gguf, "nomic_bert", "model.gguf")
ENCODER_REFERENCE(nomic_bert_old, "nomic_bert", "old") /* names of the first files */
ENCODER_REFERENCE(gemma_embedding, "gemma-embedding", "vectors")
ENCODER_REFERENCE(gemma_embedding_gguf, "gemma-embedding", "model.gguf")
ENCODER_REFERENCE(eurobert_gguf, "eurobert", "model.gguf")
ENCODER_REFERENCE(jina_gguf, "jina_embeddings_v3", "model.gguf")
ENCODER_REFERENCE(gemma3_vectors, "gemma3-vectors", "vectors")
ENCODER_REFERENCE(qwen3_vectors, "qwen3-vectors", "vectors")
ENCODER(tessera_encoder, "tessera-encoder", "mlm")
ENCODER_REFERENCE(t5_encoder, "t5-encoder", "vectors")
ENCODER_REFERENCE(t5_without_decoder, "t5-encoder", "whole")
ENCODER(umt5_encoder, "umt5-encoder", "vectors")
ENCODER(jina_bert, "jina_bert", "base")
ENCODER_REFERENCE(jina_bert_gguf, "jina_bert", "model.gguf")
ENCODER_REFERENCE(bert_qa, "bert-qa", "qa")
ENCODER_REFERENCE(roberta_qa, "roberta-qa", "qa")
ENCODER_REFERENCE(distilbert_qa, "distilbert-qa", "qa")
ENCODER_REFERENCE(electra_qa, "electra-qa", "qa")
ENCODER_REFERENCE(albert_qa, "albert-qa", "qa")
ENCODER_REFERENCE(xlm_roberta_qa, "xlm-roberta-qa", "qa")
ENCODER_REFERENCE(camembert_qa, "camembert-qa", "qa")
ENCODER_REFERENCE(deberta_v2_qa, "deberta_v2-qa", "qa")
ENCODER_REFERENCE(mpnet_qa, "mpnet-qa", "qa")
ENCODER_REFERENCE(modernbert_qa, "modernbert-qa", "qa")
ENCODER_REFERENCE(jina_embeddings_v3_qa, "jina_embeddings_v3-qa", "qa")
ENCODER_REFERENCE(qwen3_labels, "qwen3-labels", "cls")
ENCODER_REFERENCE(qwen2_labels, "qwen2-labels", "cls")
ENCODER_REFERENCE(llama_labels, "llama-labels", "cls")
ENCODER_REFERENCE(mistral_labels, "mistral-labels", "cls")
ENCODER_REFERENCE(gemma_labels, "gemma-labels", "cls")
ENCODER_REFERENCE(gemma2_labels, "gemma2-labels", "cls")

TRANSLATOR(bart, "bart")
TRANSLATOR(marian, "marian")
TRANSLATOR(t5, "t5")
TRANSLATOR(t5_gated, "t5-v1.1")
TRANSLATOR(transformer_base, "transformer-base")
TRANSLATOR(bahdanau, "bahdanau")
TRANSLATOR(bahdanau_wide, "bahdanau-wide")
TRANSLATOR_REFERENCE(mbart, "mbart")
TRANSLATOR(m2m_100, "m2m_100")
TRANSLATOR_REFERENCE(pegasus, "pegasus")
TRANSLATOR_REFERENCE(marian_apart, "marian-apart")
TRANSLATOR(t5_tiny, "t5-tiny")
TRANSLATOR(tessera_translate, "tessera-translate")
TRANSLATOR_REFERENCE(mt5, "mt5")
TRANSLATOR(umt5, "umt5")

/* Everything that a config says has a value other than the default: a key that is not read gives
 * other numbers. */
#define ODD_ENCODER(title, name)                          \
    Test(golden_odd, title##_mlm) {                       \
        compare_encoder(name "-odd", "mlm", "reference"); \
    }                                                     \
    Test(golden_odd, title##_cls) {                       \
        compare_encoder(name "-odd", "cls", "reference"); \
    }
#define ODD_TRANSLATOR(title, name)                   \
    Test(golden_odd, title) {                         \
        compare_translator(name "-odd", "reference"); \
    }

ODD_ENCODER(bert, "bert")
ODD_ENCODER(roberta, "roberta")
ODD_ENCODER(distilbert, "distilbert")
ODD_ENCODER(albert, "albert")
ODD_ENCODER(mpnet, "mpnet")
ODD_ENCODER(electra, "electra")
ODD_ENCODER(modernbert, "modernbert")
ODD_ENCODER(nomic_bert, "nomic_bert")
ODD_ENCODER(deberta_v2, "deberta_v2")
ODD_ENCODER(deberta_v2_apart, "deberta_v2-apart")
ODD_ENCODER(gte, "gte")
ODD_ENCODER(jina_embeddings_v3, "jina_embeddings_v3")

/* What no other model has, so also on the device. */
#define ON_BOTH(title, name)                              \
    Test(golden_odd, title) {                             \
        compare_encoder(name "-odd", "mlm", "reference"); \
    }                                                     \
    Test(golden_odd_device, title) {                      \
        compare_encoder(name "-odd", "mlm", NULL);        \
    }

ON_BOTH(deberta_v2_conv, "deberta_v2-conv")
ON_BOTH(deberta_v2_groups, "deberta_v2-groups")
ON_BOTH(deberta_mlm, "deberta")
ON_BOTH(deberta_own, "deberta-own") /* another head, and a table that nothing reads */

Test(golden_odd, deberta_cls) {
    compare_encoder("deberta-odd", "cls", "reference");
}

Test(golden_odd, deberta_tokens) {
    compare_encoder("deberta-odd", "tokens", "reference");
}

Test(golden_odd, jina_bert) { /* three heads, ReGLU */
    compare_encoder("jina_bert-odd", "base", "reference");
}

Test(golden_odd, gte_new) { /* the names and the scaling of the first files */
    compare_encoder("gte-odd", "new", "reference");
}

Test(golden_odd, eurobert_cls) {
    compare_encoder("eurobert-odd", "cls", "reference");
}

Test(golden_odd, eurobert_mlm) { /* the head is a matrix of its own, with a bias */
    compare_encoder("eurobert-odd", "mlm", "reference");
}

Test(golden_odd, eurobert_tokens) {
    compare_encoder("eurobert-odd", "tokens", "reference");
}

Test(golden_odd, eurobert_late) {
    compare_encoder("eurobert-late-odd", "cls", "reference");
}

Test(golden_odd, eurobert_late_mlm) { /* the head is the embedding */
    compare_encoder("eurobert-late-odd", "mlm", "reference");
}

ODD_TRANSLATOR(bart, "bart")
ODD_TRANSLATOR(mbart, "mbart")
ODD_TRANSLATOR(marian, "marian")
ODD_TRANSLATOR(m2m_100, "m2m_100")
ODD_TRANSLATOR(pegasus, "pegasus")
ODD_TRANSLATOR(t5, "t5")
ODD_TRANSLATOR(t5_gated, "t5-gated")
ODD_TRANSLATOR(mt5, "mt5")
ODD_TRANSLATOR(umt5, "umt5")

/* The same weights as a bare base model. */
#define BARE_TRANSLATOR(title, name)                        \
    Test(golden_bare_reference, title) {                    \
        compare_translator_part(name, "bare", "reference"); \
    }

BARE_TRANSLATOR(t5_tiny, "t5-tiny")
BARE_TRANSLATOR(marian_apart, "marian-apart")

Test(golden_bare_device, marian_apart) {
    compare_translator_part("marian-apart", "bare", NULL);
}
