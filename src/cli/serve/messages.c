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

void tsri_serve_drop_nulls(json_t *object) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value) {
        if (json_is_null(value))
            json_object_del(object, key);
    }
}

/* Makes the content a text; beside calls it may be missing, and is null then, as templates look for it. */
static bool set_content(json_t *message, tsri_serve_failure *f) {
    const json_t *content = json_object_get(message, "content");
    if (json_is_string(content))
        return true;
    const bool none = !content && json_is_array(json_object_get(message, "tool_calls"));
    json_t *text = none ? json_null() : content_text(content, f);
    return text && (!json_object_set_new(message, "content", text) ||
                    tsri_serve_fail(f, 503, NULL, "out of memory"));
}

bool tsri_serve_plain_messages(tsri_serve_model *m, json_t *messages, tsri_serve_failure *f) {
    size_t i;
    json_t *message;
    if (!json_array_size(messages))
        return tsri_serve_fail(f, 400, "messages",
                               "messages: a list of at least one message is wanted");
    json_array_foreach(messages, i, message) {
        tsri_serve_drop_nulls(message); /* templates ask whether a message has a field */
        const char *role = json_string_value(json_object_get(message, "role"));
        if (!role)
            return tsri_serve_fail(f, 400, "messages", "messages: message %zu has no \"role\"",
                                   i + 1);
        if (!strcmp(role, "developer"))
            json_object_set_new(message, "role", json_string("system"));
        if (!set_content(message, f))
            return false;
        tsri_serve_calls_read(m, message);
    }
    return true;
}
