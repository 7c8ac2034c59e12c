/* cli/serve/http.c - HTTP by libmicrohttpd: one thread reads requests and writes answers. A connection is
 * suspended while the engine works on its request; since it does not see its client leave meanwhile, the sockets
 * of these requests are polled. */
#include "cli/serve/server.h"

#include "cli/serve/log.h"
#include "cli/serve/metrics.h"
#include "cli/serve/origins.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEADERS = 64 << 10,
    SLOWEST = 64 << 10 /* bytes of a body that give its client another second */
};
static const uint64_t SECOND = 1000000000;

typedef struct tsri_serve_connection {
    struct tsri_serve_connection *next;
    int fd;
    uint64_t until_ns; /* when a header or a body that is being read must be whole; 0: none is */
} tsri_serve_connection;

/* ---- answers ---- */

/* With the lock held: lets the HTTP thread go on with it. */
static void go_on(tsri_serve_exchange *x) {
    if (!x->suspended)
        return;
    x->suspended = false;
    MHD_resume_connection(x->connection);
}

void tsri_serve_waits_no_more(tsri_serve_exchange *x) {
    x->server->n_waiting -= x->waits;
    x->waits = false;
}

enum { FORM = JSON_COMPACT | JSON_REAL_PRECISION(9) };

/* The text of `json`, which it releases; NULL: out of memory. */
static char *text_of(json_t *json) {
    char *text = json ? json_dumps(json, FORM) : NULL;
    json_decref(json);
    return text;
}

/* With the lock held, as those below. Nothing follows the end of an answer: at the end of the server the engine may
 * still work on a request whose client was told so. */
static void put_whole(tsri_serve_exchange *x, unsigned status, const char *text, size_t n) {
    if (x->complete)
        return;
    x->status = status;
    tsri_serve_put(&x->out, text, n);
    x->complete = true;
    tsri_serve_waits_no_more(x);
    go_on(x);
}

static void put_event(tsri_serve_exchange *x, const char *text, bool last) {
    if (x->complete)
        return;
    x->status = 200;
    x->stream = true;
    tsri_serve_put(&x->out, "data: ", 6);
    tsri_serve_put(&x->out, text, strlen(text));
    tsri_serve_put(&x->out, "\n\n", 2);
    x->complete |= last || x->out.lost;
    go_on(x);
}

static void put_json(tsri_serve_exchange *x, unsigned status, const char *text) {
    static const char lost[] =
        "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\","
        "\"param\":null,\"code\":null}}";
    put_whole(x, text ? status : 503, text ? text : lost, text ? strlen(text) : sizeof lost - 1);
}

static void put_event_json(tsri_serve_exchange *x, const char *text) {
    put_event(x, text ? text : "{\"error\":{\"message\":\"out of memory\"}}", !text);
}

/* text: of the failure's JSON */
static void put_failure(tsri_serve_exchange *x, const tsri_serve_failure *f, const char *text) {
    if (x->complete)
        return;
    tsri_serve_log_failure(x, f);
    if (!x->stream) {
        put_json(x, f->status, text);
        return;
    }
    put_event_json(x, text);
    put_event(x, "[DONE]", true);
}

void tsri_serve_answer_text(tsri_serve_exchange *x, unsigned status, const char *text, size_t n) {
    pthread_mutex_lock(&x->server->lock);
    put_whole(x, status, text, n);
    pthread_mutex_unlock(&x->server->lock);
}

void tsri_serve_answer(tsri_serve_exchange *x, unsigned status, json_t *json) {
    char *text = text_of(json);
    pthread_mutex_lock(&x->server->lock);
    put_json(x, status, text);
    pthread_mutex_unlock(&x->server->lock);
    free(text);
}

void tsri_serve_answer_failure(tsri_serve_exchange *x, const tsri_serve_failure *f) {
    char *text = text_of(tsri_serve_failure_json(f));
    pthread_mutex_lock(&x->server->lock);
    put_failure(x, f, text);
    pthread_mutex_unlock(&x->server->lock);
    free(text);
}

void tsri_serve_event(tsri_serve_exchange *x, json_t *json) {
    char *text = text_of(json);
    pthread_mutex_lock(&x->server->lock);
    put_event_json(x, text);
    pthread_mutex_unlock(&x->server->lock);
    free(text);
}

void tsri_serve_end(tsri_serve_exchange *x) {
    pthread_mutex_lock(&x->server->lock);
    put_event(x, "[DONE]", true);
    pthread_mutex_unlock(&x->server->lock);
}

