/* base/system/windows/converter.c - encodings of texts: Unicode's own, and Windows's code pages of one
 * byte a character. */
#include "base/system/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

struct tsri_system_converter {
    unsigned unit; /* bytes: 4: UTF-32, 2: UTF-16, 1: a code page */
    bool big;      /* the high byte comes first */
    uint32_t of[256];
};

#define NO_CHARACTER UINT32_MAX

/* What each byte of a code page stands for; false where it isn't one of single bytes. */
static bool read_page(unsigned page, uint32_t of[256]) {
    CPINFO info;
    if (!GetCPInfo(page, &info) || info.MaxCharSize != 1)
        return false;
    for (int byte = 0; byte < 256; byte++) {
        const char c = (char)byte;
        wchar_t wide = 0;
        const int n = MultiByteToWideChar(page, MB_ERR_INVALID_CHARS, &c, 1, &wide, 1);
        of[byte] = n == 1 ? (uint32_t)wide : NO_CHARACTER;
    }
    return true;
}

/* ISO-8859-n, WINDOWS-n, CPn, KOI8-R and US-ASCII as numbers of code pages; 0: another. */
static unsigned page_of(const char *encoding) {
    static const struct {
        const char *begin;
        unsigned base;
    } families[] = {{"ISO-8859-", 28590}, {"ISO8859-", 28590}, {"WINDOWS-", 0}, {"CP", 0}};
    static const struct {
        const char *name;
        unsigned page;
    } names[] = {{"KOI8-R", 20866}, {"KOI8-U", 21866}, {"US-ASCII", 20127}, {"ASCII", 20127}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const size_t n = strlen(families[i].begin);
        char *end;
        if (_strnicmp(encoding, families[i].begin, n) != 0)
            continue;
        const unsigned long number = strtoul(encoding + n, &end, 10);
        if (number && !*end)
            return families[i].base + (unsigned)number;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!_stricmp(encoding, names[i].name))
            return names[i].page;
    return 0;
}

tsri_system_converter *tsri_system_converter_open(const char *encoding) {
    tsri_system_converter *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    const bool wide = !_strnicmp(encoding, "UTF-16", 6), wider = !_strnicmp(encoding, "UTF-32", 6);
    if ((wide || wider) && (!_stricmp(encoding + 6, "LE") || !_stricmp(encoding + 6, "BE"))) {
        c->unit = wide ? 2 : 4;
        c->big = encoding[6] == 'B' || encoding[6] == 'b';
        return c;
    }
    const unsigned page = page_of(encoding);
    c->unit = 1;
    if (page && read_page(page, c->of))
        return c;
    free(c);
    return NULL;
}

static uint32_t unit_at(const tsri_system_converter *c, const unsigned char *at) {
    uint32_t unit = 0;
    for (unsigned i = 0; i < c->unit; i++)
        unit |= (uint32_t)at[i] << 8 * (c->big ? c->unit - 1 - i : i);
    return unit;
}

/* The character at `from` and its size; a size of 0 with errno where there is none. */
static size_t take(const tsri_system_converter *c, const unsigned char *from, size_t n,
                   uint32_t *character) {
    size_t size = c->unit;
    errno = EINVAL;
    if (n < size)
        return 0;
    *character = c->unit == 1 ? c->of[*from] : unit_at(c, from);
    if (c->unit == 2 && *character >= 0xd800 && *character < 0xdc00) {
        if (n < 4)
            return 0;
        const uint32_t low = unit_at(c, from + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *character = 0x10000 + ((*character - 0xd800) << 10) + (low - 0xdc00);
            size = 4;
        }
    }
    errno = EILSEQ;
    return *character > 0x10ffff || (*character >= 0xd800 && *character < 0xe000) ? 0 : size;
}

static size_t put(uint32_t character, char out[4]) {
    const size_t n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(first[n] | character);
    return n;
}

int tsri_system_convert(tsri_system_converter *c, char **from, size_t *n, char **out,
                        size_t *room) {
    while (*n) {
        uint32_t character = 0;
        char bytes[4];
        const size_t taken = take(c, (const unsigned char *)*from, *n, &character);
        if (!taken)
            return -1;
        const size_t made = put(character, bytes);
        if (made > *room) {
            errno = E2BIG;
            return -1;
        }
        memcpy(*out, bytes, made);
        *from += taken;
        *n -= taken;
        *out += made;
        *room -= made;
    }
    return 0;
}

void tsri_system_converter_close(tsri_system_converter *converter) {
    free(converter);
}
