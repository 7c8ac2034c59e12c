/* cli/serve/attention.c - POST /attention: which tokens of a text the model attends to, as the page draws it. */
#include "cli/serve/attention.h"

#include "base/system/system.h"
#include "cli/serve/choose.h"
#include "cli/serve/errands.h"
#include "cli/serve/messages.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_TOKENS = 512,     /* of a text: a piece of a prompt is as long */
    MOST_SHARES = 64 << 20 /* of all layers and heads; 256 MiB */
};

struct tsri_serve_look {
    tsri_serve_errand errand;
    int32_t *ids;
    char *messages;
    const char *text; /* of the body */
    size_t text_size;
    tsri_serve_model *model;
    tsr_chat_options chat;
    tsr_attention_options options; /* points into this */
    /* while its numbers are packed */
    tsr_attention *found;
    pthread_t thread;
    bool packed; /* the server's lock guards it */
};

static void clear(tsri_serve_errand *errand) {
    tsri_serve_look *w = (tsri_serve_look *)errand;
    tsr_attention_destroy(&w->found);
    free(w->ids);
    free(w->messages);
}

/* ---- the fields ---- */

static json_t *given(const json_t *body, const char *key) {
    json_t *value = json_object_get(body, key);
    return json_is_null(value) ? NULL : value;
}

/* [2, 5] is four of them, counted from 0. */
static bool take_range(const json_t *body, const char *key, int32_t *first, int32_t *count,
                       tsri_serve_failure *f) {
    const json_t *value = given(body, key), *from = json_array_get(value, 0),
                 *to = json_array_get(value, 1);
    const json_int_t a = json_integer_value(from), b = json_integer_value(to);
    if (!value)
        return true;
    if (json_array_size(value) != 2 || !json_is_integer(from) || !json_is_integer(to) || a < 0 ||
        b < a || b >= INT32_MAX)
        return tsri_serve_fail(
            f, 400, key, "%s: a list of the first and the last one is wanted, counted from 0", key);
    *first = (int32_t)a;
    *count = (int32_t)(b - a + 1);
    return true;
}

static bool take_messages(tsri_serve_look *w, json_t *messages, tsri_serve_failure *f) {
    if (w->model->use != TSRI_SERVE_TEXT || !w->model->chats)
        return tsri_serve_fail(f, 400, "messages",
                               "messages: the model \"%s\" has no chat template: give \"content\"",
                               w->model->name);
    if (!tsri_serve_plain_messages(w->model, messages, f))
        return false;
    w->messages = json_dumps(messages, JSON_COMPACT);
    w->chat =
        (tsr_chat_options){.struct_size = sizeof w->chat, .template_text = w->model->template_text};
    w->options.messages = w->messages;
    w->options.chat = &w->chat;
    return w->messages || tsri_serve_fail(f, 503, NULL, "out of memory");
}

static bool take_text(tsri_serve_look *w, tsri_serve_failure *f) {
    json_t *content = given(w->errand.body, "content"), *tokens = given(w->errand.body, "tokens"),
           *messages = given(w->errand.body, "messages");
    if (!content + !tokens + !messages != 2)
        return tsri_serve_fail(f, 400, "content",
                               "one of content, tokens and messages is wanted, and no other of "
                               "them");
    if (messages)
        return take_messages(w, messages, f);
    if (tokens) {
        int32_t *ids;
        if (!tsri_serve_ids(tokens, "tokens", "a list of token ids", &ids, &w->options.n_ids, f))
            return false;
        w->options.ids = w->ids = ids;
        return true;
    }
    if (!json_is_string(content))
        return tsri_serve_fail(f, 400, "content", "content: a text is wanted");
    w->text = json_string_value(content);
    w->text_size = json_string_length(content);
    return true;
}

/* The shares of all layers and heads have to fit into memory. */
static bool bound_tokens(tsri_serve_look *w, tsri_serve_failure *f) {
    const int64_t bound = w->errand.x->server->limits.prompt_tokens;
    tsr_model_info info = {.struct_size = sizeof info};
    const tsr_status status = tsr_model_info_get(w->model->model, &info);
    if (status != TSR_OK)
        return tsri_serve_fail_status(f, status, NULL);
    int64_t most = bound && bound < MOST_TOKENS ? bound : MOST_TOKENS;
    while (most > 1 && most * most * info.layers * info.heads > MOST_SHARES)
        most--;
    w->options.most_tokens = most;
    return true;
}

