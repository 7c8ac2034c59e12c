/* text/base/matcher.c - finds which of many fixed strings starts at a given byte, with a trie whose
 * edges are kept in a hash table. The end of a string that it shares with no other is not made of
 * nodes but kept as text: most strings of a vocabulary have such an end. */
#include "text/base/matcher.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* A place in the trie is a node, or with TAIL the index of a byte in `tails` that was just read. A
 * tail is its bytes, each with the number of those that follow it above, and its value in two
 * halves. */
enum { PLACE_BITS = 28, TAIL = 1 << 27, BYTE_BITS = 8, LONGEST_TAIL = 256 };

static uint64_t edge_key(uint32_t parent, unsigned char byte) {
    return (uint64_t)parent << BYTE_BITS | byte;
}

/* The slot that holds the edge, or the empty slot where it belongs. */
static size_t slot_of(const uint64_t *edges, size_t slots, uint64_t key) {
    const uint64_t h = key * 0x9E3779B97F4A7C15u;
    size_t slot = (h ^ h >> 32) & (slots - 1);
    while (edges[slot] != 0 && edges[slot] >> PLACE_BITS != key)
        slot = (slot + 1) & (slots - 1);
    return slot;
}

static tsr_status more_edges(tsri_text_matcher *m) {
    const size_t slots = m->edge_slots ? 2 * m->edge_slots : 64;
    uint64_t *edges = NULL;
    TRY(tsri_base_new_table(slots, sizeof *edges, &edges));
    for (size_t i = 0; i < m->edge_slots; i++)
        if (m->edges[i] != 0)
            edges[slot_of(edges, slots, m->edges[i] >> PLACE_BITS)] = m->edges[i];
    free(m->edges);
    m->edges = edges;
    m->edge_slots = slots;
    return TSR_OK;
}

static tsr_status too_many(void) {
    return tsri_base_fail(TSR_E_FORMAT,
                          "vocabulary: its pieces have more than %d distinct prefixes", TAIL);
}

static tsr_status new_node(tsri_text_matcher *m, uint32_t *out) {
    if (m->nodes >= TAIL)
        return too_many();
    TRY(tsri_base_grow(&m->values, &m->capacity, m->nodes + 1, sizeof *m->values));
    m->values[m->nodes] = -1;
    *out = (uint32_t)m->nodes++;
    return TSR_OK;
}

/* Makes the edge, or leads it to another place. */
static tsr_status set_edge(tsri_text_matcher *m, uint32_t node, unsigned char byte, uint32_t to) {
    if (node == TSRI_TEXT_ROOT) {
        m->roots[byte] = to;
        return TSR_OK;
    }
    if (4 * (m->n_edges + 1) > 3 * m->edge_slots)
        TRY(more_edges(m));
    const uint64_t key = edge_key(node, byte);
    const size_t slot = slot_of(m->edges, m->edge_slots, key);
    m->n_edges += m->edges[slot] == 0;
    m->edges[slot] = key << PLACE_BITS | to;
    return TSR_OK;
}

static unsigned char tail_byte(const tsri_text_matcher *m, size_t at) {
    return (unsigned char)m->tails[at];
}

static unsigned tail_left(const tsri_text_matcher *m, size_t at) {
    return m->tails[at] >> BYTE_BITS;
}

/* The value of the tail whose last byte is at `at`. */
static int32_t tail_value(const tsri_text_matcher *m, size_t at) {
    return (int32_t)((uint32_t)m->tails[at + 1] << 16 | m->tails[at + 2]);
}

static tsr_status add_tail(tsri_text_matcher *m, uint32_t node, const char *text, size_t n,
                           int32_t value) {
    const size_t at = m->tails_size;
    if (at + n + 2 >= TAIL)
        return too_many();
    TRY(tsri_base_grow(&m->tails, &m->tails_room, at + n + 2, sizeof *m->tails));
    for (size_t i = 0; i < n; i++)
        m->tails[at + i] = (uint16_t)((n - 1 - i) << BYTE_BITS | (unsigned char)text[i]);
    m->tails[at + n] = (uint16_t)((uint32_t)value >> 16);
    m->tails[at + n + 1] = (uint16_t)value;
    m->tails_size += n + 2;
    return set_edge(m, node, (unsigned char)text[0], TAIL | (uint32_t)at);
}

