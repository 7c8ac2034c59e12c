/* base/json_numbers.h - whole numbers of JSON that don't fit 64 bits. All of it is in this header, so that the
 * command, which cannot call hidden functions, can read them, too. */
#ifndef TSRI_BASE_JSON_NUMBERS_H
#define TSRI_BASE_JSON_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool tsri_base_json_is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The size of the number that a text begins with; 0: it begins with something else. */
static inline size_t tsri_base_json_number_size(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && (tsri_base_json_is_digit(text[i]) || (text[i] && strchr("+-.eE", text[i]))))
        i++;
    return i;
}

/* Whether a number is a whole one outside of 64 bits. */
static inline bool tsri_base_json_is_large(const char *number, size_t n) {
    static const char most[] = "9223372036854775807", least[] = "9223372036854775808";
    enum { DIGITS = sizeof most - 1 };
    const bool minus = n && *number == '-';
    const char *digits = number + minus;
    n -= minus;
    bool large = n > DIGITS || (n == DIGITS && memcmp(digits, minus ? least : most, n) > 0);
    for (size_t i = 0; i < n && large; i++)
        large = tsri_base_json_is_digit(digits[i]);
    return large;
}

/* Bytes of a widened copy at most: a large number has 19 digits or more, and becomes 2 longer. */
static inline size_t tsri_base_json_wide_room(size_t n) {
    return n + n / 2 + 1;
}

/* Copies JSON, and gives each whole number outside of 64 bits an exponent, so that a parser takes it for a real.
 * (tokenizer_config.json's "no limit" is 1e30 written out.) Returns the size of the copy. */
static inline size_t tsri_base_json_widen(const char *text, size_t n, char *to) {
    bool quoted = false;
    size_t put = 0;
    for (size_t i = 0, size; i < n; i += size) {
        const size_t number = quoted ? 0 : tsri_base_json_number_size(text + i, n - i);
        const bool escape = quoted && text[i] == '\\' && i + 1 < n;
        size = number ? number : 1 + (size_t)escape;
        quoted ^= text[i] == '"';
        memcpy(to + put, text + i, size);
        put += size;
        if (tsri_base_json_is_large(text + i, number)) {
            memcpy(to + put, "e0", 2);
            put += 2;
        }
    }
    return put;
}

#endif
