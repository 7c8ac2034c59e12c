/* task/vectors/embed.c - makes vectors of texts: reads them, runs them in order of length, pools
 * the hidden states, and does the final steps that the model's folder lists. */
#include "tessera/embed.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/load/sentence.h"
#include "model/model.h"
#include "task/texts/passages.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tsr_embedder {
    tsri_model *model;
    tsri_session *session;
    tsri_model_sentence sentence;
    tsri_task_reader reader;
    tsri_task_passages passages;
    const char *prompt;
    char *own_prompt; /* one that is not the model's */
    size_t skipped;   /* tokens of the prompt, and those before it, that are not pooled */
    tsri_bytes prompt_names, poolings, tasks;
    tsr_embed_options options;
    float *states, *pooled; /* of a run: the last hidden states, and what is made of them before the
                               final steps */
    size_t states_room, pooled_room;
    float *vectors; /* of the current call */
    size_t n;
};

/* ---- beginning ---- */

static tsr_status copy_prompt(tsr_embedder *e) {
    const char *text = e->options.prompt_text;
    e->own_prompt = tsri_base_copy_text(text, strlen(text));
    e->prompt = e->own_prompt ? e->own_prompt : "";
    return e->own_prompt ? TSR_OK : TSR_E_HOST_MEMORY;
}

/* A task that was asked for has its instruction before each text, as the code beside such models puts it there. */
static const char *instruction_of(const tsri_model *model) {
    return model->task_asked && model->tasks.chosen >= 0
               ? model->tasks.items[model->tasks.chosen].instruction
               : NULL;
}

static tsr_status choose_prompt(tsr_embedder *e) {
    const tsr_embed_options *o = &e->options;
    const char *instruction = instruction_of(e->model);
    TRY(tsri_model_sentence_prompt_names(&e->sentence, &e->prompt_names));
    TRY(tsri_model_sentence_prompt(&e->sentence, e->model->path, o->prompt, o->prompt_text,
                                   &e->prompt));
    if (o->prompt_text)
        return copy_prompt(e);
    if (instruction && !o->prompt)
        e->prompt = instruction;
    return TSR_OK;
}

/* Counts the tokens that a text begins with where its pooling leaves out the prompt: those of the prompt
 * alone, but for a special one at their end. */
static tsr_status measure_prompt(tsr_embedder *e) {
    const tsr_string prompt = {e->prompt, strlen(e->prompt)};
    tsri_task_passages alone = {0};
    if (!prompt.size || e->sentence.pool_prompt)
        return TSR_OK;
    tsr_status status = tsri_task_passages_add(&e->reader, &alone, "", &prompt, NULL);
    if (status == TSR_OK) {
        e->skipped = alone.ids.count;
        if (e->reader.around > e->reader.before)
            e->skipped--;
    }
    tsri_task_passages_clear(&alone);
    return status;
}

static tsr_status choose_pooling(tsr_embedder *e) {
    const tsri_model_spec *spec = &e->model->spec;
    tsri_model_sentence *s = &e->sentence;
    if (e->options.pooling)
        return tsri_model_sentence_pool_by(s, e->options.pooling, spec->width);
    if (!s->found && spec->pools_unsaid)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s (%s) was not made for vectors, and no file says how one is made "
                              "of its hidden states: choose a pooling (--pooling last, mean, ...)",
                              e->model->path, spec->family);
    if (!s->found && spec->pools_last)
        s->poolings[0] = TSRI_POOLING_LAST;
    return TSR_OK;
}

static tsr_status name_poolings(tsr_embedder *e) {
    const tsri_model_sentence *s = &e->sentence;
    for (int i = 0; i < s->n_poolings; i++)
        TRY(tsri_base_bytes_printf(&e->poolings, i ? ", %s" : "%s",
                                   tsri_model_pooling_name(s->poolings[i])));
    return TSR_OK;
}

static tsr_status begin(tsr_embedder *e) {
    const tsri_model_spec *spec = &e->model->spec;
    TRY(tsri_task_reader_begin(e->model, "embedding", 0, &e->reader));
    TRY(tsri_model_sentence_read(e->model->archive, e->model->folder, e->model->arch->by_task,
                                 spec->width, spec->source_context, &e->sentence));
    TRY(tsri_model_tasks_list(&e->model->tasks, &e->tasks));
    if (e->sentence.max_tokens)
        e->reader.max_tokens = e->sentence.max_tokens;
    if (e->options.max_tokens < 0 || e->options.max_tokens > spec->source_context ||
        (e->options.max_tokens && (size_t)e->options.max_tokens <= e->reader.around))
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "texts of at most %" PRId64 " tokens were asked for; with %s that must "
            "be %zu to %" PRId64,
            e->options.max_tokens, e->model->path, e->reader.around + 1, spec->source_context);
    if (e->options.max_tokens)
        e->reader.max_tokens = e->options.max_tokens;
    e->reader.lower_case = e->sentence.lower_case;
    TRY(choose_pooling(e));
    TRY(choose_prompt(e));
    TRY(measure_prompt(e));
    TRY(name_poolings(e));
    return tsri_session_create(e->model, 1, 0, &e->session);
}

