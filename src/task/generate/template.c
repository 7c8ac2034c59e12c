/* task/generate/template.c - renders a conversation with a chat template, and encodes it. */
#include "task/generate/template.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/text.h"
#include "task/generate/answer.h"
#include "task/generate/decode.h"
#include "text/base/unicode.h"
#include "text/jinja/jinja.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

struct tsri_task_template {
    const tsri_model *model;
    tsri_jinja *jinja;
    json_t *context;   /* what the template reads, besides messages and add_generation_prompt */
    json_t *variables; /* what the caller adds to that; NULL: nothing */
    char *system;      /* NULL: none */
    int32_t ends[TSRI_TASK_TEMPLATE_ENDS];
    uint32_t n_ends;
};

/* ---- messages ---- */

tsr_status tsri_task_messages_add(json_t *messages, const char *role, const char *text, size_t n) {
    tsri_bytes repaired = {0};
    if (!tsri_text_utf8_valid(text, n)) {
        TRY(tsri_text_utf8_repair(text, n, &repaired));
        text = repaired.data;
        n = repaired.size;
    }
    json_t *message = json_object();
    tsri_base_json_put(message, "role", json_string(role));
    tsri_base_json_put(message, "content", json_stringn(text, n));
    tsri_base_json_append(messages, message);
    tsri_base_bytes_clear(&repaired);
    return tsri_base_json_made(messages, "a message");
}

tsr_status tsri_task_messages_begin(const tsri_task_template *t, json_t **messages) {
    *messages = json_array();
    return t->system ? tsri_task_messages_add(*messages, "system", t->system, strlen(t->system))
                     : tsri_base_json_made(*messages, "messages");
}

tsr_status tsri_task_messages_read(const char *text, size_t n, json_t **messages) {
    TRY(tsri_base_json_parse_said(text, n, DEPTH, "messages", messages));
    bool list = json_array_size(*messages) > 0;
    for (size_t i = 0; i < json_array_size(*messages); i++)
        list &= json_is_string(json_object_get(json_array_get(*messages, i), "role"));
    if (list)
        return TSR_OK;
    json_decref(*messages);
    *messages = NULL;
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "messages: a list of objects with \"role\" and \"content\" is wanted, of "
                          "at least one");
}

/* ---- rendering ---- */

tsr_status tsri_task_template_render(const tsri_task_template *t, json_t *messages, bool answer,
                                     tsri_bytes *text, tsri_bytes *said) {
    json_t *context = json_copy(t->context);
    tsri_base_json_put(context, "messages", json_incref(messages));
    tsri_base_json_put(context, "add_generation_prompt", json_boolean(answer));
    tsr_status status = tsri_base_json_made(context, "a conversation");
    if (status == TSR_OK)
        status = tsri_jinja_render(t->jinja, context, t->variables, 0, text, said);
    json_decref(context);
    return status;
}

/* The token that is put before a conversation whose template doesn't write it; -1: none. */
static int32_t begin_of(const tsri_model *model) {
    const bool gguf = model->archive && model->archive->format == TSRI_IO_GGUF;
    return gguf && tsri_text_adds_bos(model->tokenizer)
               ? tsri_text_role_id(model->tokenizer, TSRI_TEXT_BOS)
               : -1;
}

tsr_status tsri_task_template_encode(const tsri_task_template *t, json_t *messages, bool answer,
                                     tsri_bytes *text, tsri_text_ids *ids) {
    const tsri_text_tokenizer *tokenizer = t->model->tokenizer;
    const int32_t bos = begin_of(t->model);
    tsri_bytes said = {0};
    tsri_text_ids found = {0};
    tsr_status status = tsri_task_template_render(t, messages, answer, text, &said);
    if (status == TSR_OK && text->size)
        status = tsri_text_encode_marked(tokenizer, text->data, said.data, text->size, &found);
    if (status == TSR_OK && bos >= 0 && (!found.count || found.data[0] != bos))
        status = tsri_text_ids_append(ids, &bos, 1);
    if (status == TSR_OK && found.count)
        status = tsri_text_ids_append(ids, found.data, found.count);
    if (status == TSR_OK)
        status = tsri_task_check_vocabulary(ids, t->model->spec.vocab);
    if (status == TSR_OK && !ids->count)
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: the chat template writes nothing for this conversation",
                                t->model->path);
    tsri_base_bytes_clear(&said);
    tsri_text_ids_clear(&found);
    return status;
}

