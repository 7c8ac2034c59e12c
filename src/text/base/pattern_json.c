/* text/base/pattern_json.c - reads the type, the list and the pattern of a part of a
 * tokenizer.json. */
#include "text/base/pattern_json.h"

#include "base/error.h"
#include "text/base/unicode.h"

#include <string.h>

tsr_status tsri_text_type_of(const json_t *json, const char *what, const char **type) {
    *type = NULL;
    if (!json_is_object(json))
        return tsri_base_fail(TSR_E_FORMAT, "%s is not an object", what);
    TRY(tsri_base_json_text(json, what, "type", type));
    return *type ? TSR_OK : tsri_base_fail(TSR_E_FORMAT, "%s has no \"type\"", what);
}

tsr_status tsri_text_list_of(const json_t *json, const char *what, const char *key,
                             const json_t **list) {
    *list = json_object_get(json, key);
    return json_is_array(*list)
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is not a list", what, key);
}

tsr_status tsri_text_pattern_from_json(const json_t *json, const char *what,
                                       tsri_text_pattern **out) {
    const json_t *pattern = json_object_get(json, "pattern");
    const char *literal = NULL, *regex = NULL;
    if (json_is_object(pattern)) {
        TRY(tsri_base_json_text(pattern, what, "String", &literal));
        TRY(tsri_base_json_text(pattern, what, "Regex", &regex));
    }
    if (!literal == !regex)
        return tsri_base_fail(
            TSR_E_FORMAT, "%s: \"pattern\" must be {\"String\": text} or {\"Regex\": text}", what);
    const char *text = literal ? literal : regex;
    /* The library makes a regular expression of a literal, too. */
    const bool empty = !*text;
    return tsri_text_pattern_new(text, strlen(text),
                                 literal && !empty ? TSRI_TEXT_LITERAL : TSRI_TEXT_ONIGURUMA, out);
}

tsr_status tsri_text_character_from_json(const json_t *json, const char *what, const char *key,
                                         int32_t *out) {
    const char *text = NULL;
    TRY(tsri_base_json_text(json, what, key, &text));
    if (!text)
        return TSR_OK;
    const size_t n = strlen(text);
    if (n == 0 || tsri_text_utf8_next(text, n, out) != n)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is \"%s\"; one character is needed", what,
                              key, text);
    return TSR_OK;
}

static int digit_of(char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

tsr_status tsri_text_base64(const char *text, size_t n, tsri_bytes *out) {
    uint32_t bits = 0;
    int held = 0;
    while (n && text[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        const int digit = digit_of(text[i]);
        if (digit < 0)
            return tsri_base_fail(TSR_E_FORMAT, "not base64 at character %zu", i);
        bits = bits << 6 | (uint32_t)digit;
        held += 6;
        if (held >= 8) {
            held -= 8;
            TRY(tsri_base_bytes_append(out, &(char){(char)(bits >> held & 0xFF)}, 1));
        }
    }
    return TSR_OK;
}

tsr_status tsri_text_base64_from_json(const json_t *json, const char *what, const char *key,
                                      tsri_bytes *out) {
    const char *text = NULL;
    TRY(tsri_base_json_text(json, what, key, &text));
    if (!text || !*text)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"%s\" is missing", what, key);
    const tsr_status status = tsri_text_base64(text, strlen(text), out);
    return status == TSR_E_FORMAT ? tsri_base_fail_within(status, "%s: \"%s\"", what, key) : status;
}
