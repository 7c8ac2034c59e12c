/* text/train/word_counts.c - counts words in a hash table, and forgets the rarest words if there
 * are too many. */
#include "text/train/word_counts.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, uint64_t bits) {
    h = (h ^ bits) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static uint64_t hash_of(const char *word, size_t n) {
    uint64_t h = n, bits;
    for (; n > 8; n -= 8, word += 8) {
        memcpy(&bits, word, 8);
        h = mix(h, bits);
    }
    bits = 0;
    memcpy(&bits, word, n);
    return mix(h, bits);
}

/* The slot that holds the word, or the empty slot where it belongs. */
static size_t slot_of(const tsri_text_word_counts *w, const char *word, size_t n, uint64_t hash) {
    size_t slot = hash & (w->slot_count - 1);
    for (;; slot = (slot + 1) & (w->slot_count - 1)) {
        if (!w->slots[slot])
            return slot;
        const tsri_text_word_count *item = &w->items[w->slots[slot] - 1];
        if (item->hash == hash && item->size == n && !memcmp(w->text.data + item->start, word, n))
            return slot;
    }
}

/* Each word occurs once, so only an empty slot is looked for. */
static void fill_slots(tsri_text_word_counts *w) {
    for (size_t i = 0; i < w->count; i++) {
        size_t slot = w->items[i].hash & (w->slot_count - 1);
        while (w->slots[slot])
            slot = (slot + 1) & (w->slot_count - 1);
        w->slots[slot] = (uint32_t)i + 1;
    }
}

static tsr_status more_slots(tsri_text_word_counts *w) {
    const size_t slot_count = w->slot_count ? 2 * w->slot_count : 1 << 12;
    uint32_t *slots = NULL;
    TRY(tsri_base_new(slot_count, sizeof *slots, &slots));
    free(w->slots);
    w->slots = slots;
    w->slot_count = slot_count;
    fill_slots(w);
    return TSR_OK;
}

/* Forgets the rarest words, until half of the limit is free. */
static void prune(tsri_text_word_counts *w) {
    for (uint64_t least = 1; w->count > w->most / 2; least *= 2) {
        size_t kept = 0, size = 0;
        for (size_t i = 0; i < w->count; i++) {
            tsri_text_word_count item = w->items[i];
            if (item.count <= least)
                continue;
            memmove(w->text.data + size, w->text.data + item.start, item.size);
            item.start = size;
            size += item.size;
            w->items[kept++] = item;
        }
        w->pruned += w->count - kept;
        w->count = kept;
        w->text.size = size;
    }
    memset(w->slots, 0, w->slot_count * sizeof *w->slots);
    fill_slots(w);
}

tsr_status tsri_text_word_counts_add(tsri_text_word_counts *w, const char *word, size_t n) {
    const uint64_t hash = hash_of(word, n);
    if (4 * (w->count + 1) > 3 * w->slot_count)
        TRY(more_slots(w));
    size_t slot = slot_of(w, word, n, hash);
    if (w->slots[slot]) {
        w->items[w->slots[slot] - 1].count++;
        return TSR_OK;
    }
    if (w->most && w->count >= w->most) {
        prune(w);
        slot = slot_of(w, word, n, hash);
    }
    if (w->count >= UINT32_MAX - 1 || n > UINT32_MAX)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "more than 2^32 different words");
    TRY(tsri_base_grow(&w->items, &w->capacity, w->count + 1, sizeof *w->items));
    const size_t start = w->text.size;
    TRY(tsri_base_bytes_append(&w->text, word, n));
    w->items[w->count] =
        (tsri_text_word_count){.count = 1, .hash = hash, .start = start, .size = (uint32_t)n};
    w->slots[slot] = (uint32_t)++w->count;
    return TSR_OK;
}

void tsri_text_word_counts_clear(tsri_text_word_counts *words) {
    tsri_base_bytes_clear(&words->text);
    free(words->items);
    free(words->slots);
    *words = (tsri_text_word_counts){0};
}
