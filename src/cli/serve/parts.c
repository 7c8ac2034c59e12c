/* cli/serve/parts.c - what a model thinks, says and calls in an answer to a chat. */
#include "cli/serve/parts.h"
#include "cli/serve/calls.h"

#include <stdlib.h>
#include <string.h>

static bool find_channels(const tsri_serve_model *m) {
    const tsr_chat_options chat = {.struct_size = sizeof chat, .template_text = m->template_text};
    char *prompt = NULL;
    size_t n = 0;
    tsr_answer *answer = NULL;
    if (tsr_chat_render(m->model, &chat, "[{\"role\": \"user\", \"content\": \"a\"}]", 1, &prompt,
                        &n) == TSR_OK)
        (void)tsr_answer_create(m->model, prompt, n, &answer);
    const bool found = tsr_answer_has_channels(answer);
    tsr_answer_destroy(&answer);
    tsr_text_free(prompt);
    return found;
}

bool tsri_serve_has_channels(tsri_serve_model *m) {
    if (!m->channels_known) {
        m->channels = m->chats && find_channels(m);
        m->channels_known = true;
    }
    return m->channels;
}

bool tsri_serve_parts_begin(tsri_serve_job *job, const tsr_chat_prompt *prompt,
                            tsri_serve_failure *f) {
    size_t n = 0;
    const char *text = tsr_chat_prompt_text(prompt, &n);
    tsr_status status = TSR_OK;
    for (uint32_t i = 0; job->ask.split && i < job->n && status == TSR_OK; i++)
        status = tsr_answer_create(job->x->model->model, text, n, &job->choices[i].answer);
    return status == TSR_OK || tsri_serve_fail_status(f, status, "messages");
}

/* ---- parts ---- */

/* The call so far is whole, or cut. */
static void end_call(tsri_serve_choice *c) {
    json_t *call = c->function ? tsri_serve_call_json(c, c->function, strlen(c->function),
                                                      c->arguments.data ? c->arguments.data : "",
                                                      c->arguments.size, json_array_size(c->calls))
                               : NULL;
    if (call) {
        c->calls = c->calls ? c->calls : json_array();
        json_array_append_new(c->calls, call);
    }
    tsri_serve_clear(&c->arguments);
    free(c->function);
    c->function = NULL;
}

static int take_part(void *data, const tsr_part *part) {
    tsri_serve_choice *c = data;
    tsri_serve_buffer *const of[] = {[TSR_PART_TEXT] = &c->text,
                                     [TSR_PART_REASONING] = &c->reasoning,
                                     [TSR_PART_CALL] = &c->arguments};
    if (part->kind == TSR_PART_CALL && !part->text_size) {
        end_call(c);
        c->function = strdup(part->function);
    }
    c->thinks = part->kind == TSR_PART_REASONING;
    if (part->text_size)
        tsri_serve_put(of[part->kind], part->text, part->text_size);
    return 0;
}

void tsri_serve_parts_take(tsri_serve_choice *c, const tsr_generated *g) {
    (void)tsr_answer_take(c->answer, g, take_part, c);
}

void tsri_serve_parts_leave(tsri_serve_choice *c) {
    const tsr_generated end = {
        .struct_size = sizeof end, .id = -1, .finish = TSR_FINISH_END, .text = ""};
    if (c->answer)
        tsri_serve_parts_take(c, &end);
    tsr_answer_destroy(&c->answer);
    c->thinks = false;
}

bool tsri_serve_parts_end(tsri_serve_choice *c) {
    json_t *last = c->function && c->arguments.size
                       ? json_loadb(c->arguments.data, c->arguments.size,
                                    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
                       : NULL;
    const bool whole = last != NULL;
    json_decref(last);
    end_call(c);
    return whole;
}
