/* cli/serve/answers.c - the JSON of completions and chat completions: chunks of a stream, and whole answers. */
#include "cli/serve/answers.h"

#include <math.h>

/* ---- log-probabilities ---- */

json_t *tsri_serve_logprobs(const tsri_serve_job *job) {
    return job->ask.chat ? json_pack("{s:[],s:n}", "content", "refusal")
                         : json_pack("{s:[],s:[],s:[],s:[]}", "tokens", "token_logprobs",
                                     "top_logprobs", "text_offset");
}

/* JSON has no infinity: what can't be stands for the least. */
static json_t *log_json(float logprob) {
    return json_real(isfinite(logprob) ? (double)logprob : -9999.0);
}

/* The text of a token alone; U+FFFD stands for a part of a character. */
static json_t *token_json(const tsri_serve_job *job, int32_t id) {
    char *text = NULL;
    size_t n = 0;
    json_t *json = NULL;
    if (tsr_decode(job->x->server->app->model, &id, 1, 0, &text, &n) == TSR_OK)
        json = json_stringn(text, n);
    tsr_text_free(text);
    return json ? json : json_string("");
}

static json_t *token_entry(const tsri_serve_job *job, int32_t id, float logprob) {
    json_t *text = token_json(job, id), *bytes = json_array();
    for (size_t i = 0; i < json_string_length(text); i++)
        json_array_append_new(bytes, json_integer((unsigned char)json_string_value(text)[i]));
    return json_pack("{s:o,s:o,s:o}", "token", text, "logprob", log_json(logprob), "bytes", bytes);
}

static void add_chat(const tsri_serve_job *job, json_t *logprobs, const tsr_generated *g) {
    json_t *entry = token_entry(job, g->id, g->logprob), *top = json_array();
    for (uint32_t i = 0; i < g->n_candidates; i++)
        json_array_append_new(top, token_entry(job, g->candidates[i].id, g->candidates[i].logprob));
    json_object_set_new(entry, "top_logprobs", top);
    json_array_append_new(json_object_get(logprobs, "content"), entry);
}

void tsri_serve_add_logprob(const tsri_serve_job *job, json_t *logprobs, const tsr_generated *g,
                            size_t offset) {
    if (job->ask.chat) {
        add_chat(job, logprobs, g);
        return;
    }
    json_t *top = json_object();
    for (uint32_t i = 0; i < g->n_candidates; i++) {
        json_t *text = token_json(job, g->candidates[i].id);
        json_object_set_new(top, json_string_value(text), log_json(g->candidates[i].logprob));
        json_decref(text);
    }
    json_array_append_new(json_object_get(logprobs, "tokens"), token_json(job, g->id));
    json_array_append_new(json_object_get(logprobs, "token_logprobs"), log_json(g->logprob));
    json_array_append_new(json_object_get(logprobs, "top_logprobs"), top);
    json_array_append_new(json_object_get(logprobs, "text_offset"),
                          json_integer((json_int_t)offset));
}

/* ---- answers ---- */

static json_t *frame(const tsri_serve_job *job, const char *object, json_t *choices) {
    return json_pack("{s:s,s:s,s:I,s:s,s:o}", "id", job->id, "object", object, "created",
                     (json_int_t)job->created, "model", job->x->server->name, "choices", choices);
}

static const char *chunk_object(const tsri_serve_job *job) {
    return job->ask.chat ? "chat.completion.chunk" : "text_completion";
}

/* A chunk; where usage follows at the end, every other chunk has an empty one. */
static json_t *chunk(const tsri_serve_job *job, json_t *choice) {
    json_t *json = frame(job, chunk_object(job), json_pack("[o]", choice));
    if (job->ask.include_usage)
        json_object_set_new(json, "usage", json_null());
    return json;
}

json_t *tsri_serve_role_chunk(const tsri_serve_choice *c) {
    return chunk(c->job,
                 json_pack("{s:i,s:{s:s,s:s},s:n,s:n}", "index", (int)c->index, "delta", "role",
                           "assistant", "content", "", "logprobs", "finish_reason"));
}

json_t *tsri_serve_chunk(const tsri_serve_choice *c, const char *text, size_t n, json_t *logprobs) {
    json_t *words = json_stringn(text, n);
    if (!c->job->ask.chat)
        return chunk(c->job, json_pack("{s:i,s:o,s:o?,s:s?}", "index", (int)c->index, "text", words,
                                       "logprobs", logprobs, "finish_reason", c->finish));
    json_t *delta = n ? json_pack("{s:o}", "content", words) : json_object();
    if (!n)
        json_decref(words);
    return chunk(c->job, json_pack("{s:i,s:o,s:o?,s:s?}", "index", (int)c->index, "delta", delta,
                                   "logprobs", logprobs, "finish_reason", c->finish));
}

static json_t *usage(const tsri_serve_job *job) {
    return json_pack("{s:I,s:I,s:I,s:{s:I}}", "prompt_tokens", (json_int_t)job->prompt_tokens,
                     "completion_tokens", (json_int_t)job->new_tokens, "total_tokens",
                     (json_int_t)(job->prompt_tokens + job->new_tokens), "prompt_tokens_details",
                     "cached_tokens", (json_int_t)job->cached_tokens);
}

json_t *tsri_serve_usage_chunk(const tsri_serve_job *job) {
    json_t *json = frame(job, chunk_object(job), json_array());
    json_object_set_new(json, "usage", usage(job));
    return json;
}

static json_t *whole_choice(tsri_serve_choice *c) {
    json_t *words = json_stringn(c->text.data ? c->text.data : "", c->text.size),
           *logprobs = c->logprobs ? json_incref(c->logprobs) : NULL;
    if (c->job->ask.chat)
        words = json_pack("{s:s,s:o,s:n}", "role", "assistant", "content", words, "refusal");
    return json_pack("{s:i,s:o,s:o?,s:s?}", "index", (int)c->index,
                     c->job->ask.chat ? "message" : "text", words, "logprobs", logprobs,
                     "finish_reason", c->finish);
}

json_t *tsri_serve_whole(tsri_serve_job *job) {
    json_t *choices = json_array();
    for (uint32_t i = 0; i < job->n; i++)
        json_array_append_new(choices, whole_choice(&job->choices[i]));
    json_t *json = frame(job, job->ask.chat ? "chat.completion" : "text_completion", choices);
    json_object_set_new(json, "usage", usage(job));
    return json;
}
