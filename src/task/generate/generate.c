/* task/generate/generate.c - makes sequences from prompts, and finds the defaults of a model. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/load/measure.h"
#include "model/model.h"
#include "task/generate/decode.h"
#include "task/generate/settings.h"
#include "task/generate/template.h"
#include "text/tokenizer/languages.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NEW = 256 }; /* for an encoder-decoder whose files state no length */

/* max_length and min_length count the prompt, which in an encoder-decoder is its start token. Where
 * max_new_tokens or min_new_tokens is given, even as 0, it takes precedence. What is not given stays. */
static tsr_status apply_lengths(const json_t *config, const char *path, bool start,
                                tsr_generate_options *o) {
    int64_t n = -1, most = 0, least = -1, length = -1;
    TRY(tsri_base_json_int(config, path, "max_new_tokens", 0, INT32_MAX, &n));
    TRY(tsri_base_json_int(config, path, "max_length", 1, INT32_MAX, &most));
    TRY(tsri_base_json_int(config, path, "min_new_tokens", 0, INT32_MAX, &least));
    TRY(tsri_base_json_int(config, path, "min_length", 0, INT32_MAX, &length));
    if (start && n < 0)
        n = most > 1 ? most - 1 : MOST_NEW;
    if (start && least < 0 && length >= 0)
        least = length > 1 ? length - 1 : 0;
    o->max_new_tokens = n;
    if (least >= 0)
        o->min_new_tokens = least;
    o->max_length = start ? 0 : most;
    o->min_length = start || least >= 0 || length < 0 ? 0 : length;
    return TSR_OK;
}

static tsr_status apply_beams(const json_t *config, const char *path, tsr_generate_options *o) {
    const json_t *stop = json_object_get(config, "early_stopping");
    int64_t beams = 1, ngram = 0;
    double length = 1;
    TRY(tsri_base_json_int(config, path, "num_beams", 1, 1024, &beams));
    TRY(tsri_base_json_int(config, path, "no_repeat_ngram_size", 0, INT32_MAX, &ngram));
    TRY(tsri_base_json_real(config, path, "length_penalty", -1e6, 1e6, &length));
    if (json_is_string(stop) && !strcmp(json_string_value(stop), "never"))
        o->early_stopping = TSR_EARLY_NEVER;
    else if (stop && !json_is_null(stop) && !json_is_boolean(stop))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"early_stopping\" is neither true, false nor \"never\"", path);
    else if (json_is_boolean(stop))
        o->early_stopping = json_is_true(stop) ? TSR_EARLY_FIRST : TSR_EARLY_HEURISTIC;
    o->num_beams = (uint32_t)beams;
    o->no_repeat_ngram = (uint32_t)ngram;
    o->length_penalty = (float)length;
    return TSR_OK;
}

static tsr_status apply_config(const json_t *config, const char *path, bool start,
                               tsr_generate_options *o) {
    if (json_is_true(json_object_get(config, "do_sample"))) {
        o->temperature = o->top_p = 1; /* transformers' values, which it does not write */
        o->top_k = 50;
        o->min_p = 0;
    }
    double temperature = o->temperature, top_p = o->top_p, min_p = o->min_p,
           penalty = o->repeat_penalty;
    int64_t top_k = o->top_k;
    bool sample = !start;
    TRY(tsri_base_json_bool(config, path, "do_sample", &sample));
    TRY(tsri_base_json_real(config, path, "temperature", 0, 1e6, &temperature));
    TRY(tsri_base_json_real(config, path, "top_p", 1e-9, 1, &top_p));
    TRY(tsri_base_json_real(config, path, "min_p", 0, 1, &min_p));
    TRY(tsri_base_json_real(config, path, "repetition_penalty", 1e-3, 1e3, &penalty));
    TRY(tsri_base_json_int(config, path, "top_k", 0, 1 << 24, &top_k));
    o->temperature = sample ? (float)temperature : 0;
    o->top_p = (float)top_p;
    o->min_p = (float)min_p;
    o->repeat_penalty = (float)penalty;
    o->top_k = (int32_t)top_k;
    TRY(apply_lengths(config, path, start, o));
    return apply_beams(config, path, o);
}

