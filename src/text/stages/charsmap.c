/* text/stages/charsmap.c - reads SentencePiece's map of characters, and finds the replacement of
 * the longest string that starts at a byte. */
#include "text/stages/charsmap.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct tsri_text_charsmap {
    uint32_t *units;
    size_t count;
    char *texts; /* a NUL follows the last text, even where the file has none */
    size_t size;
};

static uint32_t read_u32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

tsr_status tsri_text_charsmap_new(const void *blob, size_t n, tsri_text_charsmap **out) {
    const unsigned char *bytes = blob;
    const size_t size = n >= 4 ? read_u32(bytes) : 0;
    tsri_text_charsmap *map = NULL;
    *out = NULL;
    if (n < 4 || size == 0 || size % 4 != 0 || size > n - 4)
        return tsri_base_fail(TSR_E_FORMAT,
                              "the character map has %zu bytes and says that %zu of them are its "
                              "trie; it is truncated, or is not a character map",
                              n, size);
    TRY(tsri_base_new(1, sizeof *map, &map));
    map->count = size / 4;
    map->size = n - 4 - size;
    tsr_status status = tsri_base_new(map->count, sizeof *map->units, &map->units);
    if (status == TSR_OK)
        status = (map->texts = tsri_base_copy_text((const char *)bytes + 4 + size, map->size))
                     ? TSR_OK
                     : TSR_E_HOST_MEMORY;
    for (size_t i = 0; i < map->count && status == TSR_OK; i++)
        map->units[i] = read_u32(bytes + 4 + 4 * i);
    if (status != TSR_OK)
        tsri_text_charsmap_destroy(&map);
    *out = map;
    return status;
}

static bool has_leaf(uint32_t unit) {
    return unit >> 8 & 1;
}

static uint32_t label_of(uint32_t unit) {
    return unit & 0x800000FFu;
}

static uint32_t offset_of(uint32_t unit) {
    return unit >> 10 << ((unit >> 9 & 1) * 8);
}

size_t tsri_text_charsmap_find(const tsri_text_charsmap *map, const char *text, size_t n,
                               bool shortest, const char **by, size_t *by_size) {
    size_t found = 0;
    uint32_t at = offset_of(map->units[0]);
    for (size_t i = 0; i < n && text[i] && !(shortest && found); i++) {
        at ^= (unsigned char)text[i];
        if (at >= map->count || label_of(map->units[at]) != (unsigned char)text[i])
            break;
        const uint32_t unit = map->units[at];
        at ^= offset_of(unit);
        if (!has_leaf(unit) || at >= map->count)
            continue;
        const uint32_t start = map->units[at] & 0x7FFFFFFFu;
        if (start > map->size)
            continue;
        *by = map->texts + start;
        *by_size = strlen(*by);
        found = i + 1;
    }
    return found;
}

void tsri_text_charsmap_destroy(tsri_text_charsmap **map) {
    if (!*map)
        return;
    free((*map)->units);
    free((*map)->texts);
    free(*map);
    *map = NULL;
}
