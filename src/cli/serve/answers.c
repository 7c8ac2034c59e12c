/* cli/serve/answers.c - the JSON of completions and chat completions: chunks of a stream, and whole answers. */
#include "cli/serve/answers.h"

#include <math.h>
#include <string.h>

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

/* The bytes of a token as text: of a part of a character each byte as \\xHH, behind `mark`. In completions, which have
 * a mark, also those of a token with a 0 byte: it is a name in "top_logprobs", and names have none. */
static json_t *bytes_json(const char *bytes, size_t n, const char *mark) {
    const bool no_name = *mark && memchr(bytes, 0, n);
    json_t *json = no_name ? NULL : json_stringn(bytes, n); /* NULL: they are not UTF-8 */
    char hex[8];
    tsri_serve_buffer text = {0};
    if (json)
        return json;
    tsri_serve_put(&text, mark, strlen(mark));
    for (size_t i = 0; i < n; i++)
        tsri_serve_put(&text, hex,
                       (size_t)snprintf(hex, sizeof hex, "\\x%02x", (unsigned char)bytes[i]));
    json = json_stringn(text.data ? text.data : "", text.size);
    tsri_serve_clear(&text);
    return json;
}

/* As OpenAI's interface has it: "bytes:\\xe2\\x80" in completions. */
static json_t *token_json(const tsri_serve_job *job, int32_t id) {
    char *bytes = NULL;
    size_t n = 0;
    if (tsr_token_bytes(job->x->model->model, id, &bytes, &n) != TSR_OK)
        return json_string("");
    json_t *json = bytes_json(bytes, n, "bytes:");
    tsr_text_free(bytes);
    return json;
}

static json_t *token_entry(const tsri_serve_job *job, int32_t id, float logprob) {
    char *own = NULL;
    size_t n = 0;
    json_t *bytes = json_array();
    if (tsr_token_bytes(job->x->model->model, id, &own, &n) != TSR_OK)
        n = 0;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(bytes, json_integer((unsigned char)own[i]));
    json_t *text = bytes_json(own ? own : "", n, "");
    tsr_text_free(own);
    return json_pack("{s:o,s:o,s:o}", "token", text, "logprob", log_json(logprob), "bytes", bytes);
}

static void add_chat(const tsri_serve_job *job, json_t *logprobs, const tsr_generated *g) {
    json_t *entry = token_entry(job, g->id, g->logprob), *top = json_array();
    for (uint32_t i = 0; i < g->n_candidates; i++)
        json_array_append_new(top, token_entry(job, g->candidates[i].id, g->candidates[i].logprob));
    json_object_set_new(entry, "top_logprobs", top);
    json_array_append_new(json_object_get(logprobs, "content"), entry);
}

/* The likeliest tokens, and the token itself. Of tokens with the same text, the likelier counts. */
static json_t *top_json(const tsri_serve_job *job, const tsr_generated *g) {
    json_t *top = json_object();
    for (uint32_t i = 0; i <= g->n_candidates; i++) {
        const bool own = i == g->n_candidates;
        json_t *text = token_json(job, own ? g->id : g->candidates[i].id);
        if (!json_object_get(top, json_string_value(text)))
            json_object_set_new(top, json_string_value(text),
                                log_json(own ? g->logprob : g->candidates[i].logprob));
        json_decref(text);
    }
    return top;
}

void tsri_serve_add_logprob(const tsri_serve_job *job, json_t *logprobs, const tsr_generated *g,
                            size_t offset, bool known) {
    if (job->ask.chat) {
        add_chat(job, logprobs, g);
        return;
    }
    json_array_append_new(json_object_get(logprobs, "tokens"), token_json(job, g->id));
    json_array_append_new(json_object_get(logprobs, "token_logprobs"),
                          known ? log_json(g->logprob) : json_null());
    json_array_append_new(json_object_get(logprobs, "top_logprobs"),
                          known ? top_json(job, g) : json_null());
    json_array_append_new(json_object_get(logprobs, "text_offset"),
                          json_integer((json_int_t)offset));
}

/* ---- answers ---- */

