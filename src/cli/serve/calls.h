/* cli/serve/calls.h - calls of functions ("tools"): the model writes one as JSON, which a schema holds to the
 * function's parameters. */
#ifndef TESSERA_CLI_SERVE_CALLS_H
#define TESSERA_CLI_SERVE_CALLS_H

#include "cli/serve/answers.h"

/* Makes ask->schema and ask->tools_text of "tools" and "tool_choice"; either may be NULL. False: *f says why. */
bool tsri_serve_calls_ask(const json_t *tools, const json_t *choice, tsri_serve_ask *ask,
                          tsri_serve_failure *f);
/* The calls in the whole text of a choice, as OpenAI's interface has them. NULL: there are none, because the text
 * was cut. stream: each has its index. */
json_t *tsri_serve_calls(const tsri_serve_choice *choice, bool stream);
/* Turns the calls in earlier messages to what templates read: arguments are objects. */
void tsri_serve_calls_read(json_t *message);

#endif