tsr_status tsri_task_defaults(const tsri_model *m, tsr_generate_options *options) {
    const bool start = m->spec.encoder.layers && m->spec.decoder.layers;
    const tsri_model_generation *g = &m->generation;
    const tsri_task_manner *manner = tsri_task_manner_of(m);
    *options = (tsr_generate_options){.struct_size = sizeof *options,
                                      .max_new_tokens = start ? MOST_NEW : -1,
                                      .temperature = start || manner->greedy ? 0 : 0.8f,
                                      .top_k = 40,
                                      .top_p = 0.95f,
                                      .min_p = 0.05f,
                                      .repeat_penalty = 1,
                                      .num_beams = 1,
                                      .early_stopping = manner->stopping,
                                      .length_penalty = 1,
                                      .min_new_tokens = start ? manner->least : 0};
    return g->settings ? apply_config(g->settings, g->path, start, options) : TSR_OK;
}

tsr_status tsri_task_adopt_search(const tsri_model *m, const tsr_generate_options *given,
                                  tsr_generate_options *out) {
    return given ? tsri_base_adopt("tsr_generate_options", given, out, sizeof *out)
                 : tsri_task_defaults(m, out);
}

tsr_status tsr_generate_defaults(const tsr_model *model, tsr_generate_options *options) {
    tsr_generate_options known;
    TRY(NEED(model));
    TRY(NEED(options));
    TRY(tsri_base_check_out("tsr_generate_options", options));
    TRY(tsri_task_defaults(tsri_model_of(model), &known));
    tsri_base_give(&known, sizeof known, options);
    return TSR_OK;
}

/* ---- prompts ---- */

static tsr_status take_ids(const int32_t *given, uint32_t n, int32_t vocab, tsri_text_ids *ids) {
    for (uint32_t i = 0; i < n; i++)
        if (given[i] < 0 || given[i] >= vocab)
            return tsri_base_fail(
                TSR_E_ARGUMENT,
                "token id %d is not in the model's vocabulary, which has the ids 0 to %d",
                (int)given[i], (int)vocab - 1);
    return tsri_text_ids_append(ids, given, n);
}

/* The ids of a conversation that the caller gives as a whole. */
static tsr_status take_messages(const tsri_task_template *template, const tsr_prompt *prompt,
                                tsri_text_ids *ids) {
    const size_t size = prompt->messages_size ? prompt->messages_size : strlen(prompt->messages);
    tsri_bytes text = {0};
    const tsr_status status =
        tsri_task_template_encode_json(template, prompt->messages, size, true, &text, ids);
    tsri_base_bytes_clear(&text);
    return status;
}

/* The ids of a prompt's text or messages. */
static tsr_status take_text(const tsri_model *model, const tsri_task_template *template,
                            const tsr_prompt *prompt, const tsri_text_direction *direction,
                            tsri_text_ids *ids) {
    const char *text = prompt->text ? prompt->text : "";
    const size_t size = prompt->text_size ? prompt->text_size : strlen(text);
    json_t *messages = NULL;
    tsri_bytes written = {0};
    if (!model->tokenizer)
        return tsri_base_fail(TSR_E_STATE,
                              "%s has no tokenizer that can be used%s%s: give the prompt as token "
                              "ids (--ids 1,2,3 --print-ids)",
                              model->path, model->tokenizer_why ? ": " : "",
                              model->tokenizer_why ? model->tokenizer_why : "");
    if (!template)
        return tsri_text_encode_source(model->tokenizer, text, size, direction,
                                       TSRI_TEXT_PARSE_SPECIAL, ids);
    if (prompt->messages)
        return take_messages(template, prompt, ids);
    tsr_status status = tsri_task_messages_begin(template, &messages);
    if (status == TSR_OK)
        status = tsri_task_messages_add(messages, "user", text, size);
    if (status == TSR_OK)
        status = tsri_task_template_encode(template, messages, true, &written, ids);
    tsri_base_bytes_clear(&written);
    json_decref(messages);
    return status;
}

