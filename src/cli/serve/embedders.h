/* cli/serve/embedders.h - the embedders of a model that gives vectors: its own, and one for each prompt that
 * requests asked for last. */
#ifndef TESSERA_CLI_SERVE_EMBEDDERS_H
#define TESSERA_CLI_SERVE_EMBEDDERS_H

#include "cli/serve/fields.h"

/* Makes the model's own. */
tsr_status tsri_serve_embedders_begin(const tsri_serve_server *s, tsri_serve_model *m);
/* The one with a prompt of the model's files by its name, or with a text as its prompt; the model's own where both are
 * NULL. It stays until the next call. Only the engine calls this. False: *f says why not. */
bool tsri_serve_embedder(const tsri_serve_server *s, tsri_serve_model *m, const char *name,
                         const char *text, tsr_embedder **out, tsri_serve_failure *f);
void tsri_serve_embedders_end(tsri_serve_model *m);

#endif
