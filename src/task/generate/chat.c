/* task/generate/chat.c - conversations: all messages are rendered for each turn, and the tokens that
 * the slot of key/value memory doesn't hold yet are fed. */
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/generate/answer.h"
#include "task/generate/decode.h"
#include "task/generate/template.h"

#include <stdlib.h>
#include <string.h>

struct tsr_chat {
    tsri_model *model;
    tsri_session *session;
    tsri_task_template *template;
    json_t *messages;
    tsri_task_own_options own;
    tsri_task_sequence sequence;
    tsr_part_fn part; /* NULL: nobody listens */
    void *part_data;
};

tsr_status tsr_chat_template_of(const tsr_model *model, char **text, size_t *n) {
    tsri_bytes found = {0};
    TRY(NEED(model));
    TRY(NEED(text));
    *text = NULL;
    const tsr_status status = tsri_task_template_text(tsri_model_of(model), false, &found);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&found);
        return status;
    }
    *text = found.data;
    if (n)
        *n = found.size;
    return TSR_OK;
}

static tsr_status render(const tsri_model *model, const tsr_chat_options *how, const char *messages,
                         bool answer, tsri_bytes *text) {
    tsri_task_template *template = NULL;
    tsri_bytes said = {0};
    json_t *list = NULL;
    TRY(tsri_task_template_create(model, how, &template));
    tsr_status status = tsri_task_messages_read(messages, strlen(messages), &list);
    if (status == TSR_OK)
        status = tsri_task_template_render(template, list, answer, text, &said);
    if (status == TSR_OK)
        status = tsri_base_bytes_append(text, "", 0); /* not NULL, also where it is empty */
    tsri_base_bytes_clear(&said);
    json_decref(list);
    tsri_task_template_destroy(&template);
    return status;
}

tsr_status tsr_chat_render(const tsr_model *model, const tsr_chat_options *chat,
                           const char *messages, uint32_t answer, char **text, size_t *n) {
    tsri_bytes found = {0};
    TRY(NEED(model));
    TRY(NEED(messages));
    TRY(NEED(text));
    *text = NULL;
    const tsr_status status = render(tsri_model_of(model), chat, messages, answer != 0, &found);
    if (status != TSR_OK) {
        tsri_base_bytes_clear(&found);
        return status;
    }
    *text = found.data;
    if (n)
        *n = found.size;
    return TSR_OK;
}

/* The most tokens of the whole conversation. */
static int64_t room_of(const tsri_model *m, const tsr_generate_options *o) {
    const int64_t context = o->context ? o->context : m->spec.context;
    return o->max_new_tokens < 0 && o->max_length && o->max_length < context ? o->max_length
                                                                             : context;
}

static tsr_status begin(tsr_chat *chat, const tsr_chat_options *how,
                        const tsr_generate_options *options) {
    tsr_chat_options known;
    TRY(tsri_base_adopt("tsr_chat_options", how, &known, sizeof known));
    chat->part = known.part;
    chat->part_data = known.part_data;
    TRY(tsri_task_own_options_copy(options, &chat->own));
    TRY(tsri_task_template_create(chat->model, how, &chat->template));
    TRY(tsri_task_messages_begin(chat->template, &chat->messages));
    return tsri_session_create(chat->model, 1, room_of(chat->model, options), &chat->session);
}

tsr_status tsr_chat_create(tsr_model *model, const tsr_chat_options *how,
                           const tsr_generate_options *options, tsr_chat **out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsri_model *m = tsri_model_of(model);
    tsr_generate_options known;
    tsr_chat *chat = NULL;
    *out = NULL;
    TRY(tsri_model_need_device(m));
    TRY(tsri_task_adopt_search(m, options, &known));
    if (!options) /* the model's settings may ask for a search */
        known.num_beams = known.n_best = 0;
    TRY(tsri_task_options_check(&known, m));
    if (known.num_beams > 1)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "num_beams is %u; answers of a conversation are not searched: give 1, "
            "or use tsr_generate",
            known.num_beams);
    TRY(tsri_base_new(1, sizeof *chat, &chat));
    chat->model = m;
    const tsr_status status = begin(chat, how, &known);
    if (status != TSR_OK)
        tsr_chat_destroy(&chat);
    *out = chat;
    return status;
}