static tsr_status check_context(const tsri_model *model, size_t tokens, int64_t context) {
    const int64_t most =
        model->spec.encoder.layers ? model->spec.source_context : model->spec.context;
    if ((int64_t)tokens <= context)
        return TSR_OK;
    if (context < most)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the prompt has %zu tokens, but the context holds %lld: shorten it, "
                              "or raise -c up to what the model reads (%lld)",
                              tokens, (long long)context, (long long)most);
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "the prompt has %zu tokens, but the model reads %lld: shorten it", tokens,
                          (long long)context);
}

/* The ids of a prompt that the model's first stack reads: below `vocab`, at most `context` of them.
 */
static tsr_status take_prompt(const tsri_model *model, const tsri_task_template *template,
                              const tsr_prompt *prompt, const tsri_text_direction *direction,
                              int32_t vocab, int64_t context, tsri_text_ids *ids) {
    TRY(prompt->ids ? take_ids(prompt->ids, prompt->n_ids, vocab, ids)
                    : take_text(model, template, prompt, direction, ids));
    if (!ids->count) {
        if (model->generation.bos < 0)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "the prompt is empty, and %s has no beginning-of-sequence "
                                  "token: give at least one token",
                                  model->path);
        TRY(tsri_text_ids_append(ids, &model->generation.bos, 1));
    }
    TRY(tsri_task_check_vocabulary(ids, vocab));
    return check_context(model, ids->count, context);
}

static tsr_status take_target(const tsri_model *model, const tsr_prompt *prompt,
                              const tsri_text_direction *direction, int64_t context,
                              tsri_text_ids *ids) {
    const int32_t start =
        direction->start >= 0 ? direction->start : model->generation.decoder_start;
    if (start < 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s has no token for its decoder to start with "
                              "(decoder_start_token_id), so it can't generate text",
                              model->path);
    TRY(tsri_text_ids_append(ids, &start, 1));
    TRY(take_ids(prompt->target_ids, prompt->n_target_ids, model->spec.vocab, ids));
    if ((int64_t)ids->count > context)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the target begins with %zu tokens, but the context holds %lld",
                              ids->count, (long long)context);
    return TSR_OK;
}

/* Fails where the prompt leaves no token to generate. */
static tsr_status check_length(const tsri_task_decoding *d, const tsri_text_ids *ids) {
    const tsr_generate_options *o = d->options;
    if (o->max_new_tokens >= 0 || !o->max_length || (int64_t)ids->count < o->max_length)
        return TSR_OK;
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "the prompt has %zu tokens, but max_length (%s) allows %lld, including "
                          "generated ones: give the number of new tokens (-n), or a shorter prompt",
                          ids->count,
                          d->model->generation.path ? d->model->generation.path : "an option",
                          (long long)o->max_length);
}

static tsr_status take_decoder_prompt(const tsri_task_decoding *d,
                                      const tsri_task_template *template, const tsr_prompt *prompt,
                                      const tsri_text_direction *direction, tsri_text_ids *ids) {
    TRY(take_prompt(d->model, template, prompt, direction, d->model->spec.vocab, d->context, ids));
    return check_length(d, ids);
}

/* The languages that the model's files state. */
static tsr_status find_direction(const tsri_model *m, tsri_text_direction *out) {
    *out = (tsri_text_direction){.from = -1, .to = -1, .start = -1, .forced = -1};
    return m->tokenizer ? tsri_text_direction_of(m->tokenizer, NULL, NULL, out) : TSR_OK;
}

tsr_status tsri_task_prompt_ids(const tsri_task_decoding *d, const tsri_task_template *template,
                                const tsr_prompt *given, tsri_text_ids *ids) {
    tsri_text_direction direction;
    tsr_prompt prompt;
    TRY(tsri_base_adopt("tsr_prompt", given, &prompt, sizeof prompt));
    TRY(find_direction(d->model, &direction));
    return take_decoder_prompt(d, template, &prompt, &direction, ids);
}

typedef struct generation {
    tsri_task_decoding decoding;
    tsri_task_template *template; /* NULL: prompts are continued as they are */
    tsri_task_sequence *sequences;
    tsri_text_ids *sources; /* [n] of an encoder-decoder: the input of its encoder */
    uint32_t n;
} generation;

