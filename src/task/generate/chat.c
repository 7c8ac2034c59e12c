/* task/generate/chat.c - conversations: finds a model's template, and keeps the turns in one slot
 * of key/value memory. */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/model.h"
#include "task/generate/decode.h"
#include "task/generate/templates.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONFIG_LIMIT = 1 << 28, CONFIG_DEPTH = 64, TEMPLATE_LIMIT = 1 << 22 };

/* ---- the template of a model ---- */

/* Reads chat_template of tokenizer_config.json: a text, or a list of {"name", "template"} of which
 * one is named "default". */
static tsr_status from_config(const char *path, tsri_bytes *text) {
    json_t *config = NULL;
    TRY(tsri_base_json_load(path, CONFIG_LIMIT, CONFIG_DEPTH, &config));
    const json_t *value = json_object_get(config, "chat_template"), *item;
    size_t i;
    json_array_foreach(value, i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name && !strcmp(name, "default")) {
            value = json_object_get(item, "template");
            break;
        }
    }
    tsr_status status = TSR_OK;
    if (json_is_string(value))
        status = tsri_base_bytes_append(text, json_string_value(value), json_string_length(value));
    else if (json_is_array(value))
        status = tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: chat_template has %zu templates, but none is named \"default\": choose one of %s "
            "with --chat-template",
            path, json_array_size(value), tsri_task_template_list());
    else if (value && !json_is_null(value))
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: chat_template is neither a text nor a list of texts", path);
    json_decref(config);
    return status;
}

/* The template's text in the model's files; *text stays empty where they have none. */
static tsr_status template_text(const tsri_model *model, tsri_bytes *text) {
    if (model->archive && model->archive->format == TSRI_IO_GGUF) {
        const char *found = NULL;
        size_t n = 0;
        TRY(tsri_io_meta_text(model->archive, "tokenizer.chat_template", &found, &n));
        return found ? tsri_base_bytes_append(text, found, n) : TSR_OK;
    }
    if (!tsri_base_is_folder(model->path))
        return TSR_OK;
    char *jinja = tsri_base_join(model->path, "chat_template.jinja"),
         *config = tsri_base_join(model->path, "tokenizer_config.json");
    tsr_status status = jinja && config ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_file(jinja))
        status = tsri_base_read_whole(jinja, TEMPLATE_LIMIT, text);
    else if (status == TSR_OK && tsri_base_is_file(config))
        status = from_config(config, text);
    free(jinja);
    free(config);
    return status;
}

/* The template that the model's files have; *row is NULL where they have none. */
static tsr_status template_of(const tsri_model *model, const tsri_task_template **row) {
    tsri_bytes text = {0};
    *row = NULL;
    tsr_status status = template_text(model, &text);
    if (status == TSR_OK && text.size) {
        status = tsri_task_template_of_text(text.data, text.size, row);
        if (status == TSR_OK && !*row)
            status =
                tsri_base_fail(TSR_E_UNSUPPORTED,
                               "%s: Tessera does not know its chat template (%zu bytes): choose "
                               "one of %s with --chat-template",
                               model->path, text.size, tsri_task_template_list());
    }
    tsri_base_bytes_clear(&text);
    return status;
}

const char *tsr_chat_template_name(size_t i) {
    return tsri_task_template_name(i);
}

tsr_status tsr_chat_template_of(const tsr_model *model, const char **name) {
    TRY(NEED(model));
    TRY(NEED(name));
    const tsri_task_template *row;
    *name = NULL;
    TRY(template_of(tsri_model_of(model), &row));
    *name = row ? row->name : NULL;
    return TSR_OK;
}

/* ---- a conversation ---- */

struct tsr_chat {
    tsri_model *model;
    tsri_session *session;
    const tsri_task_template *row;
    tsr_generate_options options;
    char **stop; /* copies of the options' */
    char *system, *bos, *eos;
    int32_t end; /* the token that ends an answer; -1: only the model's own end tokens do */
    tsri_task_sequence sequence;
};

