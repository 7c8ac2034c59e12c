/* cli/serve/parts.h - what a model thinks, says and calls in an answer to a chat (tsr_answer), as fields of a message. */
#ifndef TESSERA_CLI_SERVE_PARTS_H
#define TESSERA_CLI_SERVE_PARTS_H

#include "cli/serve/answers.h"

/* Whether the model answers in channels, as gpt-oss does. */
bool tsri_serve_has_channels(tsri_serve_model *model);
/* Begins the parts of each of a job's choices, behind the prompt. False: *f says why. */
bool tsri_serve_parts_begin(tsri_serve_job *job, const tsr_chat_prompt *prompt,
                            tsri_serve_failure *f);
/* Takes a token: what is thought goes to choice->reasoning, what is said to choice->text. */
void tsri_serve_parts_take(tsri_serve_choice *choice, const tsr_generated *generated);
/* Gives what was held back, and takes no more tokens: those that follow are a call, whose text goes to choice->text as it
 * is. */
void tsri_serve_parts_leave(tsri_serve_choice *choice);
/* At the end of an answer in channels: sets choice->calls. Whether there are calls, and all are whole. */
bool tsri_serve_parts_end(tsri_serve_choice *choice);

#endif