tsr_status tsr_embedder_create(tsr_model *model, const tsr_embed_options *options,
                               tsr_embedder **out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsr_embedder *e = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *e, &e));
    e->model = tsri_model_of(model);
    tsr_status status =
        tsri_base_adopt("tsr_embed_options", options, &e->options, sizeof e->options);
    if (status == TSR_OK)
        status = begin(e);
    if (status != TSR_OK)
        tsr_embedder_destroy(&e);
    *out = e;
    return status;
}

void tsr_embedder_destroy(tsr_embedder **embedder) {
    tsr_embedder *e = *embedder;
    if (!e)
        return;
    tsri_session_destroy(&e->session);
    tsri_model_sentence_clear(&e->sentence);
    tsri_task_passages_clear(&e->passages);
    tsri_base_bytes_clear(&e->prompt_names);
    tsri_base_bytes_clear(&e->poolings);
    tsri_base_bytes_clear(&e->tasks);
    free(e->own_prompt);
    free(e->states);
    free(e->pooled);
    free(e);
    *embedder = NULL;
}

tsr_status tsr_embedder_info_get(const tsr_embedder *e, tsr_embedder_info *out) {
    TRY(NEED(e));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_embedder_info", out));
    const tsri_model_sentence *s = &e->sentence;
    const tsri_model_tasks *tasks = &e->model->tasks;
    const tsr_embedder_info info = {
        .struct_size = sizeof info,
        .width = (uint32_t)s->width,
        .layers = (uint32_t)e->model->spec.encoder.layers,
        .normalized =
            s->n_steps > 0 && s->steps[s->n_steps - 1].kind == TSRI_STEP_NORMALIZE && !s->is_cut,
        .has_modules = s->found,
        .model_width = (uint32_t)e->model->spec.width,
        .max_tokens = e->reader.max_tokens,
        .pooling = e->poolings.data,
        .prompt = e->prompt,
        .prompt_names = e->prompt_names.data,
        .task = tasks->chosen < 0 ? "" : tasks->items[tasks->chosen].name,
        .tasks = e->tasks.data};
    tsri_base_give(&info, sizeof info, out);
    return TSR_OK;
}

/* ---- texts ---- */

static tsr_status read_texts(tsr_embedder *e, const tsr_string *texts, size_t n,
                             tsr_embed_stats *stats) {
    TRY(NEED_ARRAY(texts, n));
    TRY(tsri_base_check_out("tsr_embed_stats", stats));
    tsri_task_passages_reset(&e->passages);
    for (size_t i = 0; i < n; i++)
        TRY(tsri_task_passages_add(&e->reader, &e->passages, e->prompt, &texts[i], NULL));
    const tsr_embed_stats counted = {.tokens = e->passages.ids.count, .cut = e->passages.cut};
    tsri_base_give(&counted, sizeof counted, stats);
    return TSR_OK;
}

static tsr_status check_finite(const tsr_embedder *e, size_t text, const float *vector) {
    for (int32_t c = 0; c < e->sentence.width; c++)
        if (!isfinite(vector[c]))
            return tsri_base_fail(TSR_E_DEVICE,
                                  "the vector of text %zu of %zu is not finite: the weights are "
                                  "damaged, or they overflow in this dtype",
                                  text + 1, e->n);
    return TSR_OK;
}

/* Pools the states of each sequence, where the encoder's own vectors are not those that are wanted. */
static tsr_status pool_states(tsr_embedder *e, const tsri_model_sequence *sequences, int32_t n) {
    const int32_t C = e->model->spec.width;
    const size_t width = (size_t)C * (size_t)e->sentence.n_poolings;
    size_t tokens = 0;
    for (int32_t i = 0; i < n; i++)
        tokens += (size_t)sequences[i].n;
    TRY(tsri_base_grow(&e->states, &e->states_room, tokens * (size_t)C, sizeof *e->states));
    const tsri_model_results results = {.rows = TSRI_ROWS_ALL, .states = e->states};
    TRY(tsri_session_encode(e->session, sequences, n, &results));
    const float *rows = e->states;
    for (int32_t i = 0; i < n; i++) {
        const size_t count = (size_t)sequences[i].n;
        tsri_model_sentence_pool(&e->sentence, rows, e->skipped, count, C,
                                 e->pooled + (size_t)i * width);
        rows += count * (size_t)C;
    }
    return TSR_OK;
}

