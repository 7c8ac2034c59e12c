/* text/stages/charsmap.h - SentencePiece's precompiled character map: strings and what stands for
 * them, in a double array.
 *
 *   u32 bytes of the trie | its units, u32 each | texts, each with a NUL behind it
 *
 * All numbers little-endian. A unit at p that is no leaf goes on at p ^ offset ^ byte, where the
 * unit's label must be the byte; one with the leaf bit has its value at p ^ offset: where its text
 * begins.
 * source  Yata, darts-clone; sentencepiece, src/normalizer.cc */
#ifndef TSRI_TEXT_STAGES_CHARSMAP_H
#define TSRI_TEXT_STAGES_CHARSMAP_H

#include "base/bytes.h"

#include <stdbool.h>

typedef struct tsri_text_charsmap tsri_text_charsmap;

/* TSR_E_FORMAT: a size that is not true. What a unit points at is checked when it is read. */
tsr_status tsri_text_charsmap_new(const void *blob, size_t n, tsri_text_charsmap **out);
/* Bytes of the longest string of the map that text starts with, 0 for none; *by, *by_size is what
 * stands for it (perhaps empty). With `shortest` it is the shortest. */
size_t tsri_text_charsmap_find(const tsri_text_charsmap *map, const char *text, size_t n,
                               bool shortest, const char **by, size_t *by_size);
void tsri_text_charsmap_destroy(tsri_text_charsmap **map);

#endif