void tsri_serve_http_give_up(tsri_serve_server *s) {
    tsri_serve_failure f;
    tsri_serve_fail(&f, 503, NULL, "the server ends");
    char *text = text_of(tsri_serve_failure_json(&f));
    pthread_mutex_lock(&s->lock);
    for (tsri_serve_exchange *x = s->exchanges; x; x = x->next)
        if (x->taken && !x->gone)
            put_failure(x, &f, text);
    pthread_mutex_unlock(&s->lock);
    free(text);
}

void tsri_serve_release(tsri_serve_exchange *x, bool *done) {
    tsri_serve_server *s = x->server;
    pthread_mutex_lock(&s->lock);
    *done = true;
    const bool last = x->http_done && x->engine_done;
    if (last && x->record.left)
        x->model->metrics.left++;
    tsri_serve_exchange **at = &s->exchanges;
    while (last && *at && *at != x)
        at = &(*at)->next;
    if (last && *at)
        *at = x->next;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    tsri_serve_log_write(x);
    tsri_serve_log_clear(x);
    tsri_serve_clear(&x->body);
    tsri_serve_clear(&x->out);
    free(x);
}

/* ---- what libmicrohttpd calls ---- */

static ssize_t read_stream(void *data, uint64_t at, char *to, size_t room) {
    tsri_serve_exchange *x = data;
    (void)at;
    pthread_mutex_lock(&x->server->lock);
    size_t n = x->out.size - x->sent;
    n = n < room ? n : room;
    ssize_t result = (ssize_t)n;
    if (n) {
        memcpy(to, x->out.data + x->sent, n);
        x->sent += n;
    } else if (x->complete) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        x->suspended = true;
        MHD_suspend_connection(x->connection);
    }
    if (x->sent == x->out.size)
        x->out.size = x->sent = 0;
    pthread_mutex_unlock(&x->server->lock);
    return result;
}

