/* task/show/attention.c - runs a text through a model, for the attention probabilities that it
 * computes. */
#include "task/show/attention.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/system/paths.h"
#include "text/tokenizer/languages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct looking {
    const tsr_model *opened;
    tsri_model *model;
    tsr_attention_options options;
    tsr_attention *out;
    tsri_text_ids source, target; /* target: input of the decoder */
} looking;

static bool is_translator(const tsri_model *model) {
    return model->spec.encoder.layers && model->spec.decoder.layers;
}

/* ---- the run ---- */

/* Makes room for the weights of every layer and head of a stack; layer i begins at rows[i]. */
static tsr_status make_map(looking *l, tsr_attention_kind kind, const tsri_task_tokens *queries,
                           const tsri_task_tokens *keys, const tsri_model_stack *stack,
                           float **rows) {
    tsr_attention *a = l->out;
    tsr_attention_map *map = &a->maps[a->n_maps];
    const int32_t layers =
        kind == TSR_ATTENTION_CROSS ? stack->layers : tsri_model_attention_layers(stack);
    size_t floats = (size_t)stack->heads;
    *map = (tsr_attention_map){.struct_size = sizeof *map,
                               .kind = kind,
                               .queries = queries->name,
                               .keys = keys->name,
                               .layers = layers,
                               .heads = stack->heads,
                               .T = queries->n,
                               .S = keys->n,
                               .query = queries->tokens,
                               .key = keys->tokens};
    if (!tsri_base_mul(floats, (size_t)map->T, &floats) ||
        !tsri_base_mul(floats, (size_t)map->S, &floats))
        return tsri_base_fail(TSR_E_HOST_MEMORY, "the text is too long for its attention");
    TRY(tsri_base_new((size_t)layers, floats * sizeof(float), &a->weights[a->n_maps]));
    map->weights = a->weights[a->n_maps];
    for (int32_t i = 0; i < layers; i++)
        rows[i] = a->weights[a->n_maps] + (size_t)i * floats;
    a->n_maps++;
    return TSR_OK;
}

static tsr_status check_length(const looking *l, const char *what, size_t n, int64_t reads) {
    const int64_t most = l->options.most_tokens;
    if ((int64_t)n > reads)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the %s has %zu tokens, but the model reads %" PRId64 ": shorten it",
                              what, n, reads);
    if (most && (int64_t)n > most)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the %s has %zu tokens, but the attention of at most %" PRId64
                              " is asked for: shorten it",
                              what, n, most);
    return TSR_OK;
}

static tsr_status run_translator(looking *l, tsri_session *session) {
    const tsri_model_spec *spec = &l->model->spec;
    tsri_task_tokens *source = &l->out->sides[0], *target = &l->out->sides[1];
    float *cross[TSRI_MODEL_MAX_LAYERS], *enc[TSRI_MODEL_MAX_LAYERS], *dec[TSRI_MODEL_MAX_LAYERS];
    TRY(make_map(l, TSR_ATTENTION_CROSS, target, source, &spec->decoder, cross));
    TRY(make_map(l, TSR_ATTENTION_SELF, source, source, &spec->encoder, enc));
    TRY(make_map(l, TSR_ATTENTION_CAUSAL, target, target, &spec->decoder, dec));
    const tsri_model_sequence read = {.ids = l->source.data, .n = (int64_t)l->source.count},
                              write = {.ids = l->target.data, .n = (int64_t)l->target.count};
    const tsri_model_results encoded = {.attention = enc},
                             decoded = {.attention = dec, .cross = cross};
    TRY(tsri_session_encode(session, &read, 1, &encoded));
    return tsri_session_forward(session, &write, 1, &decoded);
}

static tsr_status run_stack(looking *l, tsri_session *session) {
    const tsri_model_spec *spec = &l->model->spec;
    const bool causal = spec->decoder.layers > 0;
    const tsri_model_stack *stack = causal ? &spec->decoder : &spec->encoder;
    tsri_task_tokens *text = &l->out->sides[0];
    float *rows[TSRI_MODEL_MAX_LAYERS];
    TRY(make_map(l, causal ? TSR_ATTENTION_CAUSAL : TSR_ATTENTION_SELF, text, text, stack, rows));
    const tsri_model_sequence read = {.ids = l->source.data, .n = (int64_t)l->source.count};
    const tsri_model_results results = {.attention = rows};
    return causal ? tsri_session_forward(session, &read, 1, &results)
                  : tsri_session_encode(session, &read, 1, &results);
}

