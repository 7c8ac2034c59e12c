/* cli/serve/origins.h - whose pages may use the server from a browser (CORS): nobody's but the server's own, unless
 * --cors-origin names them. */
#ifndef TESSERA_CLI_SERVE_ORIGINS_H
#define TESSERA_CLI_SERVE_ORIGINS_H

#include "cli/serve/server.h"

struct MHD_Response;

/* Whether each name is an origin as browsers send it, or "*". Returns an exit code, and prints what is wrong. */
int tsri_serve_origins_check(const tsri_cli_list *origins);
/* Whether it is a browser's question before a request of another origin's page, of a server that names origins. */
bool tsri_serve_is_preflight(const tsri_serve_exchange *x, const char *method);
/* False: the page's origin is not named, as *f says. */
bool tsri_serve_origin_allowed(const tsri_serve_exchange *x, tsri_serve_failure *f);
/* Adds what a browser wants to know of an answer. */
void tsri_serve_put_origin(const tsri_serve_exchange *x, struct MHD_Response *response);

#endif
