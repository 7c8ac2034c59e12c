/* cli/serve/attention.h - requests for the attention of a text. The engine runs them one at a time, between
 * steps; a thread of their own packs the numbers, which takes longer, so that nobody waits for that. */
#ifndef TESSERA_CLI_SERVE_ATTENTION_H
#define TESSERA_CLI_SERVE_ATTENTION_H

#include "cli/serve/server.h"

/* Runs the oldest request, unless another one's numbers are being packed. */
void tsri_serve_attention_step(tsri_serve_server *s);
/* Whether a step would do something. The server's lock is held. */
bool tsri_serve_attention_waits(const tsri_serve_server *s);
/* Waits for the request whose numbers are being packed, and ends it. */
void tsri_serve_attention_end(tsri_serve_server *s);

#endif
