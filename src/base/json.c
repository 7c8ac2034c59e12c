/* base/json.c - JSON text to values, values to text, and fields of objects with their types
 * checked. */
#include "base/json.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json_numbers.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The depth of nesting, counted by brackets outside strings. The parser recurses, and would stop
 * only at its own limit. */
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

static bool is_between_tokens(char c) {
    switch (c) {
    case '"':
    case ',':
    case ':':
    case '[':
    case ']':
    case '{':
    case '}':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return true;
    default:
        return false;
    }
}

/* The length of the longest token that the parser collects: a string with its quotes and escapes, a
 * number, a word. */
static size_t longest_token(const char *text, size_t n) {
    size_t most = 0, begin = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (is_between_tokens(c)) {
            most = i - begin > most ? i - begin : most;
            begin = i + (c != '"');
            quoted = c == '"';
        }
    }
    return n - begin > most ? n - begin : most;
}

/* The text that the parser is given: [1.00000000,TEXT]. */
typedef struct feed {
    size_t at, digits; /* a power of two */
    const char *text;
    size_t n;
    bool out; /* memory ran out */
} feed;

/* jansson collects the characters of a token in a buffer that grows by doubling and never shrinks;
 * a character for which the buffer cannot grow is left out without an error. So a number that is
 * longer than every token comes first and makes the buffer grow, character by character, while each
 * failure can still be seen in errno. The number is as long as the buffer just after it has grown,
 * so there is room for the comma after the number, which jansson also collects before it computes
 * the number and resets errno. */
static size_t give(void *out, size_t room, void *data) {
    feed *f = data;
    const size_t head = f->digits + 2, at = f->at;
    if (at <= head && errno == ENOMEM) {
        f->out = true;
        return (size_t)-1;
    }
    size_t n = 1;
    if (at < head) {
        *(char *)out = at == 0 ? '[' : at == 1 ? '1' : at == 2 ? '.' : at == head - 1 ? ',' : '0';
    } else if (at - head < f->n) {
        n = f->n - (at - head) < room ? f->n - (at - head) : room;
        memcpy(out, f->text + (at - head), n);
    } else if (at - head == f->n) {
        *(char *)out = ']';
    } else {
        n = 0;
    }
    f->at += n;
    return n;
}

/* NULL where the text is not one value, or there is too little memory; *error is then right only
 * for memory and for numbers that are too large. */
static json_t *parse_whole(const char *text, size_t n, size_t flags, json_error_t *error) {
    const size_t longest = longest_token(text, n);
    feed f = {.digits = 32, .text = text, .n = n};
    while (f.digits < longest + 8)
        f.digits *= 2;
    json_t *list = json_load_callback(give, &f, flags, error),
           *value = json_array_size(list) == 2 ? json_incref(json_array_get(list, 1)) : NULL;
    if (value && !json_is_object(value) && !json_is_array(value)) {
        json_decref(value);
        value = NULL;
    }
    json_decref(list);
    if (f.out)
        errno = ENOMEM; /* the end of the number has reset errno */
    return value;
}

/* Line and column of *error are those of the original text. */
static json_t *parse(const char *text, size_t n, size_t flags, json_error_t *error) {
    json_t *value = parse_whole(text, n, flags, error);
    if (value || errno == ENOMEM)
        return value;
    char *wide = NULL;
    if (json_error_code(error) == json_error_numeric_overflow &&
        tsri_base_new(tsri_base_json_wide_room(n), 1, &wide) == TSR_OK)
        value = parse_whole(wide, tsri_base_json_widen(text, n, wide), flags, error);
    free(wide);
    if (!value && errno != ENOMEM)
        json_decref(json_loadb(text, n, flags, error));
    return value;
}

static const char *why_not(const json_error_t *error) {
    switch (json_error_code(error)) {
    case json_error_null_character:
        return "a text has \\u0000, which is not read here";
    case json_error_null_byte_in_key:
        return "a name has \\u0000, which is not read";
    default:
        return error->text;
    }
}