void tsr_chat_destroy(tsr_chat **chat) {
    tsr_chat *c = chat ? *chat : NULL;
    if (!c)
        return;
    tsri_session_destroy(&c->session);
    tsri_task_template_destroy(&c->template);
    json_decref(c->messages);
    tsri_task_sequence_clear(&c->sequence);
    tsri_task_own_options_clear(&c->own);
    free(c);
    *chat = NULL;
}

/* ---- a turn ---- */

/* How many of the new ids the slot holds already. At least one is fed; all are where a key depends on
 * the length of the run that it was computed in (dynamic scaling). */
static int64_t held(const tsr_chat *chat, const tsri_text_ids *ids) {
    const tsri_task_sequence *s = &chat->sequence;
    const int64_t common = (int64_t)tsri_text_ids_common(&s->ids, ids),
                  has = common < s->past ? common : s->past, most = (int64_t)ids->count - 1;
    if (chat->model->spec.decoder.rope.scaling == TSRI_SCALING_DYNAMIC)
        return 0;
    return has < most ? has : most;
}

/* Makes the sequence anew for an answer, over the same slot. */
static tsr_status begin_answer(tsr_chat *chat, tsri_text_ids *ids) {
    const int64_t past = held(chat, ids);
    tsri_task_sequence_clear(&chat->sequence);
    chat->sequence = (tsri_task_sequence){.ids = *ids, .past = past};
    *ids = (tsri_text_ids){0};
    return tsri_task_sequence_begin(&chat->sequence, chat->model, &chat->own.options);
}

static tsr_status check_length(const tsr_chat *chat, const tsri_text_ids *ids) {
    const int64_t most = chat->model->spec.context, context = tsri_session_context(chat->session);
    char raise[80] = "";
    if ((int64_t)ids->count < context)
        return TSR_OK;
    if (context < most)
        snprintf(raise, sizeof raise, ", or raise -c up to what the model reads (%lld)",
                 (long long)most);
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "with this turn the conversation has %zu tokens, and the context holds "
                          "%lld, including the answer: say less, or begin anew%s",
                          ids->count, (long long)context, raise);
}

/* Passes what is generated on to the caller, and keeps the parts for the next turns. */
typedef struct listening {
    const tsr_chat *chat;
    tsr_generated_fn generated;
    void *data;
    tsr_answer *answer;
    tsri_bytes text, reasoning, arguments;
    json_t *calls;
    tsr_status status;
} listening;

/* The call so far has its arguments. */
static void end_call(listening *l) {
    json_t *call = json_array_get(l->calls, json_array_size(l->calls) - 1);
    json_t *arguments = call && l->arguments.size
                            ? json_loadb(l->arguments.data, l->arguments.size, JSON_ALLOW_NUL, NULL)
                            : NULL;
    if (arguments)
        tsri_base_json_put(json_object_get(call, "function"), "arguments", arguments);
    l->arguments.size = 0;
}

static void begin_call(listening *l, const char *name) {
    json_t *function = json_object(), *call = json_object();
    end_call(l);
    l->calls = l->calls ? l->calls : json_array();
    tsri_base_json_put(function, "name", json_string(name));
    tsri_base_json_put(function, "arguments", json_object());
    tsri_base_json_put(call, "type", json_string("function"));
    tsri_base_json_put(call, "function", function);
    tsri_base_json_append(l->calls, call);
}

static int take_part(void *data, const tsr_part *part) {
    listening *l = data;
    tsri_bytes *const of[] = {[TSR_PART_TEXT] = &l->text,
                              [TSR_PART_REASONING] = &l->reasoning,
                              [TSR_PART_CALL] = &l->arguments};
    if (part->kind == TSR_PART_CALL && !part->text_size)
        begin_call(l, part->function);
    l->status = tsri_base_bytes_append(of[part->kind], part->text, part->text_size);
    return l->status != TSR_OK || (l->chat->part && l->chat->part(l->chat->part_data, part));
}

