/* text/base/vocabulary.c - keeps pieces by id in one allocation, and finds the id of a piece by a
 * hash table. */
#include "text/base/vocabulary.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *text, size_t n) {
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h ^ h >> 29;
}

/* The slot that holds the piece, or the empty slot where it belongs. */
static size_t slot_of(const tsri_text_vocabulary *v, const char *piece, size_t n) {
    size_t slot = hash_of(piece, n) & (v->slot_count - 1);
    for (;; slot = (slot + 1) & (v->slot_count - 1)) {
        if (v->slots[slot] == 0)
            return slot;
        const tsri_text_entry *e = &v->entries[v->slots[slot] - 1];
        if (e->size == n && memcmp(v->text.data + e->start, piece, n) == 0)
            return slot;
    }
}

static tsr_status set_slots(tsri_text_vocabulary *v, size_t slot_count) {
    tsri_text_vocabulary next = *v;
    next.slot_count = slot_count;
    TRY(tsri_base_new(next.slot_count, sizeof *next.slots, &next.slots));
    for (size_t i = 0; i < v->slot_count; i++) {
        if (v->slots[i] == 0)
            continue;
        const tsri_text_entry *e = &v->entries[v->slots[i] - 1];
        next.slots[slot_of(&next, v->text.data + e->start, e->size)] = v->slots[i];
    }
    free(v->slots);
    *v = next;
    return TSR_OK;
}

tsr_status tsri_text_vocabulary_reserve(tsri_text_vocabulary *v, size_t count) {
    size_t slots = v->slot_count ? v->slot_count : 1024;
    while (slots < 2 * (count < TSRI_TEXT_IDS_LIMIT ? count : TSRI_TEXT_IDS_LIMIT))
        slots *= 2;
    return slots > v->slot_count ? set_slots(v, slots) : TSR_OK;
}

static tsr_status check_id(int64_t id) {
    return id >= 0 && id < TSRI_TEXT_IDS_LIMIT
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "vocabulary: id %lld is not in 0..%d", (long long)id,
                                TSRI_TEXT_IDS_LIMIT - 1);
}

tsr_status tsri_text_vocabulary_skip(tsri_text_vocabulary *v, int64_t id) {
    TRY(check_id(id));
    TRY(tsri_base_grow(&v->entries, &v->capacity, (size_t)id + 1, sizeof *v->entries));
    if ((size_t)id >= v->count)
        v->count = (size_t)id + 1;
    return TSR_OK;
}

tsr_status tsri_text_vocabulary_put(tsri_text_vocabulary *v, int64_t id, const char *piece,
                                    size_t n, bool again) {
    TRY(check_id(id));
    if (n == 0 || n > TSRI_TEXT_PIECE_LIMIT)
        return tsri_base_fail(TSR_E_FORMAT,
                              "vocabulary: the piece of id %lld has %zu bytes; 1 to %d are allowed",
                              (long long)id, n, TSRI_TEXT_PIECE_LIMIT);
    if (!tsri_text_utf8_valid(piece, n))
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: the piece of id %lld is not UTF-8",
                              (long long)id);
    if ((size_t)id < v->count && v->entries[id].present)
        return tsri_base_fail(TSR_E_FORMAT,
                              "vocabulary: id %lld is given twice, the second time to \"%.*s\"",
                              (long long)id, (int)(n < 60 ? n : 60), piece);
    if (v->text.size > UINT32_MAX - n)
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: more than 4 GiB of pieces");
    TRY(tsri_text_vocabulary_reserve(v, v->present + 1));
    const size_t slot = slot_of(v, piece, n);
    if (v->slots[slot] != 0 && !again)
        return tsri_base_fail(TSR_E_FORMAT, "vocabulary: \"%.*s\" has two ids, %d and %lld",
                              (int)(n < 60 ? n : 60), piece, (int)(v->slots[slot] - 1),
                              (long long)id);
    TRY(tsri_base_grow(&v->entries, &v->capacity, (size_t)id + 1, sizeof *v->entries));
    const size_t start = v->text.size;
    TRY(tsri_base_bytes_append(&v->text, piece, n));
    v->entries[id] =
        (tsri_text_entry){.start = (uint32_t)start, .size = (uint32_t)n, .present = true};
    v->slots[slot] = (int32_t)id + 1;
    v->present++;
    if ((size_t)id >= v->count)
        v->count = (size_t)id + 1;
    if (n > v->longest)
        v->longest = n;
    return TSR_OK;
}

tsr_status tsri_text_vocabulary_add(tsri_text_vocabulary *v, int64_t id, const char *piece,
                                    size_t n, bool over) {
    tsri_text_entry *old = id >= 0 && (size_t)id < v->count ? &v->entries[id] : NULL;
    /* The slot of the old piece stays, and leads to the new one; so each id is replaced once at most. */
    if (over && old && old->present && !old->added) {
        old->present = false;
        v->present--;
    }
    TRY(tsri_text_vocabulary_put(v, id, piece, n, true));
    v->entries[id].added = true;
    return TSR_OK;
}

int32_t tsri_text_vocabulary_find(const tsri_text_vocabulary *v, const char *piece, size_t n) {
    if (v->slot_count == 0 || n == 0 || n > v->longest)
        return -1;
    return v->slots[slot_of(v, piece, n)] - 1;
}

int32_t tsri_text_vocabulary_find_own(const tsri_text_vocabulary *v, const char *piece, size_t n) {
    const int32_t id = tsri_text_vocabulary_find(v, piece, n);
    return id >= 0 && v->entries[id].added ? -1 : id;
}

const char *tsri_text_vocabulary_piece(const tsri_text_vocabulary *v, int64_t id, size_t *n) {
    *n = 0;
    if (id < 0 || id >= (int64_t)v->count || !v->entries[id].present)
        return NULL;
    *n = v->entries[id].size;
    return v->text.data + v->entries[id].start;
}

void tsri_text_vocabulary_byte_ids(const tsri_text_vocabulary *v, int32_t ids[256]) {
    for (int b = 0; b < 256; b++) {
        char piece[8];
        const int n = snprintf(piece, sizeof piece, "<0x%02X>", (unsigned)b & 0xFF);
        ids[b] = tsri_text_vocabulary_find(v, piece, (size_t)n);
    }
}

int tsri_text_byte_of_piece(const char *piece, size_t n) {
    if (n != 6 || memcmp(piece, "<0x", 3) != 0 || piece[5] != '>')
        return -1;
    int byte = 0;
    for (int i = 3; i < 5; i++) {
        const char c = piece[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        byte = 16 * byte + digit;
    }
    return byte;
}

void tsri_text_vocabulary_clear(tsri_text_vocabulary *v) {
    tsri_base_bytes_clear(&v->text);
    free(v->entries);
    free(v->slots);
    *v = (tsri_text_vocabulary){0};
}