static tsr_status run(void *data, const tsri_model_sequence *sequences, const size_t *which,
                      int32_t n) {
    tsr_embedder *e = data;
    const int32_t C = e->model->spec.width * e->sentence.n_poolings;
    const int kind = tsri_model_sentence_device_pool(&e->sentence, e->skipped);
    const size_t width = (size_t)e->sentence.width;
    TRY(tsri_base_grow(&e->pooled, &e->pooled_room, (size_t)n * (size_t)C, sizeof *e->pooled));
    const tsri_model_results results = {.vectors = e->pooled, .pooling = (uint32_t)kind};
    TRY(kind < 0 ? pool_states(e, sequences, n)
                 : tsri_session_encode(e->session, sequences, n, &results));
    for (int32_t i = 0; i < n; i++) {
        float *vector = e->vectors + which[i] * width;
        TRY(tsri_model_sentence_finish(&e->sentence, e->pooled + (size_t)i * (size_t)C, 1, C,
                                       vector));
        TRY(check_finite(e, which[i], vector));
    }
    return TSR_OK;
}

static tsr_status tell(void *data, size_t done) {
    const tsr_embedder *e = data;
    const tsr_embed_options *o = &e->options;
    if (o->progress && o->progress(o->progress_data, done, e->n))
        return tsri_base_fail(TSR_E_CANCELLED, "embedding was cancelled after %zu of %zu texts",
                              done, e->n);
    return TSR_OK;
}

tsr_status tsr_embed(tsr_embedder *e, const tsr_string *texts, size_t n, float *vectors,
                     tsr_embed_stats *stats) {
    TRY(NEED(e));
    TRY(NEED_ARRAY(vectors, n));
    TRY(read_texts(e, texts, n, stats));
    e->vectors = vectors;
    e->n = n;
    memset(vectors, 0,
           n * (size_t)e->sentence.width * sizeof *vectors); /* for texts without tokens */
    return tsri_task_passages_run(&e->passages, run, tell, e);
}

/* ---- tokens ---- */

/* Rows of the embedding, each read from the model's file. */
static tsr_status table_rows(const tsr_embedder *e, const int32_t *ids, size_t n, uint32_t width,
                             float *out) {
    for (size_t i = 0; i < n; i++)
        TRY(tsri_model_weights_rows(e->model->weights, TSRI_WEIGHT_EMBED, ids[i], 1, TSR_F32,
                                    out + i * width));
    return TSR_OK;
}

/* The hidden states of one layer; those of the others are written to `scratch`. */
static tsr_status layer_rows(tsr_embedder *e, const int32_t *ids, size_t n, uint32_t layer,
                             float *scratch, float *out) {
    float *hidden[TSRI_MODEL_MAX_LAYERS + 1];
    const tsri_model_sequence sequence = {.ids = ids, .n = (int64_t)n};
    const tsri_model_results results = {.hidden = hidden};
    for (int32_t i = 0; i <= e->model->spec.encoder.layers; i++)
        hidden[i] = (uint32_t)i == layer ? out : scratch;
    return tsri_session_encode(e->session, &sequence, 1, &results);
}

static tsr_status visit_texts(tsr_embedder *e, uint32_t layer, uint32_t width, float *scratch,
                              float *rows,
                              int (*visit)(void *data, const tsr_token_vectors *tokens),
                              void *data) {
    for (size_t i = 0; i < e->passages.n; i++) {
        const size_t begin = e->passages.starts[i], n = e->passages.starts[i + 1] - begin;
        const int32_t *ids = e->passages.ids.data + begin;
        if (n)
            TRY(layer ? layer_rows(e, ids, n, layer, scratch, rows)
                      : table_rows(e, ids, n, width, rows));
        const tsr_token_vectors tokens = {.struct_size = sizeof tokens,
                                          .width = width,
                                          .text = i,
                                          .n = n,
                                          .ids = ids,
                                          .vectors = rows};
        if (visit(data, &tokens))
            return tsri_base_fail(TSR_E_CANCELLED, "embedding was cancelled");
    }
    return TSR_OK;
}

tsr_status tsr_embed_tokens(tsr_embedder *e, const tsr_string *texts, size_t n, uint32_t layer,
                            int (*visit)(void *data, const tsr_token_vectors *tokens), void *data,
                            tsr_embed_stats *stats) {
    TRY(NEED(e));
    TRY(NEED(visit));
    const tsri_model_spec *spec = &e->model->spec;
    const tsri_model_weight *table = tsri_model_weight_at(e->model->weights, TSRI_WEIGHT_EMBED);
    const uint32_t width = (uint32_t)(layer ? spec->width : table->dims[1]);
    const size_t most = (size_t)e->reader.max_tokens * width;
    float *scratch = NULL, *rows = NULL;
    if (layer > (uint32_t)spec->encoder.layers)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the vectors after layer %" PRIu32 " were asked for; %s has %" PRId32
                              " layers, and 0 is the embedding",
                              layer, e->model->path, spec->encoder.layers);
    TRY(read_texts(e, texts, n, stats));
    tsr_status status = tsri_base_new(most, sizeof *scratch, &scratch);
    if (status == TSR_OK)
        status = tsri_base_new(most, sizeof *rows, &rows);
    if (status == TSR_OK)
        status = visit_texts(e, layer, width, scratch, rows, visit, data);
    free(scratch);
    free(rows);
    return status;
}
