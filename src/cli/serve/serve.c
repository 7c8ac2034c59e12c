/* cli/serve/serve.c - starts the parts of a server, waits for a signal, and ends them in order. */
#include "cli/serve/serve.h"

#include "base/system/system.h"
#include "cli/base/watch.h"
#include "cli/reading/input.h"
#include "cli/serve/fields.h"
#include "cli/serve/models.h"
#include "cli/serve/origins.h"
#include "cli/shared/chatting.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 50, FLUSH_MS = 2000 };

typedef struct run {
    tsri_serve_server server;
    char *keys_text, *certificate, *certificate_key, *template_text;
    pthread_t engine;
    bool locks, engine_runs;
} run;

/* ---- keys ---- */

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

/* The line without the blanks at its ends. */
static char *trimmed(char *line) {
    static const char blanks[] = " \t";
    line += strspn(line, blanks);
    size_t n = strlen(line);
    while (n && strchr(blanks, line[n - 1]))
        n--;
    line[n] = 0;
    return line;
}

/* One key a line; blank lines and those that begin with # are not keys. */
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
         line = strtok_r(NULL, "\r\n", &rest)) {
        line = trimmed(line);
        if (*line && *line != '#' && !add_key(&r->server, line))
            return tsri_cli_fail(CLI_OTHER, "out of memory");
    }
    return r->server.n_keys
               ? CLI_OK
               : tsri_cli_fail(CLI_FILE, "--api-key-file %s: it has no key", o->key_file);
}

/* ---- from start to end ---- */

static int begin(const tsri_serve_options *o, run *r) {
    tsri_serve_server *s = &r->server;
    int code = tsri_serve_origins_check(&o->origins);
    if (code == CLI_OK)
        code = read_keys(o, r);
    if (code == CLI_OK && !o->certificate_file != !o->certificate_key_file)
        code = tsri_cli_fail(CLI_USAGE, "--tls-cert and --tls-key belong together: give both");
    if (code == CLI_OK && o->certificate_file)
        code = read_file(r, o->certificate_file, &r->certificate);
    if (code == CLI_OK && o->certificate_key_file)
        code = read_file(r, o->certificate_key_file, &r->certificate_key);
    if (code == CLI_OK && o->template_file)
        code = tsri_cli_read_template(s->app, o->template_file, &r->template_text);
    if (code == CLI_OK)
        code = tsri_serve_open_models(s, &o->models, o->alias, r->template_text);
    if (code != CLI_OK)
        return code;
    r->locks = !pthread_mutex_init(&s->lock, NULL) && !tsri_system_condition(&s->wake);
    r->engine_runs = r->locks && !tsri_system_thread(&r->engine, tsri_serve_engine, s);
    if (!r->engine_runs)
        return tsri_cli_fail(CLI_OTHER, "a thread can't be started");
    return tsri_serve_http_begin(s, o->host, (uint16_t)o->port, r->certificate, r->certificate_key);
}

/* "a, b and c" */
static void list_names(const tsri_serve_server *s, tsri_serve_buffer *to) {
    for (size_t i = 0; i < s->n_models; i++) {
        const char *between = !i                    ? ""
                              : i + 1 < s->n_models ? ", "
                                                    : " and ",
                   *name = s->models[i].name;
        tsri_serve_put(to, between, strlen(between));
        tsri_serve_put(to, name, strlen(name));
    }
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
    tsri_serve_buffer names = {0};
    list_names(&r->server, &names);
    tsri_cli_print(o->app, "%s %s served at http%s://%s%s%s:%u\n",
                   names.data ? names.data : "a model", r->server.n_models > 1 ? "are" : "is",
                   r->certificate ? "s" : "", six ? "[" : "", o->host, six ? "]" : "",
                   tsri_serve_http_port(&r->server));
    tsri_cli_flush(o->app);
    tsri_serve_clear(&names);
}

/* Whether every answer was sent; with `taken`, of the requests that the engine took. */
static bool idle(tsri_serve_server *s, bool taken) {
    pthread_mutex_lock(&s->lock);
    const tsri_serve_exchange *x = s->exchanges;
    while (x && (x->http_done || (taken && !x->taken)))
        x = x->next;
    pthread_mutex_unlock(&s->lock);
    return !x;
}

static void wait_idle(tsri_serve_server *s, bool taken, int64_t milliseconds) {
    for (; milliseconds > 0 && !idle(s, taken); milliseconds -= PATIENCE_MS)
        (void)poll(NULL, 0, PATIENCE_MS);
}

/* The engine takes no new requests, which are told so; those that it took have until the deadline, and are told then:
 * here, because the engine may wait for a driver that builds kernels. */
static void drain(tsri_serve_server *s) {
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
    wait_idle(s, true, s->limits.drain * 1000);
    tsri_serve_http_refuse(s);
    tsri_serve_http_give_up(s);
    wait_idle(s, true, FLUSH_MS);
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
        wait_idle(s, false, FLUSH_MS); /* the last answers are on their way */
        tsri_serve_http_end(s);
    }
    if (r->locks) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->wake);
    }
    tsri_serve_close_models(s);
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
                                    .calls = tsri_serve_random(),
                                    .origins = &o->origins,
                                    .log = {.on = o->log || o->log_prompts || o->log_format,
                                            .json = o->log_format && !strcmp(o->log_format, "json"),
                                            .prompts = o->log_prompts},
                                    .limits = {.slots = o->slots,
                                               .kv_tokens = o->kv_tokens,
                                               .queue = o->queue,
                                               .connections = o->connections,
                                               .body = o->body << 20,
                                               .idle = o->idle,
                                               .header = o->header,
                                               .upload = o->upload,
                                               .drain = o->drain,
                                               .step_tokens = o->step_tokens,
                                               .prompt_tokens = o->prompt_tokens,
                                               .new_tokens = o->new_tokens,
                                               .rank = o->rank,
                                               .pooling = o->pooling,
                                               .speculate = o->speculate < 0 ? 0
                                                            : o->speculate   ? (int32_t)o->speculate
                                                                             : -1}};
    const int code = begin(o, r);
    if (code == CLI_OK) {
        tsri_cli_watch_patience((int)o->drain * 1000 + CLI_END_MS);
        tsri_cli_watch_finish(true); /* requests that run may need another plan */
        tell(o, r);
        while (!tsri_cli_signal())
            (void)poll(NULL, 0, PATIENCE_MS * 4);
        drain(&r->server);
        tsri_cli_watch_finish(false);
    }
    end(r);
    free(r);
    return code;
}
