/* cli/base/utf8.c - finds the first byte of a text that is not part of a UTF-8 character. */
#include "cli/base/utf8.h"

/* The number of bytes of the character that begins here; 0 where none does. */
static size_t character(const unsigned char *c, size_t n) {
    const size_t size = c[0] < 0x80                   ? 1
                        : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
                        : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
                        : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                                      : 0;
    if (size > n)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90)) /* overlong encodings */
        return 0;
    if ((c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90)) /* not characters */
        return 0;
    return size;
}

size_t tsri_cli_utf8_until(const char *text, size_t n) {
    size_t at = 0, size = 1;
    while (at < n && (size = character((const unsigned char *)text + at, n - at)) != 0)
        at += size;
    return at;
}
