/* cli/serve/log.h - a line on stderr for each request, when it is complete. */
#ifndef TESSERA_CLI_SERVE_LOG_H
#define TESSERA_CLI_SERVE_LOG_H

#include "cli/serve/server.h"

void tsri_serve_log_begin(tsri_serve_exchange *x, const char *method, const char *path);
/* Keeps what the user wrote, where prompts are to be logged. */
void tsri_serve_log_body(tsri_serve_exchange *x, const json_t *body);
/* With the server's lock held. Keeps the sentence of a failure, unless it may quote the request and prompts are not to be
 * logged. */
void tsri_serve_log_failure(tsri_serve_exchange *x, const tsri_serve_failure *f);
/* Writes the line of a request that neither thread works on any more. */
void tsri_serve_log_write(const tsri_serve_exchange *x);
void tsri_serve_log_clear(tsri_serve_exchange *x);

#endif
