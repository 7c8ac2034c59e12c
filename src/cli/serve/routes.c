/* cli/serve/routes.c - the addresses that are served, and those among them that need no device. */
#include "cli/serve/choose.h"
#include "cli/serve/fields.h"
#include "cli/serve/log.h"
#include "cli/serve/metrics.h"
#include "cli/serve/page.h"
#include "cli/serve/parse.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static tsri_serve_handler page, description, health, models, one_model, metrics, tokenize,
    detokenize;

static const tsri_serve_route routes[] = {
    {"POST", "/v1/chat/completions", tsri_serve_chat, true, false, NULL},
    {"POST", "/v1/completions", tsri_serve_completions, true, false, NULL},
    {"POST", "/v1/embeddings", tsri_serve_embeddings, true, false, NULL},
    {"POST", "/v1/rerank", tsri_serve_rerank, true, false, NULL},
    {"POST", "/v2/rerank", tsri_serve_rerank, true, false, NULL},
    {"POST", "/rerank", tsri_serve_rerank, true, false, NULL},
    {"POST", "/attention", tsri_serve_attention, true, false, NULL},
    {"POST", "/tokenize", tokenize, false, false, NULL},
    {"POST", "/detokenize", detokenize, false, false, NULL},
    {"GET", "/v1/models", models, false, false, NULL},
    {"GET", "/v1/models/:model", one_model, false, false, NULL},
    {"GET", "/metrics", metrics, false, false, "text/plain; version=0.0.4; charset=utf-8"},
    {"GET", "/health", health, false, true, NULL},
    {"GET", "/openapi.json", description, false, true, NULL},
    {"GET", "/", page, false, true, "text/html; charset=utf-8"},
};

static bool fits(const char *of_route, const char *path) {
    const size_t n = strcspn(of_route, ":");
    return of_route[n] ? !strncmp(of_route, path, n) && path[n] : !strcmp(of_route, path);
}

/* Each path has one method. */
const tsri_serve_route *tsri_serve_find_route(const char *method, const char *path,
                                              const char **methods) {
    *methods = NULL;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!fits(routes[i].path, path))
            continue;
        const bool get = !strcmp(routes[i].method, "GET");
        *methods = get ? "GET, HEAD" : routes[i].method;
        if (!strcmp(routes[i].method, method) || (get && !strcmp(method, "HEAD")))
            return &routes[i];
    }
    return NULL;
}

json_t *tsri_serve_body(tsri_serve_exchange *x) {
    tsri_serve_failure f;
    json_t *body = tsri_serve_parse(x->body.data ? x->body.data : "", x->body.size, &f);
    tsri_serve_clear(&x->body);
    if (body)
        tsri_serve_log_body(x, body);
    else
        tsri_serve_answer_failure(x, &f);
    return body;
}

static void answer_page(tsri_serve_exchange *x, int which) {
    tsri_serve_answer_text(x, 200, tsri_serve_pages[which].text, tsri_serve_pages[which].size);
}

static void page(tsri_serve_exchange *x) {
    answer_page(x, TSRI_SERVE_PAGE);
}

static void description(tsri_serve_exchange *x) {
    answer_page(x, TSRI_SERVE_DESCRIPTION);
}

static void health(tsri_serve_exchange *x) {
    pthread_mutex_lock(&x->server->lock);
    const bool draining = x->server->draining;
    pthread_mutex_unlock(&x->server->lock);
    tsri_serve_answer(x, draining ? 503 : 200,
                      json_pack("{s:s}", "status", draining ? "ending" : "ok"));
}

static json_t *model_json(const tsri_serve_model *m) {
    static const char *const uses[] = {
        [TSRI_SERVE_TEXT] = "text", [TSRI_SERVE_VECTORS] = "vectors", [TSRI_SERVE_RANKS] = "ranks"};
    return json_pack("{s:s,s:s,s:I,s:s,s:s,s:b}", "id", m->name, "object", "model", "created",
                     (json_int_t)time(NULL), "owned_by", "tessera", "use", uses[m->use], "chat",
                     (int)m->chats);
}

static void models(tsri_serve_exchange *x) {
    const tsri_serve_server *s = x->server;
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_models; i++)
        json_array_append_new(list, model_json(&s->models[i]));
    tsri_serve_answer(x, 200, json_pack("{s:s,s:o}", "object", "list", "data", list));
}