static tsr_status read_value(const char *text, size_t n, int depth, const char *what, size_t flags,
                             json_t **out) {
    if (n == 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s is empty; JSON is needed", what);
    const char *nul = memchr(text, 0, n);
    if (nul)
        return tsri_base_fail(TSR_E_FORMAT, "%s has a NUL at byte %zu; JSON text has none", what,
                              (size_t)(nul - text));
    const int found = deepest(text, n);
    if (found > depth)
        return tsri_base_fail(TSR_E_FORMAT, "%s is nested %d levels deep; at most %d are read",
                              what, found, depth);
    json_error_t error = {0};
    errno = 0;
    json_t *value = parse(text, n, flags, &error);
    if (!value &&
        (json_error_code(&error) == json_error_out_of_memory || errno == ENOMEM || !*error.text))
        return tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory while its JSON was read",
                              what);
    if (!value)
        return tsri_base_fail(TSR_E_FORMAT, "%s: line %d, column %d: %s", what, error.line,
                              error.column, why_not(&error));
    *out = value;
    return TSR_OK;
}

tsr_status tsri_base_json_parse(const char *text, size_t n, int depth, const char *what,
                                json_t **out) {
    return read_value(text, n, depth, what, JSON_REJECT_DUPLICATES, out);
}

tsr_status tsri_base_json_parse_said(const char *text, size_t n, int depth, const char *what,
                                     json_t **out) {
    return read_value(text, n, depth, what, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, out);
}

tsr_status tsri_base_json_load(const char *path, size_t limit, int depth, json_t **out) {
    tsri_bytes bytes = {0};
    TRY(tsri_base_read_whole(path, limit, &bytes));
    const tsr_status status = tsri_base_json_parse(bytes.data, bytes.size, depth, path, out);
    tsri_base_bytes_clear(&bytes);
    return status;
}

/* ---- building values ---- */

static _Thread_local bool lost; /* something was not added, as there was too little memory */

void tsri_base_json_put(json_t *object, const char *key, json_t *value) {
    lost |= json_object_set_new(object, key, value) != 0;
}

void tsri_base_json_default(json_t *object, const char *key, json_t *value) {
    if (json_object_get(object, key))
        json_decref(value);
    else
        tsri_base_json_put(object, key, value);
}

void tsri_base_json_rename(json_t *object, const char *from, const char *to) {
    json_t *value = json_object_get(object, from);
    if (!value)
        return;
    tsri_base_json_put(object, to, json_incref(value));
    json_object_del(object, from);
}

void tsri_base_json_append(json_t *list, json_t *value) {
    lost |= json_array_append_new(list, value) != 0;
}

static bool is_whole(const json_t *value) {
    const bool whole = value && !lost;
    lost = false;
    return whole;
}

tsr_status tsri_base_json_made(const json_t *value, const char *what) {
    return is_whole(value) ? TSR_OK
                           : tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", what);
}

/* Does not use json_dumps, which leaves a key out where its buffer cannot grow. */
char *tsri_base_json_print(const json_t *value, size_t flags) {
    if (!is_whole(value))
        return NULL;
    const size_t n = json_dumpb(value, NULL, 0, flags);
    char *text = n ? malloc(n + 1) : NULL;
    if (text && json_dumpb(value, text, n, flags) != n) {
        free(text);
        return NULL;
    }
    if (text)
        text[n] = '\0';
    return text;
}

tsr_status tsri_base_json_save(const char *path, const json_t *value, size_t flags) {
    char *text = tsri_base_json_print(value, flags);
    if (!text)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", path);
    const size_t n = strlen(text);
    text[n] = '\n'; /* where the 0 was */
    const tsr_status status = tsri_base_write_whole(path, text, n + 1);
    free(text);
    return status;
}

/* ---- typed fields ---- */

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
