/* cli/serve/messages.h - the messages of a chat. */
#ifndef TESSERA_CLI_SERVE_MESSAGES_H
#define TESSERA_CLI_SERVE_MESSAGES_H

#include "cli/serve/server.h"

/* Changes a body's messages to what a chat template reads: contents become texts, calls have the model's form, and fields
 * that are null are left out. False: *f says why not. */
bool tsri_serve_plain_messages(tsri_serve_model *model, json_t *messages, tsri_serve_failure *f);
/* Removes an object's own fields that are null: they count as missing. */
void tsri_serve_drop_nulls(json_t *object);

#endif
