/* text/base/splits.h - a text on its way to ids: pieces of text, some of which are ids already. */
#ifndef TSRI_TEXT_BASE_SPLITS_H
#define TSRI_TEXT_BASE_SPLITS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_text_split {
    size_t start, size; /* in the splits' text */
    int32_t id;         /* an added token's id, or -1: text still to be cut */
    bool first;         /* it starts where the input starts */
} tsri_text_split;

/* All zero is an empty list of pieces. */
typedef struct tsri_text_splits {
    tsri_bytes text;
    tsri_text_split *items;
    size_t count, capacity;
} tsri_text_splits;

/* Appends a piece and copies its text. An empty text without an id is left out. */
tsr_status tsri_text_splits_add(tsri_text_splits *splits, const char *text, size_t n, int32_t id,
                                bool first);
/* Appends a piece whose text is already at the end of splits->text, from `start` on. */
tsr_status tsri_text_splits_close(tsri_text_splits *splits, size_t start, bool first);
void tsri_text_splits_empty(tsri_text_splits *splits); /* keeps the memory allocated */
void tsri_text_splits_clear(tsri_text_splits *splits);

/* A cover of a text: adjacent ranges, each a match of a pattern or the text between two matches. */
typedef struct tsri_text_range {
    size_t start, end;
    bool match;
} tsri_text_range;

typedef struct tsri_text_ranges {
    tsri_text_range *items;
    size_t count, capacity;
} tsri_text_ranges;

tsr_status tsri_text_ranges_add(tsri_text_ranges *ranges, size_t start, size_t end, bool match);
void tsri_text_ranges_clear(tsri_text_ranges *ranges);

/* What happens to the matches when a text is split: Hugging Face's five behaviours. */
typedef enum tsri_text_behavior {
    TSRI_TEXT_REMOVED,
    TSRI_TEXT_ISOLATED,
    TSRI_TEXT_MERGED_WITH_PREVIOUS,
    TSRI_TEXT_MERGED_WITH_NEXT,
    TSRI_TEXT_CONTIGUOUS
} tsri_text_behavior;

/* Cuts text by the cover (which it may rewrite) and appends the pieces to out; `first` says whether
 * text is the first piece of the input. */
tsr_status tsri_text_cut(const char *text, tsri_text_ranges *cover, tsri_text_behavior behavior,
                         bool first, tsri_text_splits *out);

#endif
