/* task/generate/answer.h - the parts of an answer (tsr_answer in tessera/generate.h). */
#ifndef TSRI_TASK_GENERATE_ANSWER_H
#define TSRI_TASK_GENERATE_ANSWER_H

#include "model/model.h"
#include "tessera/generate.h"

/* As tsr_answer_create, of a model that has a tokenizer. */
tsr_status tsri_task_answer_create(const tsri_model *model, const char *prompt, size_t n,
                                   tsr_answer **out);
/* The special token that ends a call in channels; -1: the tokenizer has no channels. */
int32_t tsri_task_end_of_calls(const tsri_text_tokenizer *tokenizer);

#endif
