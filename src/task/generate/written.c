/* task/generate/written.c - a conversation that a chat template has written once: its text, its tokens and what ends
 * the answer. */
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/generate/template.h"

#include <stdlib.h>
#include <string.h>

struct tsr_chat_prompt {
    tsri_bytes text;
    tsri_text_ids ids;
    int32_t ends[TSRI_TASK_TEMPLATE_ENDS];
    uint32_t n_ends;
};

tsr_status tsr_chat_prompt_create(const tsr_model *model, const tsr_chat_options *chat,
                                  const char *messages, tsr_chat_prompt **out) {
    tsri_task_template *template = NULL;
    tsr_chat_prompt *prompt = NULL;
    TRY(NEED(model));
    TRY(NEED(messages));
    TRY(NEED(out));
    *out = NULL;
    TRY(tsri_task_template_create(tsri_model_of(model), chat, &template));
    tsr_status status = tsri_base_new(1, sizeof *prompt, &prompt);
    if (status == TSR_OK)
        status = tsri_task_template_encode_json(template, messages, strlen(messages), true,
                                                &prompt->text, &prompt->ids);
    if (status == TSR_OK) {
        const int32_t *ends = tsri_task_template_ends(template, &prompt->n_ends);
        memcpy(prompt->ends, ends, prompt->n_ends * sizeof *ends);
        *out = prompt;
    } else {
        tsr_chat_prompt_destroy(&prompt);
    }
    tsri_task_template_destroy(&template);
    return status;
}

void tsr_chat_prompt_destroy(tsr_chat_prompt **prompt) {
    if (!prompt || !*prompt)
        return;
    tsri_base_bytes_clear(&(*prompt)->text);
    tsri_text_ids_clear(&(*prompt)->ids);
    free(*prompt);
    *prompt = NULL;
}

const char *tsr_chat_prompt_text(const tsr_chat_prompt *prompt, size_t *n) {
    if (n)
        *n = prompt ? prompt->text.size : 0;
    return prompt && prompt->text.data ? prompt->text.data : "";
}

const int32_t *tsr_chat_prompt_ids(const tsr_chat_prompt *prompt, uint32_t *n) {
    if (n)
        *n = prompt ? (uint32_t)prompt->ids.count : 0;
    return prompt ? prompt->ids.data : NULL;
}

const int32_t *tsr_chat_prompt_ends(const tsr_chat_prompt *prompt, uint32_t *n) {
    if (n)
        *n = prompt ? prompt->n_ends : 0;
    return prompt ? prompt->ends : NULL;
}
