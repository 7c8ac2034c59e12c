/* cli/base/json.c - builds and prints JSON, and reports where there is no memory for it. */
#include "cli/base/json.h"

#include "cli/base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool lost; /* a value could not be added: there was no memory */

void tsri_cli_json_put(json_t *object, const char *key, json_t *value) {
    lost |= json_object_set_new(object, key, value) != 0;
}

void tsri_cli_json_append(json_t *list, json_t *value) {
    lost |= json_array_append_new(list, value) != 0;
}

json_t *tsri_cli_json_text(const char *text, size_t n) {
    if (tsri_cli_utf8_until(text, n) == n)
        return json_stringn(text, n);
    char *valid = malloc(3 * n);
    size_t size = 0;
    for (size_t at = 0; valid && at < n;) {
        const size_t good = tsri_cli_utf8_until(text + at, n - at);
        memcpy(valid + size, text + at, good);
        size += good;
        at += good;
        if (at < n) {
            memcpy(valid + size, "\xef\xbf\xbd", 3);
            size += 3;
            at++;
        }
    }
    json_t *value = valid ? json_stringn(valid, size) : NULL;
    free(valid);
    return value;
}

json_t *tsri_cli_json_string(const char *text) {
    return tsri_cli_json_text(text, strlen(text));
}

/* The size of the number that a text begins with; 0: it begins with something else. */
static size_t number_size(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && (isdigit((unsigned char)text[i]) || (text[i] && strchr("+-.eE", text[i]))))
        i++;
    return i;
}

/* Whether a number is a whole one outside of 64 bits. */
static bool is_large(const char *number, size_t n) {
    static const char most[] = "9223372036854775807", least[] = "9223372036854775808";
    enum { DIGITS = sizeof most - 1 };
    const bool minus = n && *number == '-';
    const char *digits = number + minus;
    n -= minus;
    bool large = n > DIGITS || (n == DIGITS && memcmp(digits, minus ? least : most, n) > 0);
    for (size_t i = 0; i < n && large; i++)
        large = isdigit((unsigned char)digits[i]);
    return large;
}

/* Copies JSON, and gives each whole number outside of 64 bits an exponent: jansson then reads it as a real. Returns the
 * size of the copy, which `to` has room for if it is half as large again. */
static size_t widen(const char *text, size_t n, char *to) {
    bool quoted = false;
    size_t put = 0;
    for (size_t i = 0, size; i < n; i += size) {
        const size_t number = quoted ? 0 : number_size(text + i, n - i);
        const bool escape = quoted && text[i] == '\\' && i + 1 < n;
        size = number ? number : 1 + (size_t)escape;
        quoted ^= text[i] == '"';
        memcpy(to + put, text + i, size);
        put += size;
        if (is_large(text + i, number)) {
            memcpy(to + put, "e0", 2);
            put += 2;
        }
    }
    return put;
}

json_t *tsri_cli_json_load(const char *text, size_t n, size_t flags, json_error_t *error) {
    json_t *value = json_loadb(text, n, flags, error);
    if (value || json_error_code(error) != json_error_numeric_overflow)
        return value;
    char *wide = malloc(n + n / 2 + 1);
    if (wide)
        value = json_loadb(wide, widen(text, n, wide), flags, error);
    free(wide);
    return value;
}

json_t *tsri_cli_json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* json_dumps would leave a key out where its buffer cannot grow. */
char *tsri_cli_json_dump(tsri_cli_app *app, const json_t *value, size_t flags, size_t *n) {
    char *text = NULL;
    *n = lost ? 0 : json_dumpb(value, NULL, 0, flags);
    lost = false;
    if (*n && (text = malloc(*n + 1)) && json_dumpb(value, text, *n, flags) == *n) {
        text[*n] = '\0';
        return text;
    }
    free(text);
    tsri_cli_lost(app);
    return NULL;
}

void tsri_cli_json_print(tsri_cli_app *app, json_t *value, size_t flags) {
    size_t n;
    char *text = tsri_cli_json_dump(app, value, flags, &n);
    if (text) {
        text[n] = '\n'; /* where the 0 was */
        tsri_cli_write(app, text, n + 1);
    }
    free(text);
    json_decref(value);
}
