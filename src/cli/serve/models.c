/* cli/serve/models.c - opens the models of a server. */
#include "cli/serve/models.h"
#include "cli/serve/call_form.h"
#include "cli/serve/embedders.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 4096 };

/* ---- names ---- */

static void cut_ending(char *name) {
    char *dot = strrchr(name, '.');
    if (dot && dot != name && !strcmp(dot, ".gguf"))
        *dot = 0;
}

/* The last part of a path, without the ending of a file; for "." and "..", that of the folder they stand for. */
static void name_of(const char *path, char *out, size_t room) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t begin = n;
    while (begin && path[begin - 1] != '/')
        begin--;
    snprintf(out, room, "%.*s", (int)(n - begin), path + begin);
    if (!strcmp(out, ".") || !strcmp(out, "..")) {
        char *folder = realpath(path, NULL);
        if (folder)
            name_of(folder, out, room);
        free(folder);
    }
    cut_ending(out);
}

/* Names a model to which -m gives no name: by its task, its last adapter, or by what MODEL says, which a cache has in a
 * folder or file that is named by a hash. found: the path of its files. */
static void name_model(tsri_serve_model *m, const char *found) {
    const tsri_serve_given *given = &m->given;
    const size_t n = given->adapters.n;
    if (given->task) {
        snprintf(m->name, sizeof m->name, "%s", given->task);
    } else if (n) {
        name_of(given->adapters.items[n - 1], m->name, sizeof m->name);
    } else if (given->model && !given->is_path) {
        snprintf(m->name, sizeof m->name, "%s", given->model);
        cut_ending(m->name);
    } else {
        name_of(given->model ? given->model : found, m->name, sizeof m->name);
    }
}

static int check_name(const tsri_serve_server *s, const tsri_serve_model *m) {
    json_t *text = json_string(m->name); /* NULL: JSON can't have it */
    json_decref(text);
    if (!text)
        return tsri_cli_fail(CLI_USAGE,
                             "the name \"%s\" of a model is not UTF-8, so no client can send it: "
                             "give the model another one, as in -m NAME=MODEL",
                             m->name);
    for (size_t i = 0; i < s->n_models; i++)
        if (&s->models[i] != m && !strcmp(s->models[i].name, m->name))
            return tsri_cli_fail(CLI_USAGE,
                                 "two models have the name \"%s\": give each its own, as in "
                                 "-m NAME=MODEL",
                                 m->name);
    return CLI_OK;
}

/* ---- what a model does ---- */

/* A first request, so that the kernels are built and the memory is there before clients come. *counts: what it took,
 * which is nobody's. */
static int warm_up(tsr_scheduler *scheduler, tsr_scheduler_counts *counts) {
    static const int32_t ids[3] = {0, 1, 2};
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .ids = ids, .n_ids = 3};
    const tsr_generate_options options = {.struct_size = sizeof options,
                                          .max_new_tokens = 2,
                                          .ignore_eos = 1,
                                          .temperature = 1,
                                          .top_k = 1,
                                          .top_p = 1,
                                          .repeat_penalty = 1};
    const tsr_request request = {
        .struct_size = sizeof request, .prompt = &prompt, .options = &options};
    *counts = (tsr_scheduler_counts){.struct_size = sizeof *counts, .running = 1};
    uint64_t id;
    tsr_status status = tsr_scheduler_add(scheduler, &request, &id);
    while (status == TSR_OK && (counts->running || counts->waiting)) {
        status = tsr_scheduler_step(scheduler, NULL, NULL);
        if (status == TSR_OK)
            status = tsr_scheduler_count(scheduler, counts);
    }
    return tsri_cli_status(status);
}

static int make_scheduler(const tsri_serve_server *s, tsri_serve_model *m, int64_t reads) {
    const int64_t asked = s->app->context ? s->app->context : CONTEXT;
    const tsr_scheduler_options options = {.struct_size = sizeof options,
                                           .slots = (uint32_t)s->limits.slots,
                                           .context = asked < reads ? asked : reads,
                                           .step_tokens = s->limits.step_tokens,
                                           .kv_tokens = s->limits.kv_tokens};
    const int code = tsri_cli_status(tsr_scheduler_create(m->model, &options, &m->scheduler));
    return code == CLI_OK ? warm_up(m->scheduler, &m->metrics.own) : code;
}

/* An encoder with a single label ranks, and so does a decoder where --rank says it; else a decoder writes,
 * and an encoder gives vectors. A bare decoder was opened as one, and with --pooling any. */
static tsri_serve_use use_of(const tsri_serve_server *s, const tsr_model_info *info) {
    const bool text = strcmp(info->kind, "encoder") != 0 && !s->limits.pooling;
    return info->labels == 1 || (text && s->limits.rank) ? TSRI_SERVE_RANKS
           : text                                        ? TSRI_SERVE_TEXT
                                                         : TSRI_SERVE_VECTORS;
}

static int prepare(const tsri_serve_server *s, tsri_serve_model *m) {
    tsr_model_info info = {.struct_size = sizeof info};
    const int code = tsri_cli_status(tsr_model_info_get(m->model, &info));
    if (code != CLI_OK)
        return code;
    if (!*m->name)
        name_model(m, info.path);
    m->use = use_of(s, &info);
    switch (m->use) {
    case TSRI_SERVE_TEXT:
        return make_scheduler(s, m, info.context);
    case TSRI_SERVE_RANKS:
        return tsri_cli_status(tsr_ranker_create(m->model, NULL, &m->ranker));
    default:
        return tsri_cli_status(tsri_serve_embedders_begin(s, m));
    }
}

