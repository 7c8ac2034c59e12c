/* text/base/matcher.c - finds which of many fixed strings starts at a given byte, with a trie whose
 * edges are kept in a hash table. */
#include "text/base/matcher.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { NODE_BITS = 28, BYTE_BITS = 8 };

static uint64_t edge_key(uint32_t parent, unsigned char byte) {
    return (uint64_t)parent << BYTE_BITS | byte;
}

/* The slot that holds the edge, or the empty slot where it belongs. */
static size_t slot_of(const uint64_t *edges, size_t slots, uint64_t key) {
    const uint64_t h = key * 0x9E3779B97F4A7C15u;
    size_t slot = (h ^ h >> 32) & (slots - 1);
    while (edges[slot] != 0 && edges[slot] >> NODE_BITS != key)
        slot = (slot + 1) & (slots - 1);
    return slot;
}

static tsr_status more_edges(tsri_text_matcher *m) {
    const size_t slots = m->edge_slots ? 2 * m->edge_slots : 64;
    uint64_t *edges = NULL;
    TRY(tsri_base_new_table(slots, sizeof *edges, &edges));
    for (size_t i = 0; i < m->edge_slots; i++)
        if (m->edges[i] != 0)
            edges[slot_of(edges, slots, m->edges[i] >> NODE_BITS)] = m->edges[i];
    free(m->edges);
    m->edges = edges;
    m->edge_slots = slots;
    return TSR_OK;
}

static tsr_status new_node(tsri_text_matcher *m, uint32_t *out) {
    if (m->nodes == 0)
        m->nodes = 1; /* the root */
    if (m->nodes >= (size_t)1 << NODE_BITS)
        return tsri_base_fail(TSR_E_FORMAT,
                              "vocabulary: its pieces have more than %zu distinct prefixes",
                              (size_t)1 << NODE_BITS);
    TRY(tsri_base_grow(&m->values, &m->capacity, m->nodes + 1, sizeof *m->values));
    m->values[0] = -1;
    m->values[m->nodes] = -1;
    *out = (uint32_t)m->nodes++;
    return TSR_OK;
}

static tsr_status child_of(tsri_text_matcher *m, uint32_t node, unsigned char byte, uint32_t *out) {
    *out = tsri_text_matcher_step(m, node, byte);
    if (*out != 0)
        return TSR_OK;
    TRY(new_node(m, out));
    if (node == TSRI_TEXT_ROOT) {
        m->roots[byte] = *out;
        return TSR_OK;
    }
    if (4 * m->nodes > 3 * m->edge_slots)
        TRY(more_edges(m));
    const uint64_t key = edge_key(node, byte);
    m->edges[slot_of(m->edges, m->edge_slots, key)] = key << NODE_BITS | *out;
    return TSR_OK;
}

tsr_status tsri_text_matcher_add(tsri_text_matcher *m, const char *text, size_t n, int32_t value) {
    uint32_t at = TSRI_TEXT_ROOT;
    for (size_t i = 0; i < n; i++)
        TRY(child_of(m, at, (unsigned char)text[i], &at));
    if (m->values[at] < 0)
        m->values[at] = value;
    return TSR_OK;
}

uint32_t tsri_text_matcher_step(const tsri_text_matcher *m, uint32_t node, unsigned char byte) {
    if (node == TSRI_TEXT_ROOT)
        return m->roots[byte];
    if (m->edge_slots == 0)
        return 0;
    const uint64_t edge = m->edges[slot_of(m->edges, m->edge_slots, edge_key(node, byte))];
    return (uint32_t)(edge & (((uint64_t)1 << NODE_BITS) - 1));
}

int32_t tsri_text_matcher_value(const tsri_text_matcher *m, uint32_t node) {
    return node < m->nodes ? m->values[node] : -1;
}

size_t tsri_text_matcher_longest_from(const tsri_text_matcher *m, uint32_t node, const char *text,
                                      size_t n, int32_t *value) {
    size_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        node = tsri_text_matcher_step(m, node, (unsigned char)text[i]);
        if (node == 0)
            break;
        if (m->values[node] >= 0) {
            longest = i + 1;
            *value = m->values[node];
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
    *m = (tsri_text_matcher){0};
}