/* Makes the ids of a prompt that the model's stacks read. */
static tsr_status take(generation *g, const tsri_text_direction *direction, const tsr_prompt *given,
                       uint32_t i) {
    const tsri_model *m = g->decoding.model;
    tsri_task_sequence *s = &g->sequences[i];
    tsr_prompt prompt;
    TRY(NEED(given));
    TRY(tsri_base_adopt("tsr_prompt", given, &prompt, sizeof prompt));
    if (m->spec.encoder.layers) {
        TRY(take_prompt(m, NULL, &prompt, direction, m->spec.source_vocab, m->spec.source_context,
                        &g->sources[i]));
        return take_target(m, &prompt, direction, g->decoding.context, &s->ids);
    }
    return take_decoder_prompt(&g->decoding, g->template, &prompt, direction, &s->ids);
}

/* Whether a prompt has messages, so that a template is needed. */
static bool has_messages(const tsr_prompt *const *prompts, uint32_t n) {
    bool found = false;
    tsr_prompt prompt;
    for (uint32_t i = 0; i < n && !found; i++)
        found = prompts[i] &&
                tsri_base_adopt("tsr_prompt", prompts[i], &prompt, sizeof prompt) == TSR_OK &&
                prompt.messages && !prompt.ids;
    return found;
}

static tsr_status make_template(generation *g, const tsr_prompt *const *prompts) {
    const tsri_model *m = g->decoding.model;
    if (!g->decoding.options->chat && !has_messages(prompts, g->n))
        return TSR_OK;
    if (m->spec.encoder.layers)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s (%s) has an encoder: chat templates are for models that are a "
                              "decoder alone",
                              m->path, m->spec.family);
    TRY(tsri_task_template_create(m, g->decoding.options->chat, &g->template));
    g->decoding.ends = tsri_task_template_ends(g->template, &g->decoding.n_ends);
    return TSR_OK;
}

static tsr_status ready(generation *g, const tsr_prompt *const *prompts) {
    const tsri_model *m = g->decoding.model;
    tsri_text_direction direction;
    TRY(make_template(g, prompts));
    TRY(find_direction(m, &direction));
    TRY(tsri_base_new(g->n, sizeof *g->sequences, &g->sequences));
    TRY(tsri_base_new(g->n, sizeof *g->sources, &g->sources));
    for (uint32_t i = 0; i < g->n; i++) {
        tsri_task_sequence *s = &g->sequences[i];
        s->prompt = i;
        s->slot = s->source = (int32_t)i;
        const tsr_status status = take(g, &direction, prompts[i], i);
        if (status == TSR_E_ARGUMENT)
            g->decoding.stats->refused = i + 1;
        TRY(status);
        TRY(tsri_task_sequence_begin(s, m, g->decoding.options));
    }
    return TSR_OK;
}

static int64_t longest_source(const generation *g) {
    size_t most = 0;
    for (uint32_t i = 0; i < g->n; i++)
        most = g->sources[i].count > most ? g->sources[i].count : most;
    return (int64_t)most;
}

static tsr_status encode(const generation *g, tsri_session *session) {
    const tsri_model_results nothing = {0};
    tsri_model_sequence *texts;
    if (!g->decoding.model->spec.encoder.layers)
        return TSR_OK;
    TRY(tsri_base_new(g->n, sizeof *texts, &texts));
    for (uint32_t i = 0; i < g->n; i++)
        texts[i] = (tsri_model_sequence){
            .ids = g->sources[i].data, .n = (int64_t)g->sources[i].count, .slot = (int32_t)i};
    const tsr_status status = tsri_session_encode(session, texts, (int32_t)g->n, &nothing);
    free(texts);
    return status;
}

/* Tokens of a sequence for which room is made before they are there: FOLLOWING, and where the keys and
 * values of all sequences are small, so many that they need SMALL bytes. */
static int64_t most_ahead(const generation *g) {
    enum { FOLLOWING = 256, SMALL = 8 << 20 };
    tsri_model_measures measures;
    tsri_model_measure(g->decoding.model, &measures);
    const uint64_t token = measures.kv_bytes_per_token * g->n, small = token ? SMALL / token : 0;
    return small > FOLLOWING ? (int64_t)small : FOLLOWING;
}

/* Makes room for the prompts and for what follows: whenever a session's memory grows, all of it is
 * copied, and its graphs are planned anew. */
