/* cli/serve/calls_read.c - calls of functions: from the text of an answer to "tool_calls", whole or cut, and from those
 * of earlier turns to what a template reads. */
#include "cli/base/json.h"
#include "cli/serve/call_form.h"
#include "cli/serve/calls.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- an answer ---- */

static size_t blanks_before(const char *data, size_t n) {
    size_t i = 0;
    while (i < n && tsri_serve_is_blank(data[i]))
        i++;
    return i;
}

static size_t without_blanks(const char *data, size_t n) {
    while (n && tsri_serve_is_blank(data[n - 1]))
        n--;
    return n;
}

/* Whether the marker counts wherever it stands: not in an answer that is JSON or calls. */
static bool is_anywhere(const tsri_serve_ask *ask) {
    return ask->call_form->anywhere && !ask->schema;
}

/* Where the calls begin; NULL: nowhere. */
static const char *find_marker(const tsri_serve_ask *ask, const char *data, size_t n) {
    const tsri_serve_call_form *form = ask->call_form;
    if (is_anywhere(ask))
        return memmem(data, n, form->before, form->marker);
    const size_t at = blanks_before(data, n);
    return n - at >= form->marker && !memcmp(data + at, form->before, form->marker) ? data + at
                                                                                    : NULL;
}

/* Behind a text of the form; NULL: something else is there. */
static const char *over(const char *at, const char *end, const char *words) {
    while (at && *words) {
        size_t n = 1;
        if (!strncmp(words, TSRI_SERVE_CALL_ID, TSRI_SERVE_CALL_ID_SIZE))
            n = TSRI_SERVE_CALL_ID_SIZE;
        at = (size_t)(end - at) >= n && (n > 1 || *at == *words) ? at + n : NULL;
        words += n;
    }
    return at;
}

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || (c && strchr("_.-", c));
}

/* The id of a call: a letter, and the last digits of its number to the base 36. Mistral's templates refuse ids of another
 * length. */
static void write_id(uint64_t number, char id[TSRI_SERVE_CALL_ID_SIZE + 1]) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    enum { BASE = sizeof digits - 1 };
    for (size_t i = TSRI_SERVE_CALL_ID_SIZE - 1; i > 0; i--) {
        id[i] = digits[number % BASE];
        number /= BASE;
    }
    id[0] = 'c';
    id[TSRI_SERVE_CALL_ID_SIZE] = 0;
}

json_t *tsri_serve_call_json(const tsri_serve_choice *c, const char *name, size_t n,
                             const char *arguments, size_t size, size_t number) {
    char id[TSRI_SERVE_CALL_ID_SIZE + 1];
    write_id(c->job->x->server->calls++, id);
    json_t *call = json_pack("{s:s,s:s,s:{s:s%,s:o}}", "id", id, "type", "function", "function",
                             "name", name, n, "arguments", tsri_cli_json_text(arguments, size));
    if (call && c->job->ask.stream)
        json_object_set_new(call, "index", json_integer((json_int_t)number));
    return call;
}

/* Reads a name, and arguments, which stay as they are written; *at: behind them, or NULL. */
static json_t *read_call(const tsri_serve_choice *c, const char **at, const char *end,
                         size_t number) {
    const char *name = *at, *name_end = name;
    json_error_t read = {.position = 0};
    while (name_end < end && is_of_name(*name_end))
        name_end++;
    *at = over(name_end, end, c->job->ask.call_form->between);
    const char *arguments = *at;
    json_t *json =
        arguments ? json_loadb(arguments, (size_t)(end - arguments),
                               JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL, &read)
                  : NULL;
    *at = json ? arguments + read.position : NULL;
    json_decref(json);
    return *at ? tsri_serve_call_json(c, name, (size_t)(name_end - name), arguments,
                                      (size_t)read.position, number)
               : NULL;
}

/* A call that ends within its arguments, or before them; NULL: its name is not whole. */
static json_t *read_cut_call(const tsri_serve_choice *c, const char *at, const char *end,
                             size_t number) {
    const char *name = at;
    while (at < end && is_of_name(*at))
        at++;
    const char *arguments = over(at, end, c->job->ask.call_form->between);
    if (at == end || at == name)
        return NULL;
    arguments = arguments ? arguments : end;
    return tsri_serve_call_json(c, name, (size_t)(at - name), arguments, (size_t)(end - arguments),
                                number);
}

