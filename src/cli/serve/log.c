/* cli/serve/log.c - lines of a log, as text or as JSON. Both have the fields of one object. */
#include "cli/serve/log.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FORM = JSON_COMPACT | JSON_REAL_PRECISION(9) };

/* The fields of requests that have what a user wrote. */
static const char *const texts[] = {"prompt",    "messages", "input", "query",
                                    "documents", "content",  "tokens"};

/* Copies a word of the request's first line; bytes that don't belong there are written as %XX. */
static void copy_word(const char *from, char *to, size_t room) {
    for (; *from && room > 4; from++) {
        const unsigned char c = (unsigned char)*from;
        const bool plain = c > ' ' && c < 0x7F && c != '"' && c != '\\';
        const int n = snprintf(to, room, plain ? "%c" : "%%%02X", c);
        to += n;
        room -= (size_t)n;
    }
    *to = 0;
}

void tsri_serve_log_begin(tsri_serve_exchange *x, const char *method, const char *path) {
    copy_word(method, x->record.method, sizeof x->record.method);
    copy_word(path, x->record.path, sizeof x->record.path);
}

void tsri_serve_log_body(tsri_serve_exchange *x, const json_t *body) {
    if (!x->server->log.prompts)
        return;
    x->record.texts = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const json_t *text = json_object_get(body, texts[i]);
        if (text) /* a copy: messages are changed before the model reads them */
            json_object_set_new(x->record.texts, texts[i], json_deep_copy(text));
    }
}

void tsri_serve_log_failure(tsri_serve_exchange *x, const tsri_serve_failure *f) {
    if (x->server->log.on && !x->record.error && (f->status >= 500 || x->server->log.prompts))
        x->record.error = strdup(f->message);
}

static json_t *seconds(uint64_t ns) {
    return json_real((double)(ns / 1000) / 1e6);
}

static void write_now(char *to, size_t room) {
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    char whole[32];
    strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(to, room, "%s.%03dZ", whole, (int)(now.tv_nsec / 1000000));
}

static json_t *line_json(const tsri_serve_exchange *x) {
    const tsri_serve_record *r = &x->record;
    char now[48];
    write_now(now, sizeof now);
    json_t *line = json_pack(
        "{s:s,s:s,s:s,s:o,s:s?,s:I,s:I,s:I,s:o,s:o,s:b}", "time", now, "method", r->method, "path",
        r->path, "status", r->status ? json_integer(r->status) : json_null(), "model", r->model,
        "prompt_tokens", (json_int_t)r->prompt_tokens, "cached_tokens",
        (json_int_t)r->cached_tokens, "completion_tokens", (json_int_t)r->new_tokens,
        "first_token_seconds", r->first_ns ? seconds(r->first_ns - x->began_ns) : json_null(),
        "seconds", seconds(tsri_cli_now_ns() - x->began_ns), "client_left", (int)r->left);
    if (r->error)
        json_object_set_new(line, "error", json_string(r->error));
    json_object_update(line, r->texts);
    return line;
}

/* What says nothing is left out of a text. */
static bool says_nothing(const json_t *value) {
    return json_is_null(value) || json_is_false(value) ||
           (json_is_integer(value) && !json_integer_value(value));
}

/* The first fields without their names, the others as NAME=VALUE. */
static void put_text(json_t *line, tsri_serve_buffer *to) {
    enum { PLAIN = 4 };
    const char *key;
    json_t *value;
    size_t i = 0;
    tsri_serve_put(to, "tessera:", 8);
    json_object_foreach(line, key, value) {
        const bool plain = i++ < PLAIN;
        char *text = says_nothing(value)              ? plain ? strdup("-") : NULL
                     : plain && json_is_string(value) ? strdup(json_string_value(value))
                                                      : json_dumps(value, FORM | JSON_ENCODE_ANY);
        if (!text)
            continue;
        tsri_serve_put(to, " ", 1);
        if (!plain) {
            tsri_serve_put(to, key, strlen(key));
            tsri_serve_put(to, "=", 1);
        }
        tsri_serve_put(to, text, strlen(text));
        free(text);
    }
    if (to->data)
        to->size = tsr_plain_text(to->data, to->size);
}

void tsri_serve_log_write(const tsri_serve_exchange *x) {
    const tsri_serve_log *log = &x->server->log;
    tsri_serve_buffer all = {0};
    if (!log->on)
        return;
    json_t *line = line_json(x);
    char *json = line && log->json ? json_dumps(line, FORM | JSON_ENSURE_ASCII) : NULL;
    if (json)
        tsri_serve_put(&all, json, strlen(json));
    else if (line && !log->json)
        put_text(line, &all);
    tsri_serve_put(&all, "\n", 1);
    if (!all.lost) /* at once, so that lines of two threads don't mix */
        fwrite(all.data, 1, all.size, stderr);
    free(json);
    json_decref(line);
    tsri_serve_clear(&all);
}

void tsri_serve_log_clear(tsri_serve_exchange *x) {
    json_decref(x->record.texts);
    free(x->record.error);
}
