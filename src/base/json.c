#include "base/json.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The parser recurses and would only stop at its own limit; this looks at brackets outside strings
 * alone. */
static int deepest(const char *text, size_t n) {
    int depth = 0, most = 0;
    bool quoted = false;
    for (size_t i = 0; i < n && most < INT32_MAX; i++) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            most = ++depth > most ? depth : most;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return most;
}

static bool is_past_64_bits(const char *number, size_t n) {
    char digits[24] = "";
    if (memchr(number, '.', n) || memchr(number, 'e', n) || memchr(number, 'E', n))
        return false;
    memcpy(digits, number, n < sizeof digits ? n : sizeof digits - 1);
    errno = 0;
    strtoll(digits, NULL, 10);
    return errno == ERANGE;
}

/* Appends text; a whole number past 64 bits (tokenizer_config.json's "no limit" is 1e30 written
 * out) gets a ".0" behind it: the parser would refuse it as an integer. */
static tsr_status widen(const char *text, size_t n, tsri_bytes *out) {
    size_t done = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"') {
            quoted = !quoted;
        } else if (quoted) {
            i += text[i] == '\\';
        } else if ((text[i] >= '0' && text[i] <= '9') || text[i] == '-') {
            const size_t begin = i;
            while (i < n && strchr("+-.eE0123456789", text[i]))
                i++;
            if (is_past_64_bits(text + begin, i - begin)) {
                TRY(tsri_base_bytes_append(out, text + done, i - done));
                TRY(tsri_base_bytes_append(out, ".0", 2));
                done = i;
            }
            i--;
        }
    }
    return tsri_base_bytes_append(out, text + done, n - done);
}

static json_t *parse(const char *text, size_t n, json_error_t *error) {
    json_t *value = json_loadb(text, n, JSON_REJECT_DUPLICATES, error);
    if (value || json_error_code(error) != json_error_numeric_overflow)
        return value;
    tsri_bytes wide = {0};
    json_error_t again;
    if (widen(text, n, &wide) == TSR_OK)
        value = json_loadb(wide.data, wide.size, JSON_REJECT_DUPLICATES, &again);
    tsri_base_bytes_clear(&wide);
    return value;
}

tsr_status tsri_base_json_parse(const char *text, size_t n, int depth, const char *what,
                                json_t **out) {
    if (n == 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s is empty; JSON was expected", what);
    const char *nul = memchr(text, 0, n);
    if (nul)
        return tsri_base_fail(TSR_E_FORMAT, "%s holds a NUL at byte %zu; JSON is text without one",
                              what, (size_t)(nul - text));
    const int found = deepest(text, n);
    if (found > depth)
        return tsri_base_fail(TSR_E_FORMAT, "%s nests %d levels deep; at most %d are read", what,
                              found, depth);
    json_error_t error;
    errno = 0;
    json_t *value = parse(text, n, &error);
    /* Where memory is out, jansson says so, or nothing, or that a token is invalid; or it leaves a
     * character out of a text and goes on. */
    if (value && errno == ENOMEM) {
        json_decref(value);
        value = NULL;
    }
    if (!value &&
        (json_error_code(&error) == json_error_out_of_memory || errno == ENOMEM || !*error.text))
        return tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory while its JSON was read",
                              what);
    if (!value)
        return tsri_base_fail(TSR_E_FORMAT, "%s: line %d, column %d: %s", what, error.line,
                              error.column, error.text);
    *out = value;
    return TSR_OK;
}

tsr_status tsri_base_json_load(const char *path, size_t limit, int depth, json_t **out) {
    tsri_bytes bytes = {0};
    TRY(tsri_base_read_whole(path, limit, &bytes));
    const tsr_status status = tsri_base_json_parse(bytes.data, bytes.size, depth, path, out);
    tsri_base_bytes_clear(&bytes);
    return status;
}

tsr_status tsri_base_json_save(const char *path, const json_t *value, size_t flags) {
    char *text = value ? json_dumps(value, flags) : NULL;
    if (!text)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", path);
    const size_t n = strlen(text);
    text[n] = '\n'; /* where the 0 was */
    const tsr_status status = tsri_base_write_whole(path, text, n + 1);
    free(text);
    return status;
}

static const char *kind_of(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a fraction";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "null";
    }
}

static tsr_status wrong_kind(const char *what, const char *key, const json_t *value,
                             const char *wanted) {
    return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is %s; %s is needed", what, key, kind_of(value),
                          wanted);
}

/* NULL where the key is missing or null: nothing to read. */
static const json_t *field(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value) ? value : NULL;
}

tsr_status tsri_base_json_int(const json_t *object, const char *what, const char *key,
                              int64_t lowest, int64_t highest, int64_t *out) {
    const json_t *value = field(object, key);
    if (!value)
        return TSR_OK;
    if (!json_is_integer(value))
        return wrong_kind(what, key, value, "a whole number");
    const int64_t number = json_integer_value(value);
    if (number < lowest || number > highest)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" is %" PRId64 "; it must be from %" PRId64 " to %" PRId64,
                              what, key, number, lowest, highest);
    *out = number;
    return TSR_OK;
}

tsr_status tsri_base_json_real(const json_t *object, const char *what, const char *key,
                               double lowest, double highest, double *out) {
    const json_t *value = field(object, key);
    if (!value)
        return TSR_OK;
    if (!json_is_number(value))
        return wrong_kind(what, key, value, "a number");
    const double number = json_number_value(value);
    if (!(number >= lowest && number <= highest))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is %g; it must be from %g to %g", what, key,
                              number, lowest, highest);
    *out = number;
    return TSR_OK;
}

tsr_status tsri_base_json_bool(const json_t *object, const char *what, const char *key, bool *out) {
    const json_t *value = field(object, key);
    if (!value)
        return TSR_OK;
    if (!json_is_boolean(value))
        return wrong_kind(what, key, value, "true or false");
    *out = json_is_true(value);
    return TSR_OK;
}

tsr_status tsri_base_json_text(const json_t *object, const char *what, const char *key,
                               const char **out) {
    const json_t *value = field(object, key);
    if (!value)
        return TSR_OK;
    if (!json_is_string(value))
        return wrong_kind(what, key, value, "a text");
    *out = json_string_value(value);
    return TSR_OK;
}