static tsr_status reserve(const generation *g, tsri_session *session) {
    const int64_t ahead = most_ahead(g);
    int64_t most = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const int64_t prompt = (int64_t)g->sequences[i].ids.count,
                      asked = tsri_task_most_new(g->decoding.options, prompt),
                      following = asked < 0 || asked > ahead ? ahead : asked;
        most = prompt + following > most ? prompt + following : most;
    }
    return tsri_session_reserve(session, most < g->decoding.context ? most : g->decoding.context);
}

static tsr_status one_by_one(generation *g) {
    tsri_session *session = NULL;
    const tsri_session_sizes sizes = {.slots = (int32_t)g->n,
                                      .context = g->decoding.context,
                                      .sources = (int32_t)g->n,
                                      .source_context = longest_source(g)};
    tsr_status status = tsri_session_create_sized(g->decoding.model, &sizes, &session);
    if (status == TSR_OK && !g->decoding.model->spec.encoder.layers)
        status = reserve(g, session);
    if (status == TSR_OK)
        status = encode(g, session);
    g->decoding.session = session;
    if (status == TSR_OK)
        status = tsri_task_decode(&g->decoding, g->sequences, g->n);
    tsri_session_destroy(&session);
    return status;
}

static tsr_status check_model(const tsri_model *m) {
    if (!m->spec.decoder.layers)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s (%s) has no decoder, and only a decoder generates text; see "
                              "tessera embed, classify and fill-mask",
                              m->path, m->spec.family);
    return tsri_model_need_device(m);
}

tsr_status tsr_generate(tsr_model *model, const tsr_prompt *const *prompts, uint32_t n,
                        const tsr_generate_options *options, tsr_generated_fn generated, void *data,
                        tsr_generate_stats *stats) {
    tsr_generate_options known;
    tsr_generate_stats counted = {0};
    TRY(NEED(model));
    TRY(tsri_base_check_out("tsr_generate_stats", stats));
    if (!n)
        return TSR_OK;
    TRY(NEED(prompts));
    tsri_model *m = tsri_model_of(model);
    TRY(check_model(m));
    TRY(tsri_task_adopt_search(m, options, &known));
    TRY(tsri_task_options_check(&known, m));
    generation g = {.decoding = {.model = m,
                                 .options = &known,
                                 .context = known.context ? known.context : m->spec.context,
                                 .generated = generated,
                                 .data = data,
                                 .stats = &counted},
                    .n = n};
    tsr_status status = ready(&g, prompts);
    if (status == TSR_OK)
        status = known.num_beams > 1
                     ? tsri_task_decode_beams(&g.decoding, g.sequences, g.sources, n)
                     : one_by_one(&g);
    for (uint32_t i = 0; i < n; i++) {
        if (g.sequences)
            tsri_task_sequence_clear(&g.sequences[i]);
        if (g.sources)
            tsri_text_ids_clear(&g.sources[i]);
    }
    tsri_task_template_destroy(&g.template);
    free(g.sequences);
    free(g.sources);
    tsri_base_give(&counted, sizeof counted, stats);
    return status;
}

/* ---- one text ---- */

typedef struct whole {
    tsri_bytes text;
    tsr_status status;
} whole;

static int keep(void *data, const tsr_generated *generated) {
    whole *w = data;
    if (generated->hypothesis == 0)
        w->status = tsri_base_bytes_append(&w->text, generated->text, generated->text_size);
    return w->status != TSR_OK;
}

tsr_status tsr_generate_text(tsr_model *model, const char *text, size_t size,
                             const tsr_generate_options *options, char **out, size_t *n) {
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED_ARRAY(text, size));
    whole w = {0};
    const tsr_prompt prompt = {
        .struct_size = sizeof prompt, .text = size ? text : "", .text_size = size};
    const tsr_prompt *const prompts[] = {&prompt};
    TRY(tsri_base_bytes_append(&w.text, "", 0));
    tsr_status status = tsr_generate(model, prompts, 1, options, keep, &w, NULL);
    if (w.status != TSR_OK)
        status = w.status;
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&w.text);
        return status;
    }
    *out = w.text.data;
    if (n)
        *n = w.text.size;
    return TSR_OK;
}