static bool has_template(const tsr_model *model) {
    char *text = NULL;
    const bool has = tsr_chat_template_of(model, &text, NULL) == TSR_OK && text;
    tsr_text_free(text);
    return has;
}

/* ---- from start to end ---- */

/* The adapters of --lora belong to the first model, too. */
static int read_given(tsri_serve_server *s, const char *text, const char *alias,
                      tsri_serve_model *m) {
    int code = tsri_serve_given_read(text, &m->given);
    const char *name = alias ? alias : m->given.name;
    snprintf(m->name, sizeof m->name, "%s", name ? name : "");
    for (size_t i = 0; m == s->models && i < m->given.adapters.n && code == CLI_OK; i++)
        code = tsri_cli_append(&s->app->loras, m->given.adapters.items[i]);
    return code;
}

static int settings_of(const tsri_serve_server *s, const tsri_serve_model *m,
                       tsr_model_options *options) {
    const int code = tsri_cli_model_settings(s->app, options);
    options->context = m->context;
    options->task = m->given.task;
    if (m != s->models) {
        options->lora = m->given.adapters.items;
        options->n_lora = (uint32_t)m->given.adapters.n;
    }
    return code;
}

/* -c is for models that write: each gets as much of it as it reads. Its files say what a model does, before the
 * device has any of it. *most: what those that write read. */
static int bound_context(const tsri_serve_server *s, tsri_serve_model *m, int64_t *most) {
    tsr_model_options options;
    tsr_model *files = NULL;
    tsr_model_info info = {.struct_size = sizeof info};
    int code = settings_of(s, m, &options);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_open(m->given.model, NULL, &options, &files));
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_model_info_get(files, &info));
    if (code == CLI_OK && use_of(s, &info) == TSRI_SERVE_TEXT) {
        m->context = s->app->context < info.context ? s->app->context : info.context;
        *most = info.context > *most ? info.context : *most;
    }
    tsr_model_close(&files);
    return code;
}

static int bound_contexts(tsri_serve_server *s) {
    const int64_t asked = s->app->context;
    int64_t most = 0;
    int code = CLI_OK;
    for (size_t i = 0; asked && i < s->n_models && code == CLI_OK; i++)
        code = bound_context(s, &s->models[i], &most);
    return code != CLI_OK || !most || asked <= most
               ? code
               : tsri_cli_fail(CLI_USAGE,
                               "a context of %lld tokens was asked for (-c); the models that write "
                               "text read at most %lld",
                               (long long)asked, (long long)most);
}

/* The first model before `m` of the same files. */
static const tsr_model *base_of(const tsri_serve_server *s, const tsri_serve_model *m) {
    for (const tsri_serve_model *other = s->models; other < m; other++)
        if (other->given.model && m->given.model && !strcmp(other->given.model, m->given.model))
            return other->model;
    return NULL;
}

/* The first model is the command's own, which closes it. */
static int open_model(tsri_serve_server *s, tsri_serve_model *m) {
    tsr_model_options options;
    int code = settings_of(s, m, &options);
    if (code == CLI_OK)
        code = tsri_cli_open_device(s->app);
    if (code != CLI_OK)
        return code;
    options.base = base_of(s, m);
    const tsr_status status = tsr_model_open(m->given.model, s->app->device, &options, &m->model);
    tsri_cli_clear_progress(s->app);
    if (m == s->models)
        s->app->model = m->model;
    return tsri_cli_run_status(status);
}

int tsri_serve_open_models(tsri_serve_server *s, const tsri_cli_list *given, const char *first_name,
                           const char *template_text) {
    const size_t n = given->n ? given->n : 1;
    s->app->vectors = s->limits.pooling ? 1 : 2;
    s->models = calloc(n, sizeof *s->models);
    if (!s->models)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    int code = CLI_OK;
    for (size_t i = 0; i < n && code == CLI_OK; i++)
        code = read_given(s, given->n ? given->items[i] : NULL, i ? NULL : first_name,
                          &s->models[s->n_models++]);
    if (code == CLI_OK)
        code = bound_contexts(s);
    for (size_t i = 0; i < n && code == CLI_OK; i++) {
        tsri_serve_model *m = &s->models[i];
        code = open_model(s, m);
        if (code == CLI_OK)
            code = prepare(s, m);
        if (code == CLI_OK)
            code = check_name(s, m);
        if (code == CLI_OK && m->use == TSRI_SERVE_TEXT) {
            m->template_text = template_text;
            template_text = NULL; /* it is the first one's */
            m->chats = m->template_text || has_template(m->model);
        }
    }
    return code;
}

void tsri_serve_close_models(tsri_serve_server *s) {
    /* a model is closed before the one whose weights it shares */
    for (size_t i = s->n_models; i-- > 0;) {
        tsri_serve_model *m = &s->models[i];
        tsr_scheduler_destroy(&m->scheduler);
        tsri_serve_embedders_end(m);
        tsr_ranker_destroy(&m->ranker);
        tsri_serve_call_form_free(m->call_form);
        if (i)
            tsr_model_close(&m->model);
        tsri_serve_given_free(&m->given);
    }
    free(s->models);
    s->models = NULL;
    s->n_models = 0;
}