static bool read_body(tsri_serve_look *w, tsri_serve_failure *f) {
    static const char *const known[] = {"model",  "content", "tokens", "messages",
                                        "layers", "heads",   "user"};
    tsr_attention_options *o = &w->options;
    o->struct_size = sizeof *o;
    w->model = tsri_serve_choose(w->errand.x, w->errand.body, TSRI_SERVE_ANYTHING, f);
    return w->model && tsri_serve_only(w->errand.body, known, sizeof known / sizeof *known, f) &&
           take_range(w->errand.body, "layers", &o->first_layer, &o->layers, f) &&
           take_range(w->errand.body, "heads", &o->first_head, &o->heads, f) && take_text(w, f) &&
           bound_tokens(w, f);
}

void tsri_serve_attention(tsri_serve_exchange *x) {
    tsri_serve_failure f = {.status = 503, .message = "out of memory"};
    tsri_serve_look *w = (tsri_serve_look *)tsri_serve_errand_create(x, sizeof *w, clear);
    if (!w)
        return;
    if (read_body(w, &f))
        tsri_serve_errand_append(&x->server->looks, &w->errand);
    else
        tsri_serve_errand_fail(&w->errand, &f);
}

/* ---- from a request to its answer ---- */

/* In a thread of its own. Only its last lines touch what the engine reads. */
static void *pack(void *data) {
    tsri_serve_look *w = data;
    tsri_serve_server *s = w->errand.x->server;
    tsri_serve_failure f;
    char *text = NULL;
    size_t n = 0;
    const tsr_status status = tsr_attention_json(w->found, &text, &n);
    tsri_serve_errand_stops(&w->errand);
    if (status == TSR_OK) {
        tsri_serve_answer_text(w->errand.x, 200, text, n);
    } else {
        tsri_serve_fail_status(&f, status, "layers"); /* it is too large */
        tsri_serve_answer_failure(w->errand.x, &f);
    }
    tsr_text_free(text);
    pthread_mutex_lock(&s->lock);
    w->packed = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static bool ends_behind(int32_t first, int32_t count, int64_t all) {
    return first >= all || count > all - first;
}

/* The field for which the library refuses a request. */
static const char *at_fault(const tsri_serve_look *w) {
    const tsr_attention_options *o = &w->options;
    tsr_model_info info = {.struct_size = sizeof info};
    (void)tsr_model_info_get(w->model->model, &info);
    const int64_t layers = info.layers > info.encoder_layers ? info.layers : info.encoder_layers;
    return ends_behind(o->first_layer, o->layers, layers)     ? "layers"
           : ends_behind(o->first_head, o->heads, info.heads) ? "heads"
           : o->messages                                      ? "messages"
           : o->ids                                           ? "tokens"
                                                              : "content";
}

static void run(tsri_serve_look *w) {
    tsri_serve_failure f;
    tsr_attention_map map = {.struct_size = sizeof map};
    const tsr_status status =
        tsr_attention_create(w->model->model, w->text, w->text_size, &w->options, &w->found);
    if (status != TSR_OK) {
        tsri_serve_fail_status(&f, status, at_fault(w));
        tsri_serve_errand_fail(&w->errand, &f);
        return;
    }
    if (tsr_attention_map_get(w->found, 0, &map) == TSR_OK)
        w->errand.x->record.prompt_tokens = (uint64_t)map.T;
    if (!tsri_system_thread(&w->thread, pack, w)) {
        w->errand.x->server->packing = w;
        return;
    }
    tsri_serve_fail(&f, 503, NULL, "a thread can't be started");
    tsri_serve_errand_fail(&w->errand, &f);
}

bool tsri_serve_attention_waits(const tsri_serve_server *s) {
    return s->packing ? s->packing->packed : s->looks != NULL;
}

static void end_packed(tsri_serve_server *s) {
    pthread_join(s->packing->thread, NULL);
    tsri_serve_errand_end(&s->packing->errand);
    s->packing = NULL;
}

void tsri_serve_attention_step(tsri_serve_server *s) {
    pthread_mutex_lock(&s->lock);
    const bool waits = tsri_serve_attention_waits(s);
    pthread_mutex_unlock(&s->lock);
    if (!waits)
        return;
    if (s->packing)
        end_packed(s);
    tsri_serve_look *w = (tsri_serve_look *)s->looks;
    if (!w)
        return;
    tsri_serve_errand_take_out(&s->looks, &w->errand);
    run(w);
}

void tsri_serve_attention_end(tsri_serve_server *s) {
    if (s->packing)
        end_packed(s);
}