/* Makes nodes of a tail from its byte `first`, which follows `node`, to its byte `last`; *out is the
 * last one. */
static tsr_status unfold(tsri_text_matcher *m, uint32_t node, size_t first, size_t last,
                         uint32_t *out) {
    for (size_t at = first; at <= last; at++) {
        TRY(new_node(m, out));
        TRY(set_edge(m, node, tail_byte(m, at), *out));
        node = *out;
    }
    if (tail_left(m, last))
        return set_edge(m, node, tail_byte(m, last + 1), TAIL | (uint32_t)(last + 1));
    m->values[node] = tail_value(m, last);
    return TSR_OK;
}

tsr_status tsri_text_matcher_add(tsri_text_matcher *m, const char *text, size_t n, int32_t value) {
    uint32_t at = TSRI_TEXT_ROOT, before = TSRI_TEXT_ROOT;
    size_t first = 0; /* of the tail that `at` is in, which follows node `before` */
    if (m->nodes == 0)
        TRY(new_node(m, &at)); /* the root */
    for (size_t i = 0; i < n;) {
        const uint32_t next = tsri_text_matcher_step(m, at, (unsigned char)text[i]);
        if (next != 0) {
            if ((next & TAIL) && !(at & TAIL)) {
                before = at;
                first = next & ~TAIL;
            }
            at = next;
            i++;
        } else if (at & TAIL) {
            TRY(unfold(m, before, first, at & ~TAIL, &at));
        } else if (n - i <= LONGEST_TAIL) {
            return add_tail(m, at, text + i, n - i, value);
        } else {
            uint32_t node;
            TRY(new_node(m, &node));
            TRY(set_edge(m, at, (unsigned char)text[i++], node));
            at = node;
        }
    }
    if (tsri_text_matcher_value(m, at) >= 0)
        return TSR_OK;
    if (at & TAIL)
        TRY(unfold(m, before, first, at & ~TAIL, &at));
    m->values[at] = value;
    return TSR_OK;
}

uint32_t tsri_text_matcher_step(const tsri_text_matcher *m, uint32_t node, unsigned char byte) {
    if (node == TSRI_TEXT_ROOT)
        return m->roots[byte];
    if (node & TAIL) {
        const size_t at = node & ~TAIL;
        return tail_left(m, at) && tail_byte(m, at + 1) == byte ? node + 1 : 0;
    }
    if (m->edge_slots == 0)
        return 0;
    const uint64_t edge = m->edges[slot_of(m->edges, m->edge_slots, edge_key(node, byte))];
    return (uint32_t)(edge & (((uint64_t)1 << PLACE_BITS) - 1));
}

int32_t tsri_text_matcher_value(const tsri_text_matcher *m, uint32_t node) {
    if (node & TAIL)
        return tail_left(m, node & ~TAIL) ? -1 : tail_value(m, node & ~TAIL);
    return node < m->nodes ? m->values[node] : -1;
}

size_t tsri_text_matcher_longest_from(const tsri_text_matcher *m, uint32_t node, const char *text,
                                      size_t n, int32_t *value) {
    size_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        node = tsri_text_matcher_step(m, node, (unsigned char)text[i]);
        if (node == 0)
            break;
        const int32_t found = tsri_text_matcher_value(m, node);
        if (found >= 0) {
            longest = i + 1;
            *value = found;
        }
    }
    return longest;
}

size_t tsri_text_matcher_longest(const tsri_text_matcher *m, const char *text, size_t n,
                                 int32_t *value) {
    return tsri_text_matcher_longest_from(m, TSRI_TEXT_ROOT, text, n, value);
}

void tsri_text_matcher_clear(tsri_text_matcher *m) {
    free(m->values);
    free(m->edges);
    free(m->tails);
    *m = (tsri_text_matcher){0};
}
