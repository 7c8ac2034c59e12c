/* cli/serve/bounds.h - how many tokens a request for text may have, where the server was told. */
#ifndef TESSERA_CLI_SERVE_BOUNDS_H
#define TESSERA_CLI_SERVE_BOUNDS_H

#include "cli/serve/answers.h"

/* Whether a prompt of n tokens is short enough. number: from 0, of several. False: *f says why not. */
bool tsri_serve_bound_prompt(const tsri_serve_job *job, uint32_t number, uint32_t n,
                             tsri_serve_failure *f);
/* Gives `answers` answers their share of the tokens of a request, unless the body names a number: that is refused where
 * it is larger. False: *f says why. */
bool tsri_serve_bound_answers(tsri_serve_job *job, const json_t *body, size_t answers,
                              tsri_serve_failure *f);

#endif
