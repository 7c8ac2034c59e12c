/* text/base/byte_level.c - turns bytes into the printable characters of GPT-2's alphabet, and
 * back. */
#include "text/base/byte_level.h"

#include "base/error.h"
#include "text/base/unicode.h"

/* Printable bytes stand for themselves; the other 68, in order, are written as U+0100 and up. */
static bool printable(int byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

static int32_t character_of(int byte) {
    if (printable(byte))
        return byte;
    const int before = byte <= 0x20 ? byte : byte <= 0xA0 ? 0x21 + byte - 0x7F : 0x43;
    return 0x100 + before;
}

static int byte_of(int32_t c) {
    if (c < 0x100)
        return printable(c) ? c : -1;
    const int32_t i = c - 0x100;
    if (i > 0x43)
        return -1;
    return i <= 0x20 ? i : i < 0x43 ? i - 0x21 + 0x7F : 0xAD;
}

tsr_status tsri_text_bytes_to_characters(const char *bytes, size_t n, tsri_bytes *out) {
    for (size_t i = 0; i < n; i++) {
        char text[4];
        TRY(tsri_base_bytes_append(
            out, text, tsri_text_utf8_put(character_of((unsigned char)bytes[i]), text)));
    }
    return TSR_OK;
}

tsr_status tsri_text_characters_to_bytes(const char *text, size_t n, tsri_bytes *out) {
    const size_t start = out->size;
    for (size_t i = 0; i < n;) {
        int32_t c;
        i += tsri_text_utf8_next(text + i, n - i, &c);
        const int byte = byte_of(c);
        if (byte < 0) {
            out->size = start;
            return tsri_base_bytes_append(out, text, n);
        }
        TRY(tsri_base_bytes_append(out, &(char){(char)byte}, 1));
    }
    return TSR_OK;
}