static int listen(void *data, const tsr_generated *g) {
    listening *l = data;
    const tsr_status status = tsr_answer_take(l->answer, g, take_part, l);
    if (l->status == TSR_OK && status != TSR_E_CANCELLED)
        l->status = status;
    return status != TSR_OK || (l->generated && l->generated(l->data, g));
}

/* Adds the answer to the conversation. */
static tsr_status keep(tsr_chat *chat, listening *l) {
    end_call(l);
    TRY(tsri_task_messages_add(chat->messages, "assistant", l->text.size ? l->text.data : "",
                               l->text.size));
    json_t *message = json_array_get(chat->messages, json_array_size(chat->messages) - 1);
    if (l->reasoning.size)
        tsri_base_json_put(message, "reasoning_content",
                           json_stringn(l->reasoning.data, l->reasoning.size));
    if (l->calls)
        tsri_base_json_put(message, "tool_calls", json_incref(l->calls));
    return tsri_base_json_made(chat->messages, "a message");
}

static void forget(listening *l) {
    tsr_answer_destroy(&l->answer);
    tsri_base_bytes_clear(&l->text);
    tsri_base_bytes_clear(&l->reasoning);
    tsri_base_bytes_clear(&l->arguments);
    json_decref(l->calls);
}

static tsr_status decode(tsr_chat *chat, listening *l, tsr_generate_stats *counted) {
    uint32_t n_ends = 0;
    const int32_t *ends = tsri_task_template_ends(chat->template, &n_ends);
    const tsri_task_decoding decoding = {.model = chat->model,
                                         .session = chat->session,
                                         .options = &chat->own.options,
                                         .context = tsri_session_context(chat->session),
                                         .generated = listen,
                                         .data = l,
                                         .stats = counted,
                                         .ends = ends,
                                         .n_ends = n_ends};
    const tsr_status status = tsri_task_decode(&decoding, &chat->sequence, 1);
    return l->status != TSR_OK ? l->status : status;
}

static tsr_status answer(tsr_chat *chat, listening *l, tsr_generate_stats *counted) {
    tsri_text_ids ids = {0};
    tsri_bytes text = {0};
    tsr_status status =
        tsri_task_template_encode(chat->template, chat->messages, true, &text, &ids);
    if (status == TSR_OK) /* what the answer follows says how it begins */
        status =
            tsri_task_answer_create(chat->model, text.size ? text.data : "", text.size, &l->answer);
    if (status == TSR_OK)
        status = check_length(chat, &ids);
    if (status == TSR_OK)
        status = begin_answer(chat, &ids);
    tsri_base_bytes_clear(&text);
    tsri_text_ids_clear(&ids);
    return status == TSR_OK ? decode(chat, l, counted) : status;
}

tsr_status tsr_chat_say(tsr_chat *chat, const char *text, size_t size, tsr_generated_fn generated,
                        void *data, tsr_generate_stats *stats) {
    TRY(NEED(chat));
    TRY(NEED_ARRAY(text, size));
    TRY(tsri_base_check_out("tsr_generate_stats", stats));
    listening l = {.chat = chat, .generated = generated, .data = data};
    tsr_generate_stats counted = {0};
    const size_t before = json_array_size(chat->messages);
    tsr_status status = tsri_task_messages_add(chat->messages, "user", size ? text : "", size);
    if (status == TSR_OK)
        status = answer(chat, &l, &counted);
    if (status == TSR_OK || status == TSR_E_CANCELLED) {
        const tsr_status kept = keep(chat, &l);
        status = kept != TSR_OK ? kept : status;
    }
    if (status != TSR_OK && status != TSR_E_CANCELLED) /* forget the turn */
        while (json_array_size(chat->messages) > before)
            json_array_remove(chat->messages, before);
    forget(&l);
    tsri_base_give(&counted, sizeof counted, stats);
    return status;
}
