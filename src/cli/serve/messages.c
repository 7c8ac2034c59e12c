/* cli/serve/messages.c - the messages of a chat, as its template reads them. */
#include "cli/serve/messages.h"
#include "cli/serve/calls.h"

#include <string.h>

/* The content of a message as one text: parts of the type "text" are joined. */
static json_t *content_text(const json_t *content, tsri_serve_failure *f) {
    tsri_serve_buffer all = {0};
    json_t *text = NULL;
    bool fine = json_is_array(content);
    for (size_t i = 0; i < json_array_size(content) && fine; i++) {
        const json_t *part = json_array_get(content, i), *words = json_object_get(part, "text");
        const char *type = json_string_value(json_object_get(part, "type"));
        fine = type && !strcmp(type, "text") && json_is_string(words);
        if (fine)
            tsri_serve_put(&all, json_string_value(words), json_string_length(words));
    }
    if (fine && !all.lost)
        text = json_stringn(all.data ? all.data : "", all.size);
    else
        tsri_serve_fail(f, 400, "messages",
                        "messages: the content of a message is a text, or a list "
                        "of parts of the type \"text\"");
    tsri_serve_clear(&all);
    return text;
}

/* A field that is null is missing: templates ask whether a message has it. Only "content" may be null. */
static void drop_nulls(json_t *message) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(message, next, key, value) {
        if (json_is_null(value) && strcmp(key, "content") != 0)
            json_object_del(message, key);
    }
}

bool tsri_serve_plain_messages(tsri_serve_model *m, json_t *messages, tsri_serve_failure *f) {
    size_t i;
    json_t *message;
    if (!json_array_size(messages))
        return tsri_serve_fail(f, 400, "messages",
                               "messages: a list of at least one message is wanted");
    json_array_foreach(messages, i, message) {
        drop_nulls(message);
        const char *role = json_string_value(json_object_get(message, "role"));
        if (!role)
            return tsri_serve_fail(f, 400, "messages", "messages: message %zu has no \"role\"",
                                   i + 1);
        tsri_serve_calls_read(m, message);
        const json_t *content = json_object_get(message, "content");
        if ((!content || json_is_null(content)) &&
            json_is_array(json_object_get(message, "tool_calls"))) {
            json_object_set_new(message, "content", json_null()); /* as templates look for it */
            continue;
        }
        if (!strcmp(role, "developer"))
            json_object_set_new(message, "role", json_string("system"));
        if (json_is_string(content))
            continue;
        json_t *text = content_text(content, f);
        if (!text)
            return false;
        json_object_set_new(message, "content", text);
    }
    return true;
}
