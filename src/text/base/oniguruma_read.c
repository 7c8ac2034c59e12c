/* text/base/oniguruma_read.c - reads the smallest parts of Oniguruma's patterns: characters, and the
 * escapes that stand for one. */
#include "base/error.h"
#include "text/base/oniguruma_parts.h"
#include "text/base/unicode.h"

#include <string.h>

tsr_status tsri_text_onig_refuse(const tsri_text_onig *r, const char *what) {
    return tsri_base_fail(TSR_E_UNSUPPORTED,
                          "regular expression \"%.*s\": %s, at byte %zu, is not supported",
                          (int)(r->n < 200 ? r->n : 200), r->pattern, what, r->at);
}

bool tsri_text_onig_takes(tsri_text_onig *r, const char *text) {
    const size_t n = strlen(text);
    if (r->n - r->at < n || memcmp(r->pattern + r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

char tsri_text_onig_peek(const tsri_text_onig *r, size_t ahead) {
    return r->at + ahead < r->n ? r->pattern[r->at + ahead] : 0;
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

int32_t tsri_text_onig_digits(tsri_text_onig *r, int base, int most) {
    int32_t value = 0;
    for (int i = 0; i < most && digit_of(tsri_text_onig_peek(r, 0)) < base && value < 0x1000000;
         i++)
        value = value * base + digit_of(r->pattern[r->at++]);
    return value;
}

tsr_status tsri_text_onig_code_escape(tsri_text_onig *r, bool in_class, int32_t *code) {
    static const char names[] = "tnrfvae", codes[] = "\t\n\r\f\v\a\x1b";
    const char c = tsri_text_onig_peek(r, 1), *known = c ? strchr(names, c) : NULL;
    bool byte = false; /* from 128 on, a part of a character */
    if (in_class ? c && strchr("RXNOKGyYMCBAZz", c) : c && strchr("MC", c))
        return tsri_text_onig_refuse(r, "this escape");
    r->at += 2;
    if (r->at > r->n)
        return tsri_base_fail(TSR_E_FORMAT, "regular expression \"%.*s\" ends with a backslash",
                              (int)(r->n < 200 ? r->n : 200), r->pattern);
    if (known)
        *code = codes[known - names];
    else if (c == 'b') /* only in a class: elsewhere it is a border */
        *code = '\b';
    else if (c == 'x' && tsri_text_onig_takes(r, "{")) {
        *code = tsri_text_onig_digits(r, 16, 8);
        if (!tsri_text_onig_takes(r, "}"))
            return tsri_text_onig_refuse(r, "this \\x{...}");
    } else if (c == 'x') {
        byte = true;
        *code = digit_of(tsri_text_onig_peek(r, 0)) < 16 ? tsri_text_onig_digits(r, 16, 2) : 'x';
    } else if (c == 'u')
        *code = tsri_text_onig_digits(r, 16, 4);
    else if (c >= '0' && c <= '7') {
        byte = true;
        r->at--;
        *code = tsri_text_onig_digits(r, 8, 3);
    } else if (c == 'c' && tsri_text_onig_peek(r, 0))
        *code = r->pattern[r->at++] & 0x1F;
    else
        r->at += tsri_text_utf8_next(r->pattern + r->at - 1, r->n - r->at + 1, code) - 1;
    if (*code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000) || (byte && *code >= 0x80))
        return tsri_text_onig_refuse(r, "this code of a character");
    return TSR_OK;
}
