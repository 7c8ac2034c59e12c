/* cli/serve/choose.h - the model of a request. */
#ifndef TESSERA_CLI_SERVE_CHOOSE_H
#define TESSERA_CLI_SERVE_CHOOSE_H

#include "cli/serve/server.h"

/* The model that "model" names, or, where it is missing, the first for this use; for "messages" the first that has a chat
 * template, if one has. It is x->model then. NULL: *f says why. */
tsri_serve_model *tsri_serve_choose(tsri_serve_exchange *x, const json_t *body, tsri_serve_use use,
                                    tsri_serve_failure *f);

#endif