/* "24 Nov 2025", as templates write it in any locale. */
static void write_date(char out[32]) {
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const time_t now = time(NULL);
    struct tm day = {0};
    localtime_r(&now, &day);
    snprintf(out, 32, "%02d %s %d", day.tm_mday, months[day.tm_mon], day.tm_year + 1900);
}

/* The text of the token with this role; "" where there is none. */
static char *role_text(const tsri_text_tokenizer *tokenizer, tsri_text_role role) {
    const int32_t id = tsri_text_role_id(tokenizer, role);
    size_t n = 0;
    const char *text = id >= 0 ? tsri_text_piece_of(tokenizer, id, &n) : NULL;
    return tsri_base_copy_text(text ? text : "", n);
}

static tsr_status copy_options(tsr_chat *chat, const tsr_generate_options *options) {
    chat->options = *options;
    chat->options.n_stop = 0;
    TRY(tsri_base_new(options->n_stop, sizeof *chat->stop, &chat->stop));
    for (uint32_t i = 0; i < options->n_stop; i++) {
        chat->stop[i] = tsri_base_copy_text(options->stop[i], strlen(options->stop[i]));
        if (!chat->stop[i])
            return TSR_E_HOST_MEMORY;
        chat->options.n_stop++;
    }
    chat->options.stop = (const char *const *)chat->stop;
    return TSR_OK;
}

static tsr_status find_end(tsr_chat *chat) {
    const char *end = strcmp(chat->row->end, "{eos}") ? chat->row->end : chat->eos;
    chat->end = *end ? tsri_text_id_of(chat->model->tokenizer, end, strlen(end)) : -1;
    if (chat->end >= chat->model->spec.vocab)
        chat->end = -1;
    if (chat->end >= 0 || (end == chat->eos && chat->model->spec.n_eos))
        return TSR_OK;
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s: the chat template %s ends an answer with %s, which is not a token of "
        "this model: choose another one of %s",
        chat->model->path, chat->row->name, *end ? end : "the end-of-sequence token",
        tsri_task_template_list());
}

static tsr_status choose_template(const tsri_model *model, const char *name,
                                  const tsri_task_template **row) {
    if (!name) {
        TRY(template_of(model, row));
        return *row ? TSR_OK
                    : tsri_base_fail(TSR_E_UNSUPPORTED,
                                     "%s has no chat template, so it may not be an instruction "
                                     "model: choose one of %s with --chat-template",
                                     model->path, tsri_task_template_list());
    }
    *row = tsri_task_template_named(name);
    if (!*row)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s is not a chat template; known ones are %s",
                              name, tsri_task_template_list());
    /* Where the model's own template has this name, use it: it knows the model's spaces and
     * defaults. */
    const tsri_task_template *own;
    if (template_of(model, &own) == TSR_OK && own && !strcmp(own->name, name))
        *row = own;
    return TSR_OK;
}

static tsr_status check_model(const tsri_model *model) {
    TRY(tsri_model_need_device(model));
    if (!model->tokenizer)
        return tsri_base_fail(TSR_E_STATE,
                              "%s has no tokenizer that can be used%s%s: a conversation needs one",
                              model->path, model->tokenizer_why ? ": " : "",
                              model->tokenizer_why ? model->tokenizer_why : "");
    return TSR_OK;
}

/* The most tokens of the whole conversation. */
static int64_t room_of(const tsri_model *m, const tsr_generate_options *o) {
    const int64_t context = o->context ? o->context : m->spec.context;
    return o->max_new_tokens < 0 && o->max_length && o->max_length < context ? o->max_length
                                                                             : context;
}