static json_t *frame(const tsri_serve_job *job, const char *object, json_t *choices) {
    return json_pack("{s:s,s:s,s:I,s:s,s:o}", "id", job->id, "object", object, "created",
                     (json_int_t)job->created, "model", job->x->model->name, "choices", choices);
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
    const char *finish = c->calls ? NULL : c->finish; /* the chunk of the calls follows */
    json_t *words = tsri_cli_json_text(text, n);
    if (!c->job->ask.chat)
        return chunk(c->job, json_pack("{s:i,s:o,s:o?,s:s?}", "index", (int)c->index, "text", words,
                                       "logprobs", logprobs, "finish_reason", finish));
    json_t *delta = n ? json_pack("{s:o}", "content", words) : json_object();
    if (!n)
        json_decref(words);
    return chunk(c->job, json_pack("{s:i,s:o,s:o?,s:s?}", "index", (int)c->index, "delta", delta,
                                   "logprobs", logprobs, "finish_reason", finish));
}

json_t *tsri_serve_reasoning_chunk(const tsri_serve_choice *c, const char *text, size_t n,
                                   json_t *logprobs) {
    return chunk(c->job, json_pack("{s:i,s:{s:o},s:o?,s:n}", "index", (int)c->index, "delta",
                                   "reasoning_content", tsri_cli_json_text(text, n), "logprobs",
                                   logprobs, "finish_reason"));
}

json_t *tsri_serve_calls_chunk(const tsri_serve_choice *c) {
    json_t *delta = json_pack("{s:O}", "tool_calls", c->calls);
    return chunk(c->job, json_pack("{s:i,s:o,s:n,s:s?}", "index", (int)c->index, "delta", delta,
                                   "logprobs", "finish_reason", c->finish));
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

static json_t *whole_choice(const tsri_serve_choice *c, size_t index) {
    const bool none = !c->content && (c->calls || c->job->ask.must_call);
    json_t *words = none ? json_null()
                         : tsri_cli_json_text(c->text.data ? c->text.data : "", c->content),
           *logprobs = c->logprobs ? json_incref(c->logprobs) : NULL;
    if (c->calls)
        words = json_pack("{s:s,s:o,s:n,s:O}", "role", "assistant", "content", words, "refusal",
                          "tool_calls", c->calls);
    else if (c->job->ask.chat)
        words = json_pack("{s:s,s:o,s:n}", "role", "assistant", "content", words, "refusal");
    if (c->reasoning.size)
        json_object_set_new(words, "reasoning_content",
                            tsri_cli_json_text(c->reasoning.data, c->reasoning.size));
    return json_pack("{s:I,s:o,s:o?,s:s?}", "index", (json_int_t)index,
                     c->job->ask.chat ? "message" : "text", words, "logprobs", logprobs,
                     "finish_reason", c->finish);
}

/* The likeliest answer of a prompt that was not taken yet, by the mean over its tokens; of equal ones,
 * the first. */
static tsri_serve_choice *take_best(tsri_serve_choice *of_prompt, int64_t n) {
    tsri_serve_choice *best = NULL;
    for (tsri_serve_choice *c = of_prompt; c < of_prompt + n; c++)
        if (!c->given &&
            (!best || c->logprob * (double)best->tokens > best->logprob * (double)c->tokens))
            best = c;
    best->given = true;
    return best;
}

json_t *tsri_serve_whole(tsri_serve_job *job) {
    json_t *choices = json_array();
    const tsri_serve_ask *ask = &job->ask;
    bool lost = false;
    for (uint32_t first = 0; first < job->n; first += (uint32_t)ask->best_of)
        for (int64_t i = 0; i < ask->n; i++) {
            tsri_serve_choice *c = &job->choices[first + i];
            if (ask->best_of > ask->n)
                c = take_best(&job->choices[first], ask->best_of);
            lost |= json_array_append_new(choices, whole_choice(c, json_array_size(choices))) != 0;
        }
    if (lost) {
        json_decref(choices);
        return NULL;
    }
    json_t *json = frame(job, job->ask.chat ? "chat.completion" : "text_completion", choices);
    json_object_set_new(json, "usage", usage(job));
    return json;
}
