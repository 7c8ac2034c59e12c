/* Requests to tessera serve: a body, as JSON of a chat or a completion, and what a model answers to it; a body as a
 * request for ranks or attention. */
#include "fuzz.h"

#include "cli/serve/calls.h"
#include "cli/serve/choose.h"
#include "cli/serve/errands.h"
#include "cli/serve/messages.h"
#include "cli/serve/parse.h"
#include "text/base/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Templates that write calls between tags, as JSON alone, and not at all. */
#define TEMPLATE(answer)                                                                           \
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}" answer \
    "{% endfor %}\n{% endfor %}"
static const char *const templates[] = {
    TEMPLATE("<tool_call>\n{\"name\": \"{{ c.function.name }}\", \"arguments\": "
             "{{ c.function.arguments | tojson }}}\n</tool_call>"),
    TEMPLATE("{\"name\": \"{{ c.function.name }}\", \"parameters\": "
             "{{ c.function.arguments | tojson }}}"),
    TEMPLATE("")};
enum { MODELS = sizeof templates / sizeof *templates };
static tsri_serve_model models[MODELS], ranks;

/* Of the command, which prints JSON; nothing here is printed. */
bool tsri_cli_write(tsri_cli_app *app, const void *data, size_t n) {
    (void)app;
    (void)data;
    (void)n;
    return false;
}

void tsri_cli_lost(tsri_cli_app *app) {
    (void)app;
}

/* Of the command, where it is the time; here a request without a seed has always the same. */
uint64_t tsri_cli_now_ns(void) {
    return 1;
}

static void begin(void) {
    static const char path[] = TESSERA_SOURCE_DIR "/models/shakespeare";
    tsr_model *model = NULL;
    fuzz_must(tsr_model_open(path, NULL, NULL, &model) == TSR_OK, path);
    for (size_t i = 0; i < MODELS; i++)
        models[i] = (tsri_serve_model){
            .use = TSRI_SERVE_TEXT, .model = model, .template_text = templates[i], .chats = true};
    strcpy(models[0].name, "shakespeare");
    ranks = (tsri_serve_model){.use = TSRI_SERVE_RANKS, .model = model};
}

/* A failure is the request's: it has a sentence, which can be sent, and is not the server's fault. */
static bool is_ok(bool fine, const tsri_serve_failure *f) {
    if (fine)
        return true;
    fuzz_must(f->status == 400 || f->status == 404, "no body is an internal failure");
    fuzz_must(*f->message, "a failure has a message");
    json_t *json = tsri_serve_failure_json(f);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    fuzz_must(text, "a failure can be sent");
    free(text);
    json_decref(json);
    return false;
}

/* Of the server, which sends answers. */
void tsri_serve_answer_failure(tsri_serve_exchange *x, const tsri_serve_failure *f) {
    (void)x;
    (void)is_ok(false, f);
}

void tsri_serve_answer(tsri_serve_exchange *x, unsigned status, json_t *json) {
    (void)x;
    (void)status;
    json_decref(json);
}

void tsri_serve_answer_text(tsri_serve_exchange *x, unsigned status, const char *text, size_t n) {
    (void)x;
    (void)status;
    (void)text;
    (void)n;
}

void tsri_serve_give_back(tsri_serve_exchange *x) {
    (void)x;
}

void tsri_serve_waits_no_more(tsri_serve_exchange *x) {
    (void)x;
}

json_t *tsri_serve_body(tsri_serve_exchange *x) {
    tsri_serve_failure f = {0};
    json_t *body = tsri_serve_parse(x->body.data ? x->body.data : "", x->body.size, &f);
    if (!body)
        tsri_serve_answer_failure(x, &f);
    return body;
}

static void check_ask(const tsri_serve_ask *ask) {
    const tsr_generate_options *o = &ask->options;
    fuzz_must(ask->n >= 1 && ask->n <= ask->best_of && ask->best_of <= TSRI_SERVE_CHOICES,
              "as many answers as are written for a request");
    fuzz_must(o->n_stop <= TSRI_SERVE_STOPS && o->n_logit_bias <= TSRI_SERVE_BIASES &&
                  o->logprobs <= TSRI_SERVE_TOP,
              "lists have room");
    fuzz_must(o->max_new_tokens >= -1 && o->min_new_tokens >= 0 && o->top_k >= 0 &&
                  o->temperature >= 0 && o->top_p > 0 && o->top_p <= 1 && o->repeat_penalty > 0,
              "numbers are in their range");
    fuzz_must(!o->grammar || !o->json_schema, "an answer has one form");
    fuzz_must(!o->grammar || tsr_grammar_check(o->grammar) == TSR_OK, "a grammar is one");
    fuzz_must(!o->json_schema || tsr_json_schema_check(o->json_schema) == TSR_OK,
              "a schema is one");
    fuzz_must(!ask->calls || ask->call_form || ask->channels, "calls have a form");
}

