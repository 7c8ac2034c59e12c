/* cli/serve/calls.h - calls of functions ("tools"): a grammar lets the model write calls in its form alone, with
 * arguments that the functions' parameters allow, and text where it need not call. */
#ifndef TESSERA_CLI_SERVE_CALLS_H
#define TESSERA_CLI_SERVE_CALLS_H

#include "cli/serve/answers.h"

/* Makes the grammar of ask->tools and ask->tool_choice; either may be NULL. False: *f says why. */
bool tsri_serve_calls_ask(tsri_serve_model *model, tsri_serve_ask *ask, tsri_serve_failure *f);
/* Makes the grammar of an answer in channels whose text is JSON of ask->schema. */
bool tsri_serve_calls_schema(const tsri_serve_model *model, tsri_serve_ask *ask,
                             tsri_serve_failure *f);
/* Bytes of the text so far that are content whatever follows: what is held back may begin a call. */
size_t tsri_serve_calls_content(const tsri_serve_choice *choice);
/* Reads the text of a choice that has ended: sets choice->calls, as OpenAI's interface has them, and
 * choice->content. A call that was cut has the arguments so far; one whose name was cut is left out. Whether the calls
 * are whole; false: or there is none. */
bool tsri_serve_calls_take(tsri_serve_choice *choice);
/* A call's object, of a name and the text of arguments. */
json_t *tsri_serve_call_json(const tsri_serve_choice *choice, const char *name, size_t n,
                             const char *arguments, size_t size, size_t number);
/* Turns an earlier message with calls to what the model's template reads. */
void tsri_serve_calls_read(tsri_serve_model *model, json_t *message);

#endif
