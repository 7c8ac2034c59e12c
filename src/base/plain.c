/* base/plain.c - replaces characters that control a terminal. */
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* How many bytes the character at text[0] has, and whether it controls a terminal. */
static size_t next(const unsigned char *text, size_t n, bool *steers) {
    const unsigned char lead = text[0];
    const size_t size = lead < 0x80   ? 1
                        : lead < 0xC2 ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
    unsigned c = size < 2 ? lead : lead & (0x7Fu >> size);
    *steers = true;
    if (size == 0 || size > n)
        return 1;
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 1;
        c = c << 6 | (text[i] & 0x3F);
    }
    /* no character: one in more bytes than it needs, half of a surrogate pair, past the last one */
    if (c < (size == 4   ? 0x10000u
             : size == 3 ? 0x800u
                         : 0) ||
        (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF)
        return 1;
    const bool end = c == '\n' || c == '\t' || (c == '\r' && n > 1 && text[1] == '\n');
    *steers = (c < ' ' && !end) || (c >= 0x7F && c <= 0x9F) || (c >= 0x2028 && c <= 0x202E) ||
              (c >= 0x2066 && c <= 0x2069);
    return size;
}

size_t tsri_base_plain(char *text, size_t n) {
    size_t kept = 0, size;
    for (size_t i = 0; i < n; i += size) {
        bool steers;
        size = next((const unsigned char *)text + i, n - i, &steers);
        if (steers)
            text[kept++] = '?';
        else
            for (size_t k = 0; k < size; k++)
                text[kept++] = text[i + k];
    }
    return kept;
}
