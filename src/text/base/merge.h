/* text/base/merge.h - greedy merging of neighbours, best pair first: a heap over a linked list,
 * O(n log n). */
#ifndef TSRI_TEXT_BASE_MERGE_H
#define TSRI_TEXT_BASE_MERGE_H

#include "text/base/ids.h"
#include "text/base/splits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_text_symbol {
    uint32_t start, size;   /* bytes of the word; size 0: merged into the symbol before it */
    int32_t id;             /* -1: not in the vocabulary */
    int32_t previous, next; /* -1: none */
    bool frozen;            /* never merged */
} tsri_text_symbol;

typedef struct tsri_text_candidate {
    uint64_t key; /* order, then the left symbol: the lowest goes first, and of equal orders the
                     leftmost */
    uint32_t size;
    int32_t id;
} tsri_text_candidate;

/* The best way to cut the text up to some byte: its score, the start of its last piece, that
 * piece. */
typedef struct tsri_text_best {
    double score;
    int32_t start, id;
} tsri_text_best;

/* Merges of byte-pair encoding that are left out at random, so that a word is cut in many ways. All
 * zero leaves none out.
 * source  Provilkov, Emelianenko, Voita 2020, "BPE-Dropout", arXiv:1910.13267 */
typedef struct tsri_text_dropout {
    double rate; /* share of the merges that is left out */
    uint64_t seed, stream, drawn;
} tsri_text_dropout;

/* Scratch memory of one encode call, kept from word to word. All zero is empty. */
typedef struct tsri_text_work {
    tsri_text_symbol *symbols;
    size_t count, capacity;
    tsri_text_candidate *heap;
    size_t heap_count, heap_capacity;
    const char *word;
    uint32_t *cuts; /* SentencePiece: by id, where an unused piece was joined; 0: unknown */
    size_t cut_count;
    tsri_text_best *best; /* Unigram: by byte */
    size_t best_capacity;
    tsri_text_dropout *dropout;   /* NULL: every merge is made */
    tsri_text_candidate *skipped; /* candidates left out until another merge is made */
    size_t skipped_count, skipped_capacity;
    tsri_text_ranges *places; /* where in the word each id stands; NULL: not needed */
} tsri_text_work;

/* Whether two neighbours merge; if so, the order (lower goes first) and the id of the result. */
typedef bool (*tsri_text_pair)(const void *model, tsri_text_work *work,
                               const tsri_text_symbol *left, const tsri_text_symbol *right,
                               uint32_t *order, int32_t *id);

/* Appends a symbol linked to the one before it. */
tsr_status tsri_text_symbol_add(tsri_text_work *work, size_t start, size_t size, int32_t id,
                                bool frozen);
tsr_status tsri_text_merge(tsri_text_work *work, tsri_text_pair pair, const void *model);
/* Appends an id, which stands for word[start..end). */
tsr_status tsri_text_emit(tsri_text_work *work, tsri_text_ids *ids, int32_t id, size_t start,
                          size_t end);
void tsri_text_work_clear(tsri_text_work *work);

#endif
