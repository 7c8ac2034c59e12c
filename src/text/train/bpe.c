/* text/train/bpe.c - which neighbours to merge: always the pair that occurs most often.
 *
 * This is Hugging Face's BpeTrainer, including its ties and its shortcuts. Of pairs that occur
 * equally often the one with the lower ids goes first. A pair's count is kept up to date while its
 * neighbours are merged, but the queue holds earlier counts, so a pair that is taken from it is put
 * back if its count has changed. If a piece can arise in two ways, pairs with it enter the queue
 * twice, each time with the words of that moment, and merge twice; the later rank of such a pair
 * counts.
 * source  huggingface/tokenizers, models/bpe/trainer.rs, word.rs; arXiv:1508.07909 */
#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"
#include "text/train/train.h"

#include <stdlib.h>

#define NO_KEY UINT64_MAX

typedef struct pair_count {
    uint64_t key; /* left id << 32 | right id */
    int64_t count;
    uint32_t places; /* 1 + the index in `fresh` where its words are gathered for the queue; 0:
                        none */
} pair_count;

typedef struct place_list { /* words, ascending */
    uint32_t *items;
    size_t count, capacity;
} place_list;

typedef struct queued {
    uint64_t count, key;
    uint32_t *places;
    size_t n_places;
} queued;

typedef struct span { /* a word's symbols */
    size_t start;
    uint32_t size;
} span;

typedef struct learning {
    const tsri_text_word_counts *words;
    span *spans;
    int32_t *symbols;
    pair_count *pairs; /* open addressing */
    size_t pair_slots, n_pairs;
    struct {
        uint64_t key;
        place_list list;
    } *fresh; /* pairs that have appeared since the queue was last filled */
    size_t n_fresh, fresh_capacity;
    queued *queue; /* a heap */
    size_t n_queue, queue_capacity;
    tsri_text_vocabulary *pieces;
} learning;

static uint64_t key_of(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static pair_count *slot_of(pair_count *pairs, size_t slots, uint64_t key) {
    const uint64_t h = key * 0x9E3779B97F4A7C15u;
    size_t slot = (h ^ h >> 32) & (slots - 1);
    while (pairs[slot].key != NO_KEY && pairs[slot].key != key)
        slot = (slot + 1) & (slots - 1);
    return &pairs[slot];
}

static tsr_status more_pairs(learning *l) {
    const size_t slots = l->pair_slots ? 2 * l->pair_slots : 1 << 14;
    pair_count *pairs = NULL;
    TRY(tsri_base_new(slots, sizeof *pairs, &pairs));
    for (size_t i = 0; i < slots; i++)
        pairs[i].key = NO_KEY;
    for (size_t i = 0; i < l->pair_slots; i++)
        if (l->pairs[i].key != NO_KEY)
            *slot_of(pairs, slots, l->pairs[i].key) = l->pairs[i];
    free(l->pairs);
    l->pairs = pairs;
    l->pair_slots = slots;
    return TSR_OK;
}

/* The pair occurs `by` times more (or fewer, if negative) in the word; if more, it will be
 * queued. */
static tsr_status change(learning *l, int32_t left, int32_t right, int64_t by, uint32_t word) {
    if (2 * (l->n_pairs + 1) > l->pair_slots)
        TRY(more_pairs(l));
    const uint64_t key = key_of(left, right);
    pair_count *p = slot_of(l->pairs, l->pair_slots, key);
    if (p->key == NO_KEY) {
        *p = (pair_count){.key = key};
        l->n_pairs++;
    }
    p->count += by;
    if (by < 0)
        return TSR_OK;
    if (!p->places) {
        TRY(tsri_base_grow(&l->fresh, &l->fresh_capacity, l->n_fresh + 1, sizeof *l->fresh));
        l->fresh[l->n_fresh].key = key;
        l->fresh[l->n_fresh].list = (place_list){0};
        p->places = (uint32_t)++l->n_fresh;
    }
    place_list *list = &l->fresh[p->places - 1].list;
    if (list->count && list->items[list->count - 1] == word)
        return TSR_OK;
    TRY(tsri_base_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items));
    list->items[list->count++] = word;
    return TSR_OK;
}

static bool before(const queued *a, const queued *b) {
    return a->count != b->count ? a->count > b->count : a->key < b->key;
}

static tsr_status push(learning *l, queued item) {
    TRY(tsri_base_grow(&l->queue, &l->queue_capacity, l->n_queue + 1, sizeof *l->queue));
    size_t at = l->n_queue++;
    for (; at && before(&item, &l->queue[(at - 1) / 2]); at = (at - 1) / 2)
        l->queue[at] = l->queue[(at - 1) / 2];
    l->queue[at] = item;
    return TSR_OK;
}

/* Removes the first item of the queue, or puts it back with another count. */
static void sift(learning *l, queued item) {
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < l->n_queue; at = child) {
        child += child + 1 < l->n_queue && before(&l->queue[child + 1], &l->queue[child]);
        if (!before(&l->queue[child], &item))
            break;
        l->queue[at] = l->queue[child];
    }
    l->queue[at] = item;
}

static queued pop(learning *l) {
    const queued first = l->queue[0], last = l->queue[--l->n_queue];
    if (l->n_queue)
        sift(l, last);
    return first;
}

static tsr_status queue_fresh(learning *l) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < l->n_fresh; i++) {
        place_list *list = &l->fresh[i].list;
        pair_count *p = slot_of(l->pairs, l->pair_slots, l->fresh[i].key);
        p->places = 0;
        if (p->count > 0 && status == TSR_OK) {
            status = push(l, (queued){(uint64_t)p->count, p->key, list->items, list->count});
            if (status == TSR_OK)
                list->items = NULL; /* the queue owns it now */
        }
        free(list->items);
    }
    l->n_fresh = 0;
    return status;
}