static void one_model(tsri_serve_exchange *x) {
    tsri_serve_failure f;
    json_t *name = tsri_cli_json_string(x->path + strlen("/v1/models/")),
           *body = json_pack("{s:o}", "model", name);
    const tsri_serve_model *m = tsri_serve_choose(x, body, TSRI_SERVE_ANYTHING, &f);
    if (m)
        tsri_serve_answer(x, 200, model_json(m));
    else
        tsri_serve_answer_failure(x, &f);
    json_decref(body);
}

static void metrics(tsri_serve_exchange *x) {
    tsri_serve_buffer text = {0};
    pthread_mutex_lock(&x->server->lock);
    tsri_serve_metrics_write(x->server, &text);
    pthread_mutex_unlock(&x->server->lock);
    tsri_serve_answer_text(x, text.lost ? 503 : 200, text.data ? text.data : "", text.size);
    tsri_serve_clear(&text);
}

/* A flag of a body: true, false, or missing, as null is, too. */
static bool take_flag(const json_t *body, const char *key, bool *out, tsri_serve_failure *f) {
    const json_t *value = json_object_get(body, key);
    if (!value || json_is_null(value))
        return true;
    *out = json_is_true(value);
    return json_is_boolean(value) ||
           tsri_serve_fail(f, 400, key, "%s: true or false is wanted", key);
}

static bool encode(tsri_serve_exchange *x, const json_t *body, json_t *tokens,
                   tsri_serve_failure *f) {
    const json_t *text = json_object_get(body, "content");
    bool add = false, parse = true;
    int32_t *ids = NULL;
    size_t n = 0;
    static const char *const known[] = {"model", "content", "add_special", "parse_special"};
    const tsri_serve_model *m = tsri_serve_choose(x, body, TSRI_SERVE_ANYTHING, f);
    if (!m || !tsri_serve_only(body, known, sizeof known / sizeof *known, f))
        return false;
    if (!json_is_string(text))
        return tsri_serve_fail(f, 400, "content", "content: a text is wanted");
    if (!take_flag(body, "add_special", &add, f) || !take_flag(body, "parse_special", &parse, f))
        return false;
    const uint32_t flags =
        (add ? TSR_ENCODE_ADD_SPECIAL : 0u) | (parse ? TSR_ENCODE_PARSE_SPECIAL : 0u);
    const tsr_status status =
        tsr_encode(m->model, json_string_value(text), json_string_length(text), flags, &ids, &n);
    if (status != TSR_OK)
        return tsri_serve_fail_status(f, status, "content");
    for (size_t i = 0; i < n; i++)
        json_array_append_new(tokens, json_integer(ids[i]));
    tsr_ids_free(ids);
    return true;
}

static void tokenize(tsri_serve_exchange *x) {
    tsri_serve_failure f;
    json_t *body = tsri_serve_body(x), *tokens = json_array();
    if (body && encode(x, body, tokens, &f))
        tsri_serve_answer(x, 200, json_pack("{s:O}", "tokens", tokens));
    else if (body)
        tsri_serve_answer_failure(x, &f);
    json_decref(tokens);
    json_decref(body);
}

static bool decode(tsri_serve_exchange *x, const json_t *body, char **text, size_t *size,
                   tsri_serve_failure *f) {
    int32_t *ids;
    size_t n;
    static const char *const known[] = {"model", "tokens"};
    const tsri_serve_model *m = tsri_serve_choose(x, body, TSRI_SERVE_ANYTHING, f);
    if (!m || !tsri_serve_only(body, known, sizeof known / sizeof *known, f))
        return false;
    if (!tsri_serve_ids(json_object_get(body, "tokens"), "tokens", "a list of token ids", &ids, &n,
                        f))
        return false;
    const tsr_status status = tsr_decode(m->model, ids, n, 0, text, size);
    free(ids);
    return status == TSR_OK || tsri_serve_fail_status(f, status, "tokens");
}

static void detokenize(tsri_serve_exchange *x) {
    tsri_serve_failure f;
    json_t *body = tsri_serve_body(x);
    char *text = NULL;
    size_t n = 0;
    if (body && decode(x, body, &text, &n, &f))
        tsri_serve_answer(x, 200, json_pack("{s:s%}", "content", text, n));
    else if (body)
        tsri_serve_answer_failure(x, &f);
    tsr_text_free(text);
    json_decref(body);
}