/* The calls from `at` to the end, NULL if there is none; *whole: the last one is not cut. */
static json_t *read_calls(const tsri_serve_choice *c, const char *at, const char *end,
                          bool *whole) {
    const tsri_serve_call_form *form = c->job->ask.call_form;
    json_t *calls = json_array();
    *whole = false;
    for (at = over(at, end, form->before); at && !*whole;) {
        const char *begin = at;
        const size_t number = json_array_size(calls);
        json_t *call = read_call(c, &at, end, number);
        *whole = call && over(at, end, form->after) == end;
        if (!call)
            call = read_cut_call(c, begin, end, number);
        if (call)
            json_array_append_new(calls, call);
        at = form->next && at ? over(at, end, form->next) : NULL;
    }
    if (json_array_size(calls))
        return calls;
    json_decref(calls);
    return NULL;
}

/* Whether each call is of a function that the request has. Behind thoughts in letters a model may write JSON that only looks
 * like a call: no grammar tells where the thoughts end. */
static bool are_known(const tsri_serve_ask *ask, const json_t *calls) {
    bool all = true;
    for (size_t i = 0; i < json_array_size(calls) && all; i++) {
        const json_t *name =
            json_object_get(json_object_get(json_array_get(calls, i), "function"), "name");
        bool known = false;
        for (size_t k = 0; k < json_array_size(ask->functions) && !known; k++)
            known = json_equal(json_object_get(json_array_get(ask->functions, k), "name"), name);
        all = known;
    }
    return all;
}

bool tsri_serve_calls_take(tsri_serve_choice *c) {
    const tsri_serve_ask *ask = &c->job->ask;
    const char *data = c->text.data ? c->text.data : "", *end = data + c->text.size,
               *at = find_marker(ask, data, c->text.size);
    /* JSON alone may be the answer's, if that has a schema. */
    const bool either = ask->schema && !ask->must_call && !ask->call_form->anywhere;
    bool whole = false;
    c->calls = at ? read_calls(c, at, end, &whole) : NULL;
    if ((either && !whole) || !are_known(ask, c->calls)) {
        json_decref(c->calls);
        c->calls = NULL;
        at = NULL;
        whole = false;
    }
    c->content = at ? without_blanks(data, (size_t)(at - data)) : ask->must_call ? 0 : c->text.size;
    return whole;
}

size_t tsri_serve_calls_content(const tsri_serve_choice *c) {
    const tsri_serve_call_form *form = c->job->ask.call_form;
    const char *data = c->text.data ? c->text.data : "";
    const size_t n = c->text.size;
    if (c->job->ask.must_call)
        return 0;
    const char *at = find_marker(&c->job->ask, data, n);
    if (at)
        return without_blanks(data, (size_t)(at - data));
    if (!is_anywhere(&c->job->ask)) {
        const size_t blanks = blanks_before(data, n);
        return !strncmp(data + blanks, form->before, n - blanks) ? 0 : n;
    }
    size_t begun = n < form->marker ? n : form->marker - 1;
    while (begun && memcmp(data + n - begun, form->before, begun))
        begun--;
    return without_blanks(data, n - begun);
}

/* ---- earlier turns ---- */

/* Arguments that are JSON become an object, and an empty text, which some clients send for a call without arguments, an
 * empty one. */
static void parse_arguments(json_t *function) {
    const json_t *given = json_object_get(function, "arguments");
    const char *text = json_string_value(given);
    const size_t n = json_string_length(given);
    json_error_t error;
    if (!text)
        return;
    json_t *arguments = blanks_before(text, n) == n
                            ? json_object()
                            : tsri_cli_json_load(text, n, JSON_ALLOW_NUL, &error);
    if (arguments)
        json_object_set_new(function, "arguments", arguments);
}

void tsri_serve_calls_read(tsri_serve_model *model, json_t *message) {
    const json_t *calls = json_object_get(message, "tool_calls"),
                 *content = json_object_get(message, "content");
    const tsri_serve_call_form *form =
        json_array_size(calls) ? tsri_serve_call_form_of(model) : NULL;
    size_t i;
    json_t *call;
    if (!form)
        return;
    json_t *thought = json_object_get(message, "reasoning_content");
    const bool silent = !content || json_is_null(content) || !json_string_length(content);
    if (silent && thought && !json_object_get(message, "thinking")) /* gpt-oss calls it so */
        json_object_set(message, "thinking", thought);
    if (silent)
        json_object_set_new(message, "content", form->no_content ? json_null() : json_string(""));
    json_array_foreach(calls, i, call) if (!form->text_arguments)
        parse_arguments(json_object_get(call, "function"));
}