/* Replaces every left, right of the word by id. */
static tsr_status merge_word(learning *l, uint32_t word, int32_t left, int32_t right, int32_t id) {
    int32_t *s = l->symbols + l->spans[word].start;
    const uint32_t n = l->spans[word].size;
    const int64_t count = (int64_t)l->words->items[word].count;
    uint32_t to = 0;
    for (uint32_t from = 0; from < n; from++) {
        if (s[from] != left || from + 1 == n || s[from + 1] != right) {
            s[to++] = s[from];
            continue;
        }
        if (to) {
            TRY(change(l, s[to - 1], left, -count, word));
            TRY(change(l, s[to - 1], id, count, word));
        }
        from++;
        if (from + 1 < n) {
            TRY(change(l, right, s[from + 1], -count, word));
            TRY(change(l, id, s[from + 1], count, word));
        }
        s[to++] = id;
    }
    l->spans[word].size = to;
    return TSR_OK;
}

static tsr_status first_symbols(learning *l, const int32_t *byte_ids) {
    size_t room = 0, at = 0;
    for (size_t i = 0; i < l->words->count; i++)
        room += l->words->items[i].size;
    TRY(tsri_base_new(room, sizeof *l->symbols, &l->symbols));
    TRY(tsri_base_new(l->words->count, sizeof *l->spans, &l->spans));
    for (size_t i = 0; i < l->words->count; i++) {
        const tsri_text_word_count *w = &l->words->items[i];
        const char *text = l->words->text.data + w->start;
        l->spans[i].start = at;
        for (size_t k = 0; k < w->size;) {
            int32_t c;
            const size_t size = byte_ids ? 1 : tsri_text_utf8_next(text + k, w->size - k, &c);
            l->symbols[at++] = byte_ids ? byte_ids[(unsigned char)text[k]]
                                        : tsri_text_vocabulary_find(l->pieces, text + k, size);
            k += size;
        }
        l->spans[i].size = (uint32_t)(at - l->spans[i].start);
        for (size_t k = l->spans[i].start; k + 1 < at; k++)
            TRY(change(l, l->symbols[k], l->symbols[k + 1], (int64_t)w->count, (uint32_t)i));
    }
    return queue_fresh(l);
}

/* The id of the two pieces joined; -1 if the result would be too long for a piece. */
static tsr_status joined(learning *l, int32_t left, int32_t right, int32_t *id) {
    tsri_bytes both = {0};
    size_t na, nb;
    const char *a = tsri_text_vocabulary_piece(l->pieces, left, &na);
    tsr_status status = tsri_base_bytes_append(&both, a, na);
    const char *b = tsri_text_vocabulary_piece(l->pieces, right, &nb);
    if (status == TSR_OK)
        status = tsri_base_bytes_append(&both, b, nb);
    *id = -1;
    if (status == TSR_OK && both.size <= TSRI_TEXT_PIECE_LIMIT) {
        *id = tsri_text_vocabulary_find(l->pieces, both.data, both.size);
        if (*id < 0) {
            *id = (int32_t)l->pieces->count;
            status = tsri_text_vocabulary_put(l->pieces, *id, both.data, both.size, false);
        }
    }
    tsri_base_bytes_clear(&both);
    return status;
}

static tsr_status merge_all(learning *l, const queued *top, tsri_text_merges *out) {
    const int32_t left = (int32_t)(top->key >> 32), right = (int32_t)(uint32_t)top->key;
    int32_t id;
    TRY(joined(l, left, right, &id));
    if (id < 0)
        return TSR_OK;
    TRY(tsri_base_grow(&out->pairs, &out->capacity, out->count + 1, sizeof *out->pairs));
    out->pairs[out->count++] = (tsri_text_merge_pair){left, right};
    for (size_t i = 0; i < top->n_places; i++)
        TRY(merge_word(l, top->places[i], left, right, id));
    return queue_fresh(l);
}

tsr_status tsri_text_learn_merges(const tsri_text_word_counts *words, const int32_t *byte_ids,
                                  int64_t vocab_size, uint64_t min_frequency,
                                  int (*progress)(void *data, uint64_t done, uint64_t total),
                                  void *progress_data, tsri_text_vocabulary *pieces,
                                  tsri_text_merges *out) {
    learning l = {.words = words, .pieces = pieces};
    const size_t begun = pieces->count;
    tsr_status status = more_pairs(&l);
    if (status == TSR_OK)
        status = first_symbols(&l, byte_ids);
    while (status == TSR_OK && l.n_queue && (int64_t)pieces->count < vocab_size) {
        const uint64_t now = (uint64_t)slot_of(l.pairs, l.pair_slots, l.queue[0].key)->count;
        if (l.queue[0].count != now) {
            queued again = l.queue[0];
            again.count = now;
            sift(&l, again);
            continue;
        }
        if (now < 1 || now < min_frequency)
            break;
        const queued top = pop(&l);
        status = merge_all(&l, &top, out);
        free(top.places);
        if (status == TSR_OK && progress && (pieces->count & 63) == 0 &&
            progress(progress_data, pieces->count - begun, (uint64_t)vocab_size - begun))
            status = tsri_base_fail(TSR_E_CANCELLED, "the training of the tokenizer was cancelled");
    }
    for (size_t i = 0; i < l.n_queue; i++)
        free(l.queue[i].places);
    for (size_t i = 0; i < l.n_fresh; i++)
        free(l.fresh[i].list.items);
    free(l.queue);
    free(l.fresh);
    free(l.pairs);
    free(l.symbols);
    free(l.spans);
    return status;
}
