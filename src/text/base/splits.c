/* text/base/splits.c - keeps a text as pieces, and cuts it where a pattern matches. */
#include "text/base/splits.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

tsr_status tsri_text_splits_add(tsri_text_splits *splits, const char *text, size_t n, int32_t id,
                                bool first) {
    if (n == 0 && id < 0)
        return TSR_OK;
    TRY(tsri_base_grow(&splits->items, &splits->capacity, splits->count + 1,
                       sizeof *splits->items));
    const size_t start = splits->text.size;
    TRY(tsri_base_bytes_append(&splits->text, text, n));
    splits->items[splits->count++] = (tsri_text_split){start, n, id, first};
    return TSR_OK;
}

tsr_status tsri_text_splits_close(tsri_text_splits *splits, size_t start, bool first) {
    if (splits->text.size == start)
        return TSR_OK;
    TRY(tsri_base_grow(&splits->items, &splits->capacity, splits->count + 1,
                       sizeof *splits->items));
    splits->items[splits->count++] = (tsri_text_split){start, splits->text.size - start, -1, first};
    return TSR_OK;
}

void tsri_text_splits_empty(tsri_text_splits *splits) {
    splits->text.size = 0;
    splits->count = 0;
}

void tsri_text_splits_clear(tsri_text_splits *splits) {
    tsri_base_bytes_clear(&splits->text);
    free(splits->items);
    *splits = (tsri_text_splits){0};
}

tsr_status tsri_text_ranges_add(tsri_text_ranges *ranges, size_t start, size_t end, bool match) {
    TRY(tsri_base_grow(&ranges->items, &ranges->capacity, ranges->count + 1,
                       sizeof *ranges->items));
    ranges->items[ranges->count++] = (tsri_text_range){start, end, match};
    return TSR_OK;
}

void tsri_text_ranges_clear(tsri_text_ranges *ranges) {
    free(ranges->items);
    *ranges = (tsri_text_ranges){0};
}

/* Joins neighbours that are both matches, or both not, into one range. */
static void join_alike(tsri_text_ranges *cover) {
    size_t kept = 0;
    for (size_t i = 0; i < cover->count; i++) {
        const tsri_text_range range = cover->items[i];
        if (kept && cover->items[kept - 1].match == range.match)
            cover->items[kept - 1].end = range.end;
        else
            cover->items[kept++] = range;
    }
    cover->count = kept;
}

/* Joins a match with the range before it; the second of two matches in a row stays alone. */
static void join_previous(tsri_text_ranges *cover) {
    size_t kept = 0;
    bool was_match = false;
    for (size_t i = 0; i < cover->count; i++) {
        const tsri_text_range range = cover->items[i];
        if (range.match && !was_match && kept)
            cover->items[kept - 1].end = range.end;
        else
            cover->items[kept++] = range;
        was_match = range.match;
    }
    cover->count = kept;
}

/* The mirror image: going backwards from the end, joins a match with the range after it. */
static void join_next(tsri_text_ranges *cover) {
    size_t kept = cover->count;
    bool was_match = false;
    for (size_t i = cover->count; i-- > 0;) {
        const tsri_text_range range = cover->items[i];
        if (range.match && !was_match && kept < cover->count)
            cover->items[kept].start = range.start;
        else
            cover->items[--kept] = range;
        was_match = range.match;
    }
    for (size_t i = kept; i < cover->count; i++)
        cover->items[i - kept] = cover->items[i];
    cover->count -= kept;
}

tsr_status tsri_text_cut(const char *text, tsri_text_ranges *cover, tsri_text_behavior behavior,
                         bool first, tsri_text_splits *out) {
    if (behavior == TSRI_TEXT_CONTIGUOUS)
        join_alike(cover);
    else if (behavior == TSRI_TEXT_MERGED_WITH_PREVIOUS)
        join_previous(cover);
    else if (behavior == TSRI_TEXT_MERGED_WITH_NEXT)
        join_next(cover);
    for (size_t i = 0; i < cover->count; i++) {
        const tsri_text_range range = cover->items[i];
        if (behavior == TSRI_TEXT_REMOVED && range.match)
            continue;
        TRY(tsri_text_splits_add(out, text + range.start, range.end - range.start, -1,
                                 first && range.start == 0));
    }
    return TSR_OK;
}
