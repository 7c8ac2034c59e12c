/* cli/serve/choose.c - the model that a request names. */
#include "cli/serve/choose.h"

#include <string.h>

static const char *const does[] = {[TSRI_SERVE_ANYTHING] = "",
                                   [TSRI_SERVE_TEXT] = "writes text",
                                   [TSRI_SERVE_VECTORS] = "gives vectors",
                                   [TSRI_SERVE_RANKS] = "ranks documents"};

static bool serves(const tsri_serve_model *m, tsri_serve_use use) {
    return use == TSRI_SERVE_ANYTHING || m->use == use;
}

/* chat: one that chats goes before those that don't. */
static tsri_serve_model *first_for(tsri_serve_server *s, tsri_serve_use use, bool chat,
                                   tsri_serve_failure *f) {
    tsri_serve_model *first = NULL;
    for (size_t i = 0; i < s->n_models; i++) {
        tsri_serve_model *m = &s->models[i];
        if (serves(m, use) && (!first || (chat && m->chats && !first->chats)))
            first = m;
    }
    if (first)
        return first;
    tsri_serve_fail(f, 404, "model",
                    "no model here %s (\"%s\" %s): start the server with one that does, too (-m)",
                    does[use], s->models->name, does[s->models->use]);
    return NULL;
}

/* NULL: it isn't a string, or has a byte 0, which no name has. */
static const char *name_in(const json_t *value) {
    const char *name = json_string_value(value);
    return name && strlen(name) == json_string_length(value) ? name : NULL;
}

static tsri_serve_model *choose(tsri_serve_server *s, const json_t *body, tsri_serve_use use,
                                tsri_serve_failure *f) {
    const json_t *value = json_object_get(body, "model"),
                 *messages = json_object_get(body, "messages");
    const char *name = name_in(value);
    if (!value || json_is_null(value))
        return first_for(s, use, messages && !json_is_null(messages), f);
    for (size_t i = 0; name && i < s->n_models; i++) {
        tsri_serve_model *m = &s->models[i];
        if (strcmp(m->name, name))
            continue;
        if (serves(m, use))
            return m;
        tsri_serve_fail(f, 404, "model", "the model \"%s\" %s; one that %s is wanted here", name,
                        does[m->use], does[use]);
        return NULL;
    }
    if (name)
        tsri_serve_fail(f, 404, "model",
                        "the model \"%.200s\" is not served here: GET /v1/models lists those that "
                        "are, \"%s\" is the first",
                        name, s->models->name);
    else
        tsri_serve_fail(f, 400, "model", "model: the name of a model is wanted");
    return NULL;
}

/* The model of the same files as m that was opened for the task that the request names; m where it names none. */
static tsri_serve_model *for_task(tsri_serve_server *s, tsri_serve_model *m, const json_t *body,
                                  tsri_serve_failure *f) {
    const json_t *value = json_object_get(body, "task");
    const char *task = name_in(value), *path = m->given.model;
    if (!value || json_is_null(value))
        return m;
    for (size_t i = 0; task && path && i < s->n_models; i++) {
        const tsri_serve_given *given = &s->models[i].given;
        if (given->task && !strcmp(given->task, task) && !strcmp(given->model, path))
            return &s->models[i];
    }
    if (task)
        tsri_serve_fail(f, 400, "task",
                        "task: the model \"%s\" is not served here with its adapter for "
                        "\"%.200s\": start the server with -m MODEL+task:%.200s, too",
                        m->name, task, task);
    else
        tsri_serve_fail(f, 400, "task", "task: the name of a task is wanted");
    return NULL;
}

tsri_serve_model *tsri_serve_choose(tsri_serve_exchange *x, const json_t *body, tsri_serve_use use,
                                    tsri_serve_failure *f) {
    tsri_serve_model *m = choose(x->server, body, use, f);
    if (m && use == TSRI_SERVE_VECTORS)
        m = for_task(x->server, m, body, f);
    if (m) {
        x->model = m;
        x->record.model = m->name;
    }
    return m;
}
