/* task/generate/template.h - chat templates: where a model's files have one, and what it makes of a
 * conversation. */
#ifndef TSRI_TASK_GENERATE_TEMPLATE_H
#define TSRI_TASK_GENERATE_TEMPLATE_H

#include "base/json.h"
#include "model/model.h"
#include "task/generate/decode.h"
#include "tessera/generate.h"

typedef struct tsri_task_template tsri_task_template;

/* Appends the text of the model's own template, which stays empty where its files have none.
 * tools: of several templates, the one named "tool_use" is taken if there is one; else, and
 * otherwise, the one named "default". */
tsr_status tsri_task_template_text(const tsri_model *model, bool tools, tsri_bytes *text);

/* Borrows the model; the options are borrowed for the call.
 * error  TSR_E_STATE        the model has no tokenizer
 *        TSR_E_FORMAT       the template, the list of tools or template_kwargs can't be read
 *        TSR_E_ARGUMENT     template_kwargs has a name that the template has otherwise
 *        TSR_E_UNSUPPORTED  the model has no template and none is given; it has a tag that is not
 *                           served; or nothing would end an answer */
tsr_status tsri_task_template_create(const tsri_model *model, const tsr_chat_options *options,
                                     tsri_task_template **out);
void tsri_task_template_destroy(tsri_task_template **template);

/* Begins a list of messages, with the system's if the options give one. */
tsr_status tsri_task_messages_begin(const tsri_task_template *template, json_t **messages);
/* Appends a message. Bytes that are not UTF-8 become U+FFFD. */
tsr_status tsri_task_messages_add(json_t *messages, const char *role, const char *text, size_t n);

/* Parses a list of messages.
 * error  TSR_E_FORMAT    it is not JSON
 *        TSR_E_ARGUMENT  it is not a list of at least one message with a role */
tsr_status tsri_task_messages_read(const char *text, size_t n, json_t **messages);

/* Appends the text of a conversation; answer: up to where the next answer begins. said: of each byte,
 * whether a message says it.
 * error  TSR_E_ARGUMENT  the template refuses the conversation, in its own words */
tsr_status tsri_task_template_render(const tsri_task_template *template, json_t *messages,
                                     bool answer, tsri_bytes *text, tsri_bytes *said);

/* Appends the text of a conversation, and its ids: those of the template's text alone, as in transformers. Where the model
 * is a GGUF file, its tokenizer's beginning-of-sequence token stands before them once, as in llama.cpp, whether the template
 * writes it or not.
 *
 * answer: up to where the next answer begins; else it ends with the last message
 * text    empty before the call
 * error   TSR_E_ARGUMENT  the template refuses the conversation, in its own words */
tsr_status tsri_task_template_encode(const tsri_task_template *template, json_t *messages,
                                     bool answer, tsri_bytes *text, tsri_text_ids *ids);
/* The same for messages as JSON text (tsr_prompt.messages). */
tsr_status tsri_task_template_encode_json(const tsri_task_template *template, const char *messages,
                                          size_t n, bool answer, tsri_bytes *text,
                                          tsri_text_ids *ids);

/* The ids of a prompt for a decoder, which the context and the options leave room for. template: for the
 * prompt's text; NULL: it stays as it is. */
tsr_status tsri_task_prompt_ids(const tsri_task_decoding *decoding,
                                const tsri_task_template *template, const tsr_prompt *prompt,
                                tsri_text_ids *ids);

/* The tokens that end an answer, besides the model's own: what the template writes after one, if that is a special token,
 * and the end of a call in channels, which files may leave out. At most TSRI_TASK_TEMPLATE_ENDS. */
enum { TSRI_TASK_TEMPLATE_ENDS = 2 };
const int32_t *tsri_task_template_ends(const tsri_task_template *template, uint32_t *n);

#endif
