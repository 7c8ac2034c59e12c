/* cli/serve/serve.c - starts the parts of a server, waits for a signal, and ends them in order. */
#include "cli/serve/serve.h"

#include "cli/base/watch.h"
#include "cli/reading/input.h"
#include "cli/serve/metrics.h"
#include "cli/serve/server.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 50, FLUSH_MS = 2000, NAME = 256 };

typedef struct run {
    tsri_serve_server server;
    tsri_serve_metrics metrics;
    char name[NAME], embedding_name[NAME];
    char *keys_text, *certificate, *certificate_key, *template_text;
    pthread_t engine;
    bool locks, engine_runs;
} run;

/* ---- keys and names ---- */

/* Passes the bytes of a file on as they are: keys and certificates may have comments in any encoding. */
static int read_file(run *r, const char *path, char **out) {
    return tsri_cli_read_text(r->server.app, path, "utf-8", out);
}

static bool add_key(tsri_serve_server *s, char *key) {
    char **grown = realloc(s->keys, (s->n_keys + 1) * sizeof *s->keys);
    if (!grown)
        return false;
    s->keys = grown;
    s->keys[s->n_keys++] = key;
    return true;
}

/* One key a line; empty lines and those that begin with # are not keys. */
static int read_keys(const tsri_serve_options *o, run *r) {
    char *rest = NULL;
    if (o->key && (!*o->key || !add_key(&r->server, (char *)o->key)))
        return tsri_cli_fail(CLI_USAGE, "--api-key: the key is empty");
    if (!o->key_file)
        return CLI_OK;
    const int code = read_file(r, o->key_file, &r->keys_text);
    if (code != CLI_OK)
        return code;
    for (char *line = strtok_r(r->keys_text, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest))
        if (*line != '#' && !add_key(&r->server, line))
            return tsri_cli_fail(CLI_OTHER, "out of memory");
    return r->server.n_keys
               ? CLI_OK
               : tsri_cli_fail(CLI_FILE, "--api-key-file %s: it has no key", o->key_file);
}

/* The last part of a path, without the ending of a file. */
static void name_of(const char *path, char out[NAME]) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t begin = n;
    while (begin && path[begin - 1] != '/')
        begin--;
    snprintf(out, NAME, "%.*s", (int)(n - begin), path + begin);
    char *dot = strrchr(out, '.');
    if (dot && dot != out && !strcmp(dot, ".gguf"))
        *dot = 0;
}

/* ---- models ---- */

/* A first request, so that the kernels are built and the memory is there before clients come. */
static int warm_up(tsr_scheduler *scheduler) {
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
    tsr_scheduler_counts counts = {.struct_size = sizeof counts, .running = 1};
    uint64_t id;
    tsr_status status = tsr_scheduler_add(scheduler, &request, &id);
    while (status == TSR_OK && (counts.running || counts.waiting)) {
        status = tsr_scheduler_step(scheduler, NULL, NULL);
        if (status == TSR_OK)
            status = tsr_scheduler_count(scheduler, &counts);
    }
    return tsri_cli_status(status);
}

static int make_scheduler(tsri_serve_server *s) {
    enum { CONTEXT = 4096 };
    tsr_model_info info = {.struct_size = sizeof info};
    int code = tsri_cli_status(tsr_model_info_get(s->app->model, &info));
    if (code != CLI_OK)
        return code;
    const int64_t asked = s->app->context ? s->app->context : CONTEXT;
    const tsr_scheduler_options options = {.struct_size = sizeof options,
                                           .slots = (uint32_t)s->limits.slots,
                                           .context = asked < info.context ? asked : info.context,
                                           .step_tokens = s->limits.step_tokens};
    code = tsri_cli_status(tsr_scheduler_create(s->app->model, &options, &s->scheduler));
    return code == CLI_OK ? warm_up(s->scheduler) : code;
}

static int make_embedder(run *r, tsr_model *model, const char *path) {
    tsri_serve_server *s = &r->server;
    s->embedding_model = model;
    name_of(path, r->embedding_name);
    s->embedding_name = model == s->app->model ? s->name : r->embedding_name;
    return tsri_cli_status(tsr_embedder_create(model, NULL, &s->embedder));
}

static int open_models(const tsri_serve_options *o, run *r) {
    tsri_serve_server *s = &r->server;
    tsr_model_info info = {.struct_size = sizeof info};
    tsr_model *second = NULL;
    int code = tsri_cli_status(tsr_model_info_get(o->app->model, &info));
    if (code != CLI_OK)
        return code;
    name_of(o->alias ? o->alias : info.path, r->name);
    s->name = r->name;
    const bool encoder = !strcmp(info.kind, "encoder");
    if (encoder)
        code = make_embedder(r, o->app->model, info.path);
    else
        code = make_scheduler(s);
    if (code != CLI_OK || !o->embedding_model)
        return code;
    if (encoder)
        return tsri_cli_fail(CLI_USAGE, "--embedding-model %s: -m is an encoder already",
                             o->embedding_model);
    tsr_model_options options = {.struct_size = sizeof options};
    code = tsri_cli_status(tsr_model_open(o->embedding_model, o->app->device, &options, &second));
    return code == CLI_OK ? make_embedder(r, second, o->embedding_model) : code;
}

