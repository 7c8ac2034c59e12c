/* cli/serve/parse.h - from the text of a body to JSON. */
#ifndef TESSERA_CLI_SERVE_PARSE_H
#define TESSERA_CLI_SERVE_PARSE_H

#include "cli/serve/server.h"

/* Parses a body, which must be an object. NULL: *f says why. */
json_t *tsri_serve_parse(const char *text, size_t n, tsri_serve_failure *f);

#endif