tsr_status tsri_task_template_encode_json(const tsri_task_template *t, const char *messages,
                                          size_t n, bool answer, tsri_bytes *text,
                                          tsri_text_ids *ids) {
    json_t *list = NULL;
    TRY(tsri_task_messages_read(messages, n, &list));
    const tsr_status status = tsri_task_template_encode(t, list, answer, text, ids);
    json_decref(list);
    return status;
}

/* ---- the end of an answer ---- */

/* Whether the first token of what the template writes behind an answer is a special one. */
static tsr_status find_end(tsri_task_template *t, const tsri_bytes *text, const tsri_bytes *said) {
    tsri_text_ids ids = {0};
    size_t at = text->size;
    while (at && !said->data[at - 1])
        at--;
    if (!at) /* the template doesn't write the answer */
        return TSR_OK;
    at += tsri_base_blank_begin(text->data + at, text->size - at);
    const tsr_status status = tsri_text_encode(t->model->tokenizer, text->data + at,
                                               text->size - at, TSRI_TEXT_PARSE_SPECIAL, &ids);
    if (ids.count && tsri_text_is_special(t->model->tokenizer, ids.data[0]) &&
        ids.data[0] < t->model->spec.vocab)
        t->ends[t->n_ends++] = ids.data[0];
    tsri_text_ids_clear(&ids);
    return status;
}

/* Renders a short conversation with its answer. A template may refuse that; then only the model's
 * own end tokens end an answer. */
static tsr_status learn_end(tsri_task_template *t) {
    tsri_bytes text = {0}, said = {0};
    json_t *messages = json_array();
    tsr_status status = tsri_task_messages_add(messages, "user", "a", 1);
    if (status == TSR_OK)
        status = tsri_task_messages_add(messages, "assistant", "b", 1);
    if (status == TSR_OK && tsri_task_template_render(t, messages, false, &text, &said) == TSR_OK)
        status = find_end(t, &text, &said);
    json_decref(messages);
    tsri_base_bytes_clear(&text);
    tsri_base_bytes_clear(&said);
    if (status != TSR_OK || t->n_ends || t->model->spec.n_eos)
        return status;
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "%s: nothing would end an answer: its files name no end token, and what "
                          "the chat template writes after an answer is not a special token of its "
                          "tokenizer; give the template that it was trained with (--chat-template)",
                          t->model->path);
}

static void add_end_of_calls(tsri_task_template *t) {
    const int32_t id = tsri_task_end_of_calls(t->model->tokenizer);
    if (id >= 0 && id < t->model->spec.vocab)
        t->ends[t->n_ends++] = id;
}

const int32_t *tsri_task_template_ends(const tsri_task_template *t, uint32_t *n) {
    *n = t->n_ends;
    return t->ends;
}

/* ---- creation ---- */

static tsr_status read_template(tsri_task_template *t, const tsr_chat_options *o) {
    tsri_bytes own = {0};
    if (o->template_text)
        return tsri_jinja_parse(o->template_text, strlen(o->template_text), &t->jinja);
    tsr_status status = tsri_task_template_text(t->model, o->tools, &own);
    if (status == TSR_OK && own.size) {
        status = tsri_jinja_parse(own.data, own.size, &t->jinja);
        if (status != TSR_OK)
            tsri_base_fail_within(status, "%s", t->model->path);
    } else if (status == TSR_OK)
        status = tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s has no chat template, so it may not be an instruction model: "
                                "give the one that it was trained with (--chat-template FILE)",
                                t->model->path);
    tsri_base_bytes_clear(&own);
    return status;
}

static tsr_status read_tools(const char *text, json_t **tools) {
    TRY(tsri_base_json_parse_said(text, strlen(text), DEPTH, "the tools", tools));
    return json_is_array(*tools)
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "the tools are not a list: JSON of the form "
                                              "[{\"type\": \"function\", \"function\": {...}}] is "
                                              "wanted");
}

