/* base/text.h - white space, and how a text ends. All of it is in this header, so that the command, which
 * cannot call hidden functions, can use it too. */
#ifndef TSRI_BASE_TEXT_H
#define TSRI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool tsri_base_is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Bytes of white space at the beginning of a text, and at its end. */
static inline size_t tsri_base_blank_begin(const char *text, size_t n) {
    size_t size = 0;
    while (size < n && tsri_base_is_blank(text[size]))
        size++;
    return size;
}

static inline size_t tsri_base_blank_end(const char *text, size_t n) {
    size_t size = 0;
    while (size < n && tsri_base_is_blank(text[n - 1 - size]))
        size++;
    return size;
}

/* Whether the n bytes of a text end with `end`. */
static inline bool tsri_base_bytes_end_with(const char *text, size_t n, const char *end) {
    const size_t size = strlen(end);
    return n >= size && !memcmp(text + n - size, end, size);
}

static inline bool tsri_base_ends_with(const char *text, const char *end) {
    return tsri_base_bytes_end_with(text, strlen(text), end);
}

#endif
