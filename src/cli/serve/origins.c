/* cli/serve/origins.c - what browsers are told, so that pages of other origins can use the server
 * (https://fetch.spec.whatwg.org/#http-cors-protocol). */
#include "cli/serve/origins.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#define KEPT_SECONDS \
    "600" /* the answer to a preflight; browsers keep none for longer than 2 hours */

static bool is_any(const char *origin) {
    return !strcmp(origin, "*");
}

/* scheme://host or scheme://host:port */
static bool is_origin(const char *text) {
    const char *host = strstr(text, "://");
    return host && host > text && host[3] && !strpbrk(host + 3, "/?#@,* \t\r\n");
}

int tsri_serve_origins_check(const tsri_cli_list *origins) {
    for (size_t i = 0; i < origins->n; i++)
        if (!is_any(origins->items[i]) && !is_origin(origins->items[i]))
            return tsri_cli_fail(CLI_USAGE,
                                 "--cors-origin %s: give an origin without a path, as "
                                 "https://app.example.org or http://localhost:3000, or * for all",
                                 origins->items[i]);
    return CLI_OK;
}

static const char *header(const tsri_serve_exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

static bool lets_all(const tsri_cli_list *origins) {
    for (size_t i = 0; i < origins->n; i++)
        if (is_any(origins->items[i]))
            return true;
    return false;
}

/* What answers to the request's origin name; NULL: it is not allowed, or there is none. */
static const char *allowed(const tsri_serve_exchange *x) {
    const tsri_cli_list *origins = x->server->origins;
    const char *own = header(x, "Origin");
    if (own && lets_all(origins))
        return "*";
    for (size_t i = 0; own && i < origins->n; i++)
        if (!strcasecmp(origins->items[i], own))
            return own;
    return NULL;
}

bool tsri_serve_is_preflight(const tsri_serve_exchange *x, const char *method) {
    return x->server->origins->n && !strcmp(method, "OPTIONS") && header(x, "Origin");
}

bool tsri_serve_origin_allowed(const tsri_serve_exchange *x, tsri_serve_failure *f) {
    return allowed(x) ||
           tsri_serve_fail(f, 403, NULL,
                           "pages of %s may not use this server: --cors-origin names who may",
                           header(x, "Origin"));
}

void tsri_serve_put_origin(const tsri_serve_exchange *x, struct MHD_Response *r) {
    const tsri_cli_list *origins = x->server->origins;
    const char *origin = allowed(x), *wanted = header(x, "Access-Control-Request-Headers");
    if (origins->n &&
        !lets_all(
            origins)) /* also where the origin is not named: a cache must not give that answer to one that is */
        MHD_add_response_header(r, "Vary", "Origin");
    if (!origin)
        return;
    MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    if (x->status != 204) /* no preflight */
        return;
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST");
    /* Clients send headers of their own with each request; none that is not known is read. */
    MHD_add_response_header(r, "Access-Control-Allow-Headers",
                            wanted && *wanted ? wanted : "Authorization, Content-Type");
    MHD_add_response_header(r, "Access-Control-Max-Age", KEPT_SECONDS);
}