/* ---- from start to end ---- */

static int begin(const tsri_serve_options *o, run *r) {
    tsri_serve_server *s = &r->server;
    int code = read_keys(o, r);
    if (code == CLI_OK && !o->certificate_file != !o->certificate_key_file)
        code = tsri_cli_fail(CLI_USAGE, "--tls-cert and --tls-key belong together: give both");
    if (code == CLI_OK && o->certificate_file)
        code = read_file(r, o->certificate_file, &r->certificate);
    if (code == CLI_OK && o->certificate_key_file)
        code = read_file(r, o->certificate_key_file, &r->certificate_key);
    if (code == CLI_OK && o->template_file)
        code = read_file(r, o->template_file, &r->template_text);
    s->template_text = r->template_text;
    if (code == CLI_OK)
        code = open_models(o, r);
    if (code != CLI_OK)
        return code;
    r->locks = !pthread_mutex_init(&s->lock, NULL) && !pthread_cond_init(&s->wake, NULL);
    r->engine_runs = r->locks && !pthread_create(&r->engine, NULL, tsri_serve_engine, s);
    if (!r->engine_runs)
        return tsri_cli_fail(CLI_OTHER, "a thread can't be started");
    return tsri_serve_http_begin(s, o->host, (uint16_t)o->port, r->certificate, r->certificate_key);
}

static void tell(const tsri_serve_options *o, const run *r) {
    const bool local =
        !strcmp(o->host, "127.0.0.1") || !strcmp(o->host, "::1") || !strcmp(o->host, "localhost");
    const bool six = strchr(o->host, ':');
    if (!local && !r->server.n_keys)
        tsri_cli_note(o->app,
                      "warning: everyone who reaches %s can use the model: give --api-key or "
                      "--api-key-file",
                      o->host);
    tsri_cli_print(o->app, "%s is served at http%s://%s%s%s:%u\n", r->name,
                   r->certificate ? "s" : "", six ? "[" : "", o->host, six ? "]" : "",
                   tsri_serve_http_port(&r->server));
    tsri_cli_flush(o->app);
}

static bool idle(tsri_serve_server *s) {
    pthread_mutex_lock(&s->lock);
    const bool none = !s->exchanges;
    pthread_mutex_unlock(&s->lock);
    return none;
}

static void wait_idle(tsri_serve_server *s, int64_t milliseconds) {
    for (; milliseconds > 0 && !idle(s); milliseconds -= PATIENCE_MS)
        (void)poll(NULL, 0, PATIENCE_MS);
}

/* No new requests; those that run have until the deadline. */
static void drain(tsri_serve_server *s) {
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
    tsri_serve_http_refuse(s);
    wait_idle(s, s->limits.drain * 1000);
}

static void end(run *r) {
    tsri_serve_server *s = &r->server;
    if (r->locks) {
        pthread_mutex_lock(&s->lock);
        s->stopping = true;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->lock);
    }
    if (r->engine_runs)
        pthread_join(r->engine, NULL);
    if (s->daemon) {
        wait_idle(s, FLUSH_MS); /* the last answers are on their way */
        tsri_serve_http_end(s);
    }
    if (r->locks) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->wake);
    }
    tsr_scheduler_destroy(&s->scheduler);
    tsr_embedder_destroy(&s->embedder);
    if (s->embedding_model != s->app->model)
        tsr_model_close(&s->embedding_model);
    free(s->keys);
    free(r->keys_text);
    free(r->certificate);
    free(r->certificate_key);
    free(r->template_text);
}

int tsri_serve_run(const tsri_serve_options *o) {
    run *r = calloc(1, sizeof *r);
    if (!r)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    r->server = (tsri_serve_server){.app = o->app,
                                    .log = o->log,
                                    .metrics = &r->metrics,
                                    .limits = {.slots = o->slots,
                                               .queue = o->queue,
                                               .connections = o->connections,
                                               .body = o->body << 20,
                                               .idle = o->idle,
                                               .header = o->header,
                                               .drain = o->drain,
                                               .step_tokens = o->step_tokens}};
    const int code = begin(o, r);
    if (code == CLI_OK) {
        tsri_cli_watch_patience((int)o->drain * 1000 + CLI_END_MS);
        tell(o, r);
        while (!tsri_cli_signal())
            (void)poll(NULL, 0, PATIENCE_MS * 4);
        drain(&r->server);
    }
    end(r);
    free(r);
    return code;
}