static tsr_status run(looking *l) {
    const tsri_model_spec *spec = &l->model->spec;
    tsri_task_tokens *sides = l->out->sides;
    const bool both = is_translator(l->model);
    const int64_t source = (int64_t)l->source.count, target = (int64_t)l->target.count;
    const tsri_session_sizes sizes = {.slots = 1,
                                      .context = both ? target : source,
                                      .sources = 1,
                                      .source_context = spec->encoder.layers ? source : 0};
    tsri_session *session;
    sides[0].name = both ? "source" : "text";
    sides[1].name = "target";
    TRY(check_length(l, "text", l->source.count,
                     spec->encoder.layers ? spec->source_context : spec->context));
    if (both)
        TRY(check_length(l, "target", l->target.count, spec->context));
    TRY(tsri_task_tokens_name(l->model->tokenizer, &l->source, &sides[0]));
    TRY(tsri_task_tokens_name(tsri_text_target(l->model->tokenizer), &l->target, &sides[1]));
    TRY(tsri_session_create_sized(l->model, &sizes, &session));
    const tsr_status status = both ? run_translator(l, session) : run_stack(l, session);
    tsri_session_destroy(&session);
    return status;
}

/* ---- the layers and heads that were asked for ---- */

static int32_t chosen(int32_t all, int32_t first, int32_t count) {
    const int32_t left = first < all ? all - first : 0;
    return count && count < left ? count : left;
}

/* Moves the chosen layers and heads to the front. */
static void cut(tsr_attention_map *map, float *weights, const tsr_attention_options *options) {
    const int32_t layers = chosen(map->layers, options->first_layer, options->layers),
                  heads = chosen(map->heads, options->first_head, options->heads);
    const size_t head = (size_t)(map->T * map->S), layer = (size_t)map->heads * head;
    for (int32_t i = 0; i < layers; i++)
        memmove(weights + (size_t)i * (size_t)heads * head,
                weights + (size_t)(options->first_layer + i) * layer +
                    (size_t)options->first_head * head,
                (size_t)heads * head * sizeof *weights);
    map->first_layer = options->first_layer;
    map->first_head = options->first_head;
    map->layers = layers;
    map->heads = heads;
}

static void drop_empty(tsr_attention *a) {
    size_t kept = 0;
    for (size_t i = 0; i < a->n_maps; i++) {
        if (!a->maps[i].layers || !a->maps[i].heads) {
            free(a->weights[i]);
            continue;
        }
        a->maps[kept] = a->maps[i];
        a->weights[kept++] = a->weights[i];
    }
    for (size_t i = kept; i < a->n_maps; i++)
        a->weights[i] = NULL;
    a->n_maps = kept;
}

static tsr_status check_options(const looking *l) {
    const tsri_model_stack *stacks[] = {&l->model->spec.encoder, &l->model->spec.decoder};
    const tsr_attention_options *o = &l->options;
    int32_t layers = 0, heads = 0;
    for (int i = 0; i < 2; i++) {
        layers = stacks[i]->layers > layers ? stacks[i]->layers : layers;
        if (stacks[i]->layers)
            heads = stacks[i]->heads > heads ? stacks[i]->heads : heads;
    }
    const struct {
        const char *what;
        int32_t first, count, all;
    } ranges[] = {{"layers", o->first_layer, o->layers, layers},
                  {"heads", o->first_head, o->heads, heads}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].first < 0 || ranges[i].count < 0 || ranges[i].first >= ranges[i].all ||
            ranges[i].count > ranges[i].all - ranges[i].first)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s %" PRId32 " to %" PRId32
                                  " were asked for, but the model has %s 0 to %" PRId32,
                                  ranges[i].what, ranges[i].first,
                                  ranges[i].first + (ranges[i].count ? ranges[i].count - 1 : 0),
                                  ranges[i].what, ranges[i].all - 1);
    if ((o->target || o->source_language || o->target_language) && !is_translator(l->model))
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "a target or a language was given, but %s (%s) reads only one text: only a "
            "model with an encoder and a decoder has a target",
            l->model->path, l->model->spec.family);
    if ((o->ids || o->messages) && is_translator(l->model))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "token ids or messages were given, but %s (%s) has an encoder and a "
                              "decoder: give it a text",
                              l->model->path, l->model->spec.family);
    return TSR_OK;
}

