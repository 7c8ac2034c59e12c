/* task/measure/ngrams.c - counts the n-grams that two sequences have in common. */
#include "task/measure/ngrams.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <stdlib.h>
#include <string.h>

void tsri_task_ngrams_empty(tsri_task_ngrams *s) {
    s->size = 0;
}

tsr_status tsri_task_ngrams_add(tsri_task_ngrams *s, int32_t item) {
    TRY(tsri_base_grow(&s->items, &s->room, s->size + 1 + TSRI_TASK_NGRAM_MOST, sizeof *s->items));
    s->items[s->size++] = item;
    return TSR_OK;
}

static int compare(const int32_t *a, const int32_t *b, int n) {
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_run(const void *a, const void *b) {
    return compare(*(const int32_t *const *)a, *(const int32_t *const *)b, TSRI_TASK_NGRAM_MOST);
}

/* A sequence sorted by its longest n-grams is sorted by those of every n. */
tsr_status tsri_task_ngrams_sort(tsri_task_ngrams *s) {
    TRY(tsri_base_grow(&s->items, &s->room, s->size + TSRI_TASK_NGRAM_MOST, sizeof *s->items));
    TRY(tsri_base_grow(&s->sorted, &s->sorted_room, s->size + 1, sizeof *s->sorted));
    for (int i = 0; i < TSRI_TASK_NGRAM_MOST; i++)
        s->items[s->size + (size_t)i] = -1;
    for (size_t i = 0; i < s->size; i++)
        s->sorted[i] = s->items + i;
    qsort(s->sorted, s->size, sizeof *s->sorted, by_run);
    return TSR_OK;
}

void tsri_task_ngrams_clear(tsri_task_ngrams *s) {
    free(s->items);
    free(s->sorted);
    *s = (tsri_task_ngrams){0};
}

uint64_t tsri_task_ngrams_count(const tsri_task_ngrams *s, int n) {
    return s->size < (size_t)n ? 0 : s->size - (size_t)n + 1;
}

/* An n-gram that is cut short by the end contains a -1, and so never equals a complete one; two
 * such n-grams are not a match either. */
uint64_t tsri_task_ngrams_common(const tsri_task_ngrams *a, const tsri_task_ngrams *b, int n) {
    uint64_t common = 0;
    for (size_t i = 0, k = 0; i < a->size && k < b->size;) {
        const int order = compare(a->sorted[i], b->sorted[k], n);
        common += order == 0 && a->sorted[i][n - 1] >= 0;
        i += order <= 0;
        k += order >= 0;
    }
    return common;
}

bool tsri_task_splits(int32_t c) {
    return (c >= 0x1c && c <= 0x1f) || tsri_text_is_space(c);
}

tsr_status tsri_task_check_lines(const tsr_string *translations, const tsr_string *references,
                                 size_t n) {
    const tsr_string *const sides[] = {translations, references};
    if (!n)
        return tsri_base_fail(TSR_E_FORMAT, "there are no lines; at least one is needed");
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < n; i++)
            if (!tsri_text_utf8_valid(sides[side][i].data, sides[side][i].size))
                return tsri_base_fail(TSR_E_FORMAT, "line %zu of the %s is not UTF-8", i + 1,
                                      side ? "references" : "translations");
    return TSR_OK;
}
