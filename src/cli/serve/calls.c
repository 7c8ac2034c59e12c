/* cli/serve/calls.c - calls of functions: from "tools" to a schema, and from the text to "tool_calls". */
#include "cli/serve/calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOOLS = 128, DEPTH = 256 };

/* ---- what is asked for ---- */

/* In a schema that has moved from its own root to `place`, references move with it. */
static void move_references(json_t *schema, const char *place, int depth) {
    const char *key;
    json_t *value;
    size_t i;
    if (depth > DEPTH) /* the schema is refused for that later */
        return;
    json_object_foreach(schema, key, value) {
        const char *pointer = json_string_value(value);
        if (!strcmp(key, "$ref") && pointer && *pointer == '#')
            json_object_set_new(schema, key, json_sprintf("%s%s", place, pointer + 1));
        else
            move_references(value, place, depth + 1);
    }
    json_array_foreach(schema, i, value) move_references(value, place, depth + 1);
}

static const json_t *function_of(const json_t *tool) {
    const char *type = json_string_value(json_object_get(tool, "type"));
    const json_t *function = json_object_get(tool, "function");
    return type && !strcmp(type, "function") && json_is_string(json_object_get(function, "name"))
               ? function
               : NULL;
}

/* The text {"name": ..., "arguments": {...}} of a call of this function. */
static json_t *call_schema(const json_t *function, size_t number) {
    const json_t *parameters = json_object_get(function, "parameters");
    char place[64];
    snprintf(place, sizeof place, "#/anyOf/%zu/properties/arguments", number);
    json_t *own = parameters && !json_is_null(parameters) ? json_deep_copy(parameters)
                                                          : json_pack("{s:s}", "type", "object");
    move_references(own, place, 0);
    return json_pack("{s:s,s:{s:{s:O},s:o},s:[s,s],s:b}", "type", "object", "properties", "name",
                     "const", json_object_get(function, "name"), "arguments", own, "required",
                     "name", "arguments", "additionalProperties", 0);
}

/* The name of the one function that is to be called; NULL: any. *none: no function is. */
static bool read_choice(const json_t *choice, const char **name, bool *none,
                        tsri_serve_failure *f) {
    const char *word = json_string_value(choice);
    *name = json_string_value(json_object_get(json_object_get(choice, "function"), "name"));
    *none = word && !strcmp(word, "none");
    if (*none || *name || (word && !strcmp(word, "required")))
        return true;
    return tsri_serve_fail(f, 400, "tool_choice",
                           "tool_choice: with tools, \"required\", \"none\" or a named function is "
                           "wanted; \"auto\" is not served yet");
}

static bool add_functions(const json_t *tools, const char *name, json_t *schemas,
                          tsri_serve_failure *f) {
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *function = function_of(json_array_get(tools, i));
        if (!function)
            return tsri_serve_fail(
                f, 400, "tools",
                "tools: objects with \"type\": \"function\" and a \"function\" with "
                "a \"name\" are wanted");
        if (!name || !strcmp(name, json_string_value(json_object_get(function, "name"))))
            json_array_append_new(schemas, call_schema(function, json_array_size(schemas)));
    }
    return json_array_size(schemas) ||
           tsri_serve_fail(f, 400, "tool_choice", "tool_choice: there is no function \"%.60s\"",
                           name);
}

static bool make_schema(const json_t *tools, const char *name, tsri_serve_ask *ask,
                        tsri_serve_failure *f) {
    json_t *schemas = json_array(), *all = json_pack("{s:O}", "anyOf", schemas);
    bool fine = add_functions(tools, name, schemas, f);
    if (fine) {
        ask->schema = json_dumps(all, JSON_COMPACT);
        ask->tools_text = json_dumps(tools, JSON_COMPACT);
        fine = (ask->schema && ask->tools_text) || tsri_serve_fail(f, 503, NULL, "out of memory");
    }
    json_decref(schemas);
    json_decref(all);
    return fine;
}

bool tsri_serve_calls_ask(const json_t *tools, const json_t *choice, tsri_serve_ask *ask,
                          tsri_serve_failure *f) {
    const char *name, *word = json_string_value(choice);
    bool none;
    if (tools && (!json_is_array(tools) || json_array_size(tools) > MOST_TOOLS))
        return tsri_serve_fail(f, 400, "tools", "tools: a list of at most %d functions is wanted",
                               MOST_TOOLS);
    if (!json_array_size(tools))
        return !choice || (word && (!strcmp(word, "none") || !strcmp(word, "auto"))) ||
               tsri_serve_fail(f, 400, "tool_choice", "tool_choice: there are no tools");
    if (!read_choice(choice, &name, &none, f))
        return false;
    if (none)
        return true;
    if (ask->schema || ask->options.grammar)
        return tsri_serve_fail(f, 400, "tools",
                               "tools: beside \"response_format\" or \"grammar\", tool_choice "
                               "\"none\" is wanted");
    ask->calls = true;
    if (!make_schema(tools, name, ask, f))
        return false;
    return tsr_json_schema_check(ask->schema) == TSR_OK ||
           tsri_serve_fail(f, 400, "tools", "tools: %s", tsr_error_last());
}

/* ---- what was written ---- */

json_t *tsri_serve_calls(const tsri_serve_choice *c, bool stream) {
    char id[80];
    json_t *call = json_loadb(c->text.data ? c->text.data : "", c->text.size, 0, NULL);
    char *arguments =
        call ? json_dumps(json_object_get(call, "arguments"), JSON_COMPACT | JSON_ENCODE_ANY)
             : NULL;
    json_t *one = NULL;
    snprintf(id, sizeof id, "call-%s-%" PRIu32, c->job->id, c->index);
    if (arguments)
        one = json_pack("{s:s,s:s,s:{s:O,s:s}}", "id", id, "type", "function", "function", "name",
                        json_object_get(call, "name"), "arguments", arguments);
    if (one && stream)
        json_object_set_new(one, "index", json_integer(0));
    free(arguments);
    json_decref(call);
    return one ? json_pack("[o]", one) : NULL;
}

void tsri_serve_calls_read(json_t *message) {
    size_t i;
    json_t *call;
    json_array_foreach(json_object_get(message, "tool_calls"), i, call) {
        json_t *function = json_object_get(call, "function");
        const json_t *text = json_object_get(function, "arguments");
        json_t *arguments = json_is_string(text) ? json_loadb(json_string_value(text),
                                                              json_string_length(text), 0, NULL)
                                                 : NULL;
        if (arguments)
            json_object_set_new(function, "arguments", arguments);
    }
}