/* ---- all of it ---- */

/* Notes the model's name and the texts, for the page's title. */
static tsr_status describe(looking *l) {
    const char *path = l->model->path, *slash = tsri_system_last_slash(path);
    tsri_bytes about = {0};
    const tsri_text_ids *texts[] = {&l->source, &l->target};
    const tsri_text_tokenizer *tokenizers[] = {l->model->tokenizer,
                                               tsri_text_target(l->model->tokenizer)};
    tsr_status status = TSR_OK;
    for (int i = 0; i < 2 && status == TSR_OK; i++) {
        if (i && l->target.count)
            status = tsri_base_bytes_append(&about, " \xe2\x86\x92 ", 5);
        if (status == TSR_OK)
            status = tsri_text_decode(tokenizers[i], texts[i]->data, texts[i]->count,
                                      TSRI_TEXT_SKIP_SPECIAL | TSRI_TEXT_UNCLEANED, &about);
    }
    if (status == TSR_OK)
        status = tsri_base_bytes_append(&about, "", 0);
    l->out->about = about.data;
    path = slash && slash[1] ? slash + 1 : path;
    l->out->model = tsri_base_copy_text(path, strlen(path));
    if (l->out->model) /* a folder's name may be any bytes */
        l->out->model[tsri_base_plain(l->out->model, strlen(l->out->model))] = '\0';
    return status == TSR_OK && !l->out->model ? TSR_E_HOST_MEMORY : status;
}

static tsr_status look(looking *l, const char *text, size_t size) {
    TRY(check_options(l));
    TRY(tsri_task_attention_read(l->opened, text, size, &l->options, &l->source, &l->target));
    TRY(run(l));
    for (size_t i = 0; i < l->out->n_maps; i++)
        cut(&l->out->maps[i], l->out->weights[i], &l->options);
    drop_empty(l->out);
    if (!l->out->n_maps)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s (%s) has no attention to show", l->model->path,
                              l->model->spec.family);
    return describe(l);
}

tsr_status tsr_attention_create(tsr_model *model, const char *text, size_t size,
                                const tsr_attention_options *options, tsr_attention **out) {
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED(model));
    looking l = {.opened = model, .model = tsri_model_of(model)};
    TRY(tsri_base_adopt("tsr_attention_options", options, &l.options, sizeof l.options));
    if (!l.options.ids && !l.options.messages)
        TRY(NEED(text));
    TRY(tsri_model_need_device(l.model));
    if (!l.model->tokenizer)
        return tsri_base_fail(TSR_E_STATE, "%s has no tokenizer that can be used%s%s",
                              l.model->path, l.model->tokenizer_why ? ": " : "",
                              l.model->tokenizer_why ? l.model->tokenizer_why : "");
    TRY(tsri_base_new(1, sizeof *l.out, &l.out));
    const tsr_status status = look(&l, text, size);
    tsri_text_ids_clear(&l.source);
    tsri_text_ids_clear(&l.target);
    if (status != TSR_OK)
        tsr_attention_destroy(&l.out);
    *out = l.out;
    return status;
}

void tsr_attention_destroy(tsr_attention **attention) {
    tsr_attention *a = *attention;
    if (!a)
        return;
    for (size_t i = 0; i < 2; i++) {
        for (int64_t t = 0; t < a->sides[i].n; t++)
            free((char *)a->sides[i].tokens[t].text);
        free(a->sides[i].tokens);
    }
    for (size_t i = 0; i < TSRI_TASK_MAPS; i++)
        free(a->weights[i]);
    free(a->model);
    free(a->about);
    free(a);
    *attention = NULL;
}

size_t tsr_attention_map_count(const tsr_attention *attention) {
    return attention->n_maps;
}

tsr_status tsr_attention_map_get(const tsr_attention *attention, size_t index,
                                 tsr_attention_map *out) {
    TRY(NEED(attention));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_attention_map", out));
    if (index >= attention->n_maps)
        return tsri_base_fail(TSR_E_ARGUMENT, "map %zu was asked for; there are %zu maps", index,
                              attention->n_maps);
    tsri_base_give(&attention->maps[index], sizeof *attention->maps, out);
    return TSR_OK;
}