tsr_status tsr_chat_create(tsr_model *model, const char *template_name, const char *system,
                           const tsr_generate_options *options, tsr_chat **out) {
    TRY(NEED(model));
    TRY(NEED(out));
    tsri_model *m = tsri_model_of(model);
    const tsri_task_template *row;
    tsr_generate_options known;
    tsr_chat *chat = NULL;
    *out = NULL;
    TRY(check_model(m));
    TRY(tsri_task_adopt_search(m, options, &known));
    TRY(tsri_task_options_check(&known, m));
    TRY(choose_template(m, template_name, &row));
    TRY(tsri_base_new(1, sizeof *chat, &chat));
    chat->model = m;
    chat->row = row;
    chat->system = tsri_base_copy_text(system ? system : "", system ? strlen(system) : 0);
    chat->bos = role_text(m->tokenizer, TSRI_TEXT_BOS);
    chat->eos = role_text(m->tokenizer, TSRI_TEXT_EOS);
    tsr_status status =
        chat->system && chat->bos && chat->eos ? copy_options(chat, &known) : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = find_end(chat);
    if (status == TSR_OK)
        status = tsri_session_create(m, 1, room_of(m, &chat->options), &chat->session);
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
    tsri_task_sequence_clear(&c->sequence);
    for (uint32_t i = 0; i < c->options.n_stop; i++)
        free(c->stop[i]);
    free(c->stop);
    free(c->system);
    free(c->bos);
    free(c->eos);
    free(c);
    *chat = NULL;
}

/* ---- a turn ---- */

/* Whether the tokenizer would find special tokens in the words of a turn. */
static tsr_status holds_special(const tsri_text_tokenizer *tokenizer, const char *text, size_t n,
                                bool *out) {
    tsri_text_ids parsed = {0}, plain = {0};
    tsr_status status = tsri_text_encode(tokenizer, text, n, TSRI_TEXT_PARSE_SPECIAL, &parsed);
    if (status == TSR_OK)
        status = tsri_text_encode(tokenizer, text, n, 0, &plain);
    *out = parsed.count != plain.count ||
           (plain.count && memcmp(parsed.data, plain.data, plain.count * sizeof *plain.data) != 0);
    tsri_text_ids_clear(&parsed);
    tsri_text_ids_clear(&plain);
    return status;
}

/* Only the template may give special tokens. Words are encoded together with the text around them,
 * as the model learned it, unless they contain the text of a special token: then each part is
 * encoded alone, and the words without special tokens. */
static tsr_status encode_written(const tsri_text_tokenizer *tokenizer,
                                 const tsri_task_written *written, tsri_text_ids *ids) {
    const char *text = written->text.data;
    bool special = false;
    size_t done = 0;
    for (size_t i = 0; i < written->n_said && !special; i++)
        TRY(holds_special(tokenizer, text + written->said[i].start,
                          written->said[i].end - written->said[i].start, &special));
    if (!special)
        return tsri_text_encode(tokenizer, text, written->text.size, TSRI_TEXT_PARSE_SPECIAL, ids);
    for (size_t i = 0; i < written->n_said; i++) {
        const tsri_task_range said = written->said[i];
        TRY(tsri_text_encode(tokenizer, text + done, said.start - done, TSRI_TEXT_PARSE_SPECIAL,
                             ids));
        TRY(tsri_text_encode(tokenizer, text + said.start, said.end - said.start, 0, ids));
        done = said.end;
    }
    return tsri_text_encode(tokenizer, text + done, written->text.size - done,
                            TSRI_TEXT_PARSE_SPECIAL, ids);
}

/* The ids of a turn. They have one beginning-of-sequence token, also where both the template and
 * the tokenizer put one. */