/* Messages can be written by the template, or it says why not. */
static void write_messages(const tsri_serve_model *m, const tsri_serve_ask *ask,
                           const json_t *messages) {
    const tsr_chat_options chat = {.struct_size = sizeof chat,
                                   .template_text = m->template_text,
                                   .tools = ask->tools_text,
                                   .template_kwargs = ask->variables};
    tsr_chat_prompt *written = NULL;
    char *text = json_dumps(messages, JSON_COMPACT);
    fuzz_must(text, "messages are JSON");
    (void)fuzz_is_ok(tsr_chat_prompt_create(m->model, &chat, text, &written));
    tsr_chat_prompt_destroy(&written);
    free(text);
}

/* Reads a text as an answer, token by token and at its end. */
static void read_answer(tsri_serve_job *job, const char *text, size_t n) {
    tsri_serve_choice c = {.job = job, .text = {.data = (char *)text}};
    size_t known = 0;
    for (; c.text.size <= n; c.text.size++) {
        const size_t content = tsri_serve_calls_content(&c);
        fuzz_must(content >= known && content <= c.text.size, "what was content stays it");
        known = content;
    }
    c.text.size = n;
    const bool whole = tsri_serve_calls_take(&c);
    fuzz_must(c.content >= known && c.content <= n, "content was not taken back");
    fuzz_must(!whole || json_array_size(c.calls), "there are calls");
    for (size_t i = 0; i < json_array_size(c.calls); i++) {
        const json_t *function = json_object_get(json_array_get(c.calls, i), "function");
        fuzz_must(json_is_string(json_object_get(function, "name")) &&
                      json_is_string(json_object_get(function, "arguments")),
                  "a call has a name and arguments");
    }
    json_decref(c.calls);
}

static void read_as(tsri_serve_model *m, const fuzz_part *parts, size_t n) {
    enum { MOST_ANSWER = 512 };
    tsri_serve_server server = {.models = m, .n_models = 1};
    tsri_serve_exchange x = {.server = &server};
    tsri_serve_job job = {.x = &x, .id = "id"};
    tsri_serve_failure f = {0};
    int32_t *ids = NULL;
    size_t n_ids = 0;
    json_t *body = tsri_serve_parse(parts[0].data, parts[0].size, &f),
           *messages = json_object_get(body, "messages");
    bool fine = is_ok(body, &f) && is_ok(tsri_serve_choose(&x, body, TSRI_SERVE_TEXT, &f), &f);
    if (fine && is_ok(tsri_serve_ids(json_object_get(body, "prompt"), "prompt", "a list of ids",
                                     &ids, &n_ids, &f),
                      &f))
        free(ids);
    fine = fine && is_ok(tsri_serve_ask_read(m, body, messages != NULL, &job.ask, &f), &f);
    if (fine)
        check_ask(&job.ask);
    if (fine && messages && is_ok(tsri_serve_plain_messages(m, messages, &f), &f))
        write_messages(m, &job.ask, messages);
    if (fine && job.ask.calls && n > 1 && parts[1].size <= MOST_ANSWER &&
        tsri_text_utf8_valid(parts[1].data, parts[1].size))
        read_answer(&job, parts[1].data, parts[1].size);
    tsri_serve_ask_clear(&job.ask);
    json_decref(body);
}

/* Reads a body as a request that the engine runs by itself; it is not run. */
static void read_errand(tsri_serve_handler *handle, tsri_serve_model *m, const fuzz_part *body) {
    tsri_serve_server server = {.models = m, .n_models = 1};
    tsri_serve_exchange x = {
        .server = &server, .model = m, .body = {.data = (char *)body->data, .size = body->size}};
    pthread_mutex_init(&server.lock, NULL);
    handle(&x);
    tsri_serve_errands_drop(&server, &server.texts, true);
    tsri_serve_errands_drop(&server, &server.looks, true);
    fuzz_must(!m->metrics.errands.waiting && !m->metrics.errands.running, "all are counted");
    pthread_mutex_destroy(&server.lock);
}

static void request(const fuzz_part *parts, size_t n) {
    for (size_t i = 0; i < MODELS; i++)
        read_as(&models[i], parts, n);
    read_errand(tsri_serve_rerank, &ranks, &parts[0]);
    read_errand(tsri_serve_attention, &models[0], &parts[0]);
}

const fuzz_target fuzz_serve_targets[] = {{"request", begin, request, 2}, {0}};