static enum MHD_Result respond(tsri_serve_exchange *x) {
    struct MHD_Response *r =
        x->stream
            ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 << 10, read_stream, x, NULL)
            : MHD_create_response_from_buffer(x->out.size, x->out.data, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    const char *type = x->route && x->status == 200 ? x->route->type : NULL;
    if (x->status != 204)
        MHD_add_response_header(r, "Content-Type",
                                x->stream ? "text/event-stream; charset=utf-8"
                                : type    ? type
                                          : "application/json");
    tsri_serve_put_origin(x, r);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (type) /* a page may run its own script, and ask this server alone */
        MHD_add_response_header(r, "Content-Security-Policy",
                                "default-src 'none'; style-src 'unsafe-inline'; script-src "
                                "'unsafe-inline'; connect-src 'self'; img-src data:; "
                                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    MHD_add_response_header(r, "Cache-Control", "no-cache");
    if (x->status == 503)
        MHD_add_response_header(r, "Retry-After", "1");
    if (x->status == 405)
        MHD_add_response_header(r, "Allow", x->methods);
    if (x->status == 401)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (x->too_large) /* the rest of the body is not read */
        MHD_add_response_header(r, "Connection", "close");
    x->record.status = x->status;
    const enum MHD_Result result = MHD_queue_response(x->connection, x->status, r);
    MHD_destroy_response(r);
    return result;
}

static bool same_key(const char *given, const char *key) {
    const size_t n = strlen(given), m = strlen(key);
    unsigned char differ = n != m;
    for (size_t i = 0; i < n; i++) /* takes the same time wherever they differ */
        differ |= (unsigned char)(given[i] ^ key[m ? i % m : 0]);
    return !differ;
}

static bool allowed(const tsri_serve_server *s, struct MHD_Connection *connection) {
    const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    bool found = !s->n_keys;
    if (!given || strncasecmp(given, "Bearer ", 7))
        return found;
    for (size_t i = 0; i < s->n_keys; i++)
        found |= same_key(given + 7, s->keys[i]);
    return found;
}

static void preflight(tsri_serve_exchange *x) {
    tsri_serve_answer_text(x, 204, "", 0);
}

static bool route(tsri_serve_exchange *x, const char *method, const char *path,
                  tsri_serve_failure *f) {
    static const tsri_serve_route of_preflight = {"OPTIONS", "*", preflight, false, true, NULL};
    const tsri_serve_server *s = x->server;
    if (tsri_serve_is_preflight(x, method)) {
        x->route = &of_preflight;
        return tsri_serve_origin_allowed(x, f);
    }
    x->path = path;
    x->route = tsri_serve_find_route(method, path, &x->methods);
    if (!x->route && x->methods)
        return tsri_serve_fail(f, 405, NULL, "%s is not served for %s", method, path);
    if (!x->route)
        return tsri_serve_fail(f, 404, NULL, "%s is not served; docs/server.md lists what is",
                               path);
    if (!x->route->open && !allowed(s, x->connection))
        return tsri_serve_fail(f, 401, NULL,
                               "a key is wanted: send it as \"Authorization: Bearer KEY\"");
    if (x->too_large)
        return tsri_serve_fail(f, 413, NULL, "the body is larger than %lld bytes (--max-body)",
                               (long long)s->limits.body);
    return true;
}

/* With the lock held: a header or a body must be whole so many seconds from now on; 0: neither is read. */
static void set_clock(struct MHD_Connection *connection, int64_t seconds) {
    tsri_serve_connection *c =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (c)
        c->until_ns = seconds ? tsri_cli_now_ns() + (uint64_t)seconds * SECOND : 0;
}

/* n bytes of a body have come. */
static void set_clock_on(const tsri_serve_exchange *x, size_t n) {
    pthread_mutex_lock(&x->server->lock);
    tsri_serve_connection *c =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (c && c->until_ns)
        c->until_ns += n * SECOND / SLOWEST;
    pthread_mutex_unlock(&x->server->lock);
}

/* Gives a request whose body is complete to whom it belongs. */
static void begin(tsri_serve_exchange *x, const char *method, const char *path) {
    tsri_serve_server *s = x->server;
    tsri_serve_failure f;
    x->routed = true;
    bool fine = route(x, method, path, &f);
    pthread_mutex_lock(&s->lock);
    set_clock(x->connection, 0);
    if (fine && x->route->on_device && s->draining)
        fine = tsri_serve_fail(&f, 503, NULL, "the server is about to end");
    else if (fine && x->route->on_device && (int64_t)tsri_serve_waiting(s) >= s->limits.queue)
        fine =
            tsri_serve_fail(&f, 503, NULL, "%lld requests wait already (--queue): try again later",
                            (long long)s->limits.queue);
    if (fine && x->route->on_device) {
        x->engine_done = false;
        x->taken = true;
        x->suspended = true;
        MHD_suspend_connection(x->connection);
        *(s->last_waiting ? &s->last_waiting->waiting : &s->first_waiting) = x;
        s->last_waiting = x;
        x->waits = true;
        s->n_waiting++;
        pthread_cond_signal(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    if (!fine)
        tsri_serve_answer_failure(x, &f);
    else if (!x->route->on_device)
        x->route->handle(x);
}

static tsri_serve_exchange *make_exchange(tsri_serve_server *s, struct MHD_Connection *connection) {
    tsri_serve_exchange *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    *x = (tsri_serve_exchange){
        .server = s,
        .model = s->models,
        .connection = connection,
        .fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        .began_ns = tsri_cli_now_ns(),
        .engine_done = true};
    pthread_mutex_lock(&s->lock);
    x->next = s->exchanges;
    s->exchanges = x;
    set_clock(connection, s->limits.upload);
    pthread_mutex_unlock(&s->lock);
    return x;
}

static bool announces_too_much(const tsri_serve_exchange *x) {
    const char *size =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "Content-Length");
    return size && strtoull(size, NULL, 10) > (unsigned long long)x->server->limits.body;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n, void **own) {
    tsri_serve_exchange *x = *own;
    (void)version;
    if (!x) {
        *own = x = make_exchange(data, connection);
        if (!x)
            return MHD_NO;
        tsri_serve_log_begin(x, method, url);
        if (!announces_too_much(x))
            return MHD_YES;
        x->too_large = true; /* answered before the body is read; then the connection ends */
        begin(x, method, url);
        pthread_mutex_lock(&x->server->lock);
        const enum MHD_Result result = respond(x);
        pthread_mutex_unlock(&x->server->lock);
        return result;
    }
    if (*n) {
        x->received += *n;
        set_clock_on(x, *n);
        if (x->received / 4 > (uint64_t)x->server->limits.body)
            return MHD_NO; /* it doesn't end */
        x->too_large |= x->body.size + *n > (size_t)x->server->limits.body;
        if (!x->too_large)
            tsri_serve_put(&x->body, upload, *n);
        x->too_large |= x->body.lost;
        *n = 0;
        return MHD_YES;
    }
    if (!x->routed)
        begin(x, method, url);
    pthread_mutex_lock(&x->server->lock);
    const bool waits = x->suspended, ready = x->status != 0;
    if (!waits && !ready) { /* resumed without an answer: the client has left, or the server ends */
        pthread_mutex_unlock(&x->server->lock);
        return MHD_NO;
    }
    const enum MHD_Result result = waits ? MHD_YES : respond(x);
    pthread_mutex_unlock(&x->server->lock);
    return result;
}

static void on_completed(void *data, struct MHD_Connection *connection, void **own,
                         enum MHD_RequestTerminationCode code) {
    tsri_serve_exchange *x = *own;
    tsri_serve_server *s = data;
    if (!x)
        return;
    *own = NULL;
    pthread_mutex_lock(&s->lock);
    set_clock(connection, s->limits.idle + s->limits.header); /* for the next request's header */
    if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        x->gone = true;
    x->record.left = x->gone && !s->stopping && !x->too_large;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    tsri_serve_release(x, &x->http_done);
}

static void on_connection(void *data, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode code) {
    tsri_serve_server *s = data;
    pthread_mutex_lock(&s->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        tsri_serve_connection *c = calloc(1, sizeof *c);
        if (c)
            *c = (tsri_serve_connection){
                .next = s->connections,
                .fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
                          ->connect_fd,
                .until_ns = tsri_cli_now_ns() + (uint64_t)s->limits.header * SECOND};
        if (c)
            s->connections = c;
        *own = c;
    } else if (*own) {
        tsri_serve_connection **at = &s->connections;
        while (*at != *own)
            at = &(*at)->next;
        *at = (*at)->next;
        free(*own);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- clients that leave or dawdle ---- */

static bool has_left(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLRDHUP};
    return poll(&one, 1, 0) > 0 && one.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* A stream whose last event is still being sent is not suspended. It is polled, too: the engine would be some steps on
 * before the HTTP thread notices that its client has left. A socket is open until on_completed has set http_done. */
void tsri_serve_http_look(tsri_serve_server *s) {
    pthread_mutex_lock(&s->lock);
    const uint64_t now = tsri_cli_now_ns();
    for (tsri_serve_exchange *x = s->exchanges; x; x = x->next)
        if (x->taken && !x->complete && !x->gone && !x->http_done && has_left(x->fd)) {
            x->gone = true;
            x->complete = true;
            go_on(x);
        }
    for (tsri_serve_connection *c = s->connections; c; c = c->next)
        if (c->until_ns && now > c->until_ns) {
            shutdown(c->fd, SHUT_RDWR);
            c->until_ns = 0;
        }
    pthread_mutex_unlock(&s->lock);
}

/* ---- the daemon ---- */

static int start(tsri_serve_server *s, const struct addrinfo *address, const char *cert,
                 const char *key) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    struct MHD_OptionItem items[3] = {{MHD_OPTION_END, 0, NULL}};
    if (address->ai_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    if (cert) {
        flags |= MHD_USE_TLS;
        items[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)cert};
        items[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key};
        items[2] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    }
    /* Without MHD_OPTION_LISTENING_ADDRESS_REUSE the socket has SO_REUSEADDR, so that a server can start again at
     * once. With it the socket would have SO_REUSEPORT, too, and a second server would get a part of the requests. */
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, address->ai_addr,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        s, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->limits.idle, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->limits.connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS,
        MHD_OPTION_ARRAY, items, MHD_OPTION_END);
    return s->daemon ? CLI_OK : CLI_OTHER;
}

int tsri_serve_http_begin(tsri_serve_server *s, const char *host, uint16_t port, const char *cert,
                          const char *key) {
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char number[8];
    snprintf(number, sizeof number, "%u", port);
    if (cert && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return tsri_cli_fail(CLI_OTHER,
                             "--tls-cert: the libmicrohttpd of this system has no TLS: leave it "
                             "out, and let another server (nginx, Caddy) speak HTTPS");
    const int error = getaddrinfo(host, number, &hints, &found);
    if (error)
        return tsri_cli_fail(CLI_USAGE, "--host %s: %s", host, gai_strerror(error));
    errno = 0;
    const int code = start(s, found, cert, key);
    freeaddrinfo(found);
    if (code != CLI_OK && cert && !errno) /* it listened */
        return tsri_cli_fail(CLI_FILE, "--tls-cert, --tls-key: they are not a certificate and its "
                                       "key, both in PEM and without a password");
    if (code != CLI_OK)
        return tsri_cli_fail(CLI_OTHER,
                             "%s, port %u: can't listen there%s%s; choose another port (--port)",
                             host, port, errno ? ": " : "", errno ? strerror(errno) : "");
    return CLI_OK;
}

uint16_t tsri_serve_http_port(const tsri_serve_server *s) {
    return MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void tsri_serve_http_refuse(tsri_serve_server *s) {
    const MHD_socket fd = MHD_quiesce_daemon(s->daemon);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
}

void tsri_serve_http_end(tsri_serve_server *s) {
    pthread_mutex_lock(&s->lock);
    for (tsri_serve_exchange *x = s->exchanges; x; x = x->next) {
        x->complete = true;
        go_on(x);
    }
    pthread_mutex_unlock(&s->lock);
    MHD_stop_daemon(s->daemon);
}