static tsr_status encode_turn(const tsr_chat *chat, const char *text, size_t size,
                              tsri_text_ids *ids) {
    const tsri_text_tokenizer *tokenizer = chat->model->tokenizer;
    const int32_t bos = tsri_text_role_id(tokenizer, TSRI_TEXT_BOS);
    char date[32];
    tsri_task_written written = {0};
    tsri_text_ids found = {0};
    write_date(date);
    const tsri_task_turn turn = {.first = chat->sequence.ids.count == 0,
                                 .system = chat->system,
                                 .user = text,
                                 .user_size = size,
                                 .bos = chat->bos,
                                 .eos = chat->eos,
                                 .date = date};
    tsr_status status = tsri_task_template_write(chat->row, &turn, &written);
    if (status == TSR_OK)
        status = encode_written(tokenizer, &written, &found);
    if (status == TSR_OK && turn.first && bos >= 0 && tsri_text_adds_bos(tokenizer) &&
        (!found.count || found.data[0] != bos))
        status = tsri_text_ids_append(ids, &bos, 1);
    if (status == TSR_OK)
        status = tsri_text_ids_append(ids, found.data, found.count);
    for (size_t i = 0; i < ids->count && status == TSR_OK; i++)
        if (ids->data[i] >= chat->model->spec.vocab)
            status = tsri_base_fail(TSR_E_FORMAT,
                                    "the tokenizer gives token id %d, but the model's vocabulary "
                                    "ends at %d: tokenizer and model don't belong together",
                                    (int)ids->data[i], (int)chat->model->spec.vocab - 1);
    tsri_base_bytes_clear(&written.text);
    tsri_text_ids_clear(&found);
    return status;
}

/* Makes the sequence's text and marks anew for an answer; its ids and its slot stay. */
static tsr_status begin_answer(tsr_chat *chat, const tsri_text_ids *turn) {
    tsri_task_sequence kept = {.ids = chat->sequence.ids, .past = chat->sequence.past};
    chat->sequence.ids = (tsri_text_ids){0};
    tsri_task_sequence_clear(&chat->sequence);
    chat->sequence = kept;
    TRY(tsri_text_ids_append(&chat->sequence.ids, turn->data, turn->count));
    return tsri_task_sequence_begin(&chat->sequence, chat->model, &chat->options);
}

static tsr_status too_long(const tsr_chat *chat, size_t tokens, int64_t context) {
    const int64_t most = chat->model->spec.context;
    char raise[80] = "";
    if (context < most)
        snprintf(raise, sizeof raise, ", or raise -c up to what the model reads (%lld)",
                 (long long)most);
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "with this turn the conversation has %zu tokens, and the context holds "
                          "%lld, including the answer: say less, or begin anew%s",
                          tokens, (long long)context, raise);
}

tsr_status tsr_chat_say(tsr_chat *chat, const char *text, size_t size, tsr_generated_fn generated,
                        void *data, tsr_generate_stats *stats) {
    TRY(NEED(chat));
    TRY(NEED_ARRAY(text, size));
    TRY(tsri_base_check_out("tsr_generate_stats", stats));
    tsri_task_sequence *s = &chat->sequence;
    tsri_text_ids turn = {0};
    tsr_generate_stats counted = {0};
    const size_t before = s->ids.count;
    const int64_t context = tsri_session_context(chat->session);
    tsr_status status = encode_turn(chat, size ? text : "", size, &turn);
    if (status == TSR_OK && (int64_t)(before + turn.count) >= context)
        status = too_long(chat, before + turn.count, context);
    const bool begun = status == TSR_OK;
    if (begun)
        status = begin_answer(chat, &turn);
    tsri_text_ids_clear(&turn);
    if (status == TSR_OK) {
        const tsri_task_decoding decoding = {.model = chat->model,
                                             .session = chat->session,
                                             .options = &chat->options,
                                             .context = context,
                                             .generated = generated,
                                             .data = data,
                                             .stats = &counted,
                                             .ends = &chat->end,
                                             .n_ends = chat->end >= 0};
        status = tsri_task_decode(&decoding, s, 1);
    }
    if (begun && status != TSR_OK && status != TSR_E_CANCELLED) { /* forget the turn */
        s->ids.count = before;
        s->past = s->past < (int64_t)before ? s->past : (int64_t)before;
    } else if (s->finish == TSR_FINISH_END && s->ids.count > before) {
        /* Drop the end token, which was not fed: the template writes how an answer ends. */
        s->ids.count--;
    }
    tsri_base_give(&counted, sizeof counted, stats);
    return status;
}
