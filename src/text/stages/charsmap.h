/* text/stages/charsmap.h - SentencePiece's precompiled character map: strings and their
 * replacements, in a double array.
 *
 *   u32 bytes of the trie | its units, u32 each | texts, each followed by a NUL
 *
 * All numbers are little-endian. From a unit at p that is not a leaf, a byte leads to p ^ offset ^
 * byte, where the unit's label must be that byte. A unit with the leaf bit has its value at p ^
 * offset: the place where its text begins.
 * source  Yata, darts-clone; sentencepiece, src/normalizer.cc */
#ifndef TSRI_TEXT_STAGES_CHARSMAP_H
#define TSRI_TEXT_STAGES_CHARSMAP_H

#include "base/bytes.h"

#include <stdbool.h>

typedef struct tsri_text_charsmap tsri_text_charsmap;

/* TSR_E_FORMAT: a size does not match the data. Offsets in units are checked when they are read. */
tsr_status tsri_text_charsmap_new(const void *blob, size_t n, tsri_text_charsmap **out);
/* The length in bytes of the longest string of the map that text starts with, 0 if there is none;
 * *by and *by_size are its replacement, which may be empty. With `shortest`, the shortest such
 * string. */
size_t tsri_text_charsmap_find(const tsri_text_charsmap *map, const char *text, size_t n,
                               bool shortest, const char **by, size_t *by_size);
void tsri_text_charsmap_destroy(tsri_text_charsmap **map);

#endif