/* The names that transformers gives a template's special tokens. */
static const struct {
    tsri_text_role role;
    const char *name;
} tokens[] = {{TSRI_TEXT_BOS, "bos_token"},  {TSRI_TEXT_EOS, "eos_token"},
              {TSRI_TEXT_UNK, "unk_token"},  {TSRI_TEXT_PAD, "pad_token"},
              {TSRI_TEXT_CLS, "cls_token"},  {TSRI_TEXT_SEP, "sep_token"},
              {TSRI_TEXT_MASK, "mask_token"}};

static tsr_status make_context(tsri_task_template *t, const tsr_chat_options *o) {
    const tsri_text_tokenizer *tokenizer = t->model->tokenizer;
    json_t *tools = NULL;
    t->context = json_object();
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        const int32_t id = tsri_text_role_is_unnamed(tokenizer, tokens[i].role)
                               ? -1
                               : tsri_text_role_id(tokenizer, tokens[i].role);
        size_t n = 0;
        const char *piece = id >= 0 ? tsri_text_piece_of(tokenizer, id, &n) : NULL;
        if (piece && tsri_text_utf8_valid(piece, n))
            tsri_base_json_put(t->context, tokens[i].name, json_stringn(piece, n));
    }
    const tsr_status status = o->tools ? read_tools(o->tools, &tools) : TSR_OK;
    tsri_base_json_put(t->context, "tools", tools ? tools : json_null());
    tsri_base_json_put(t->context, "documents", json_null());
    return status != TSR_OK ? status : tsri_base_json_made(t->context, "a chat template's names");
}

/* Whether every template gets this variable from us. `documents` is not such a one: only a caller sets it. */
static bool is_taken(const char *name) {
    bool found = !strcmp(name, "messages") || !strcmp(name, "add_generation_prompt") ||
                 !strcmp(name, "tools");
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        found |= !strcmp(name, tokens[i].name);
    return found;
}

static tsr_status read_variables(tsri_task_template *t, const char *text) {
    const char *name;
    json_t *value;
    TRY(tsri_base_json_parse_said(text, strlen(text), DEPTH, "template_kwargs", &t->variables));
    if (!json_is_object(t->variables))
        return tsri_base_fail(TSR_E_FORMAT, "template_kwargs: a JSON object is wanted, such as "
                                            "{\"enable_thinking\": false}");
    json_object_foreach(t->variables, name, value) {
        if (is_taken(name))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "template_kwargs: the template has \"%s\" otherwise, so it can't "
                                  "be given here",
                                  name);
    }
    return TSR_OK;
}

static tsr_status check_model(const tsri_model *model) {
    return model->tokenizer
               ? TSR_OK
               : tsri_base_fail(
                     TSR_E_STATE,
                     "%s has no tokenizer that can be used%s%s: a conversation needs one",
                     model->path, model->tokenizer_why ? ": " : "",
                     model->tokenizer_why ? model->tokenizer_why : "");
}

static tsr_status fill(tsri_task_template *t, const tsr_chat_options *o) {
    if (o->system && *o->system) {
        t->system = tsri_base_copy_text(o->system, strlen(o->system));
        if (!t->system)
            return TSR_E_HOST_MEMORY;
    }
    TRY(read_template(t, o));
    TRY(make_context(t, o));
    TRY(learn_end(t)); /* without the caller's variables, whose texts would hide it */
    add_end_of_calls(t);
    return o->template_kwargs ? read_variables(t, o->template_kwargs) : TSR_OK;
}

tsr_status tsri_task_template_create(const tsri_model *model, const tsr_chat_options *options,
                                     tsri_task_template **out) {
    tsr_chat_options known;
    tsri_task_template *t = NULL;
    *out = NULL;
    TRY(tsri_base_adopt("tsr_chat_options", options, &known, sizeof known));
    TRY(check_model(model));
    TRY(tsri_base_new(1, sizeof *t, &t));
    t->model = model;
    const tsr_status status = fill(t, &known);
    if (status != TSR_OK)
        tsri_task_template_destroy(&t);
    *out = t;
    return status;
}

void tsri_task_template_destroy(tsri_task_template **template) {
    tsri_task_template *t = *template;
    if (!t)
        return;
    tsri_jinja_destroy(&t->jinja);
    json_decref(t->context);
    json_decref(t->variables);
    free(t->system);
    free(t);
    *template = NULL;
}
