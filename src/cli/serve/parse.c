/* cli/serve/parse.c - from the text of a body to JSON. */
#include "cli/serve/parse.h"

#include "cli/base/json.h"

/* What JSON allows, but is not read. NULL: the text is not JSON. */
static const char *not_read(const json_error_t *error) {
    switch (json_error_code(error)) {
    case json_error_numeric_overflow:
        return "the number is too large: numbers up to 1.8e308 are read";
    case json_error_null_byte_in_key:
        return "a name with a 0 byte is not read";
    default:
        return NULL;
    }
}

json_t *tsri_serve_parse(const char *text, size_t n, tsri_serve_failure *f) {
    json_error_t error;
    json_t *body = tsri_cli_json_load(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (json_is_object(body))
        return body;
    const char *why = body ? NULL : not_read(&error);
    if (body)
        tsri_serve_fail(f, 400, NULL, "the body is not a JSON object");
    else if (why)
        tsri_serve_fail(f, 400, NULL, "the body: line %d, column %d: %s", error.line, error.column,
                        why);
    else
        tsri_serve_fail(f, 400, NULL, "the body is not JSON: line %d, column %d: %s", error.line,
                        error.column, error.text);
    json_decref(body);
    return NULL;
}
