/* cli/base/json.c - builds and prints JSON, and reports where there is no memory for it. */
#include "cli/base/json.h"

#include "base/json_numbers.h"
#include "cli/base/utf8.h"

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

json_t *tsri_cli_json_load(const char *text, size_t n, size_t flags, json_error_t *error) {
    json_t *value = json_loadb(text, n, flags, error);
    if (value || json_error_code(error) != json_error_numeric_overflow)
        return value;
    char *wide = malloc(tsri_base_json_wide_room(n));
    if (wide)
        value = json_loadb(wide, tsri_base_json_widen(text, n, wide), flags, error);
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
