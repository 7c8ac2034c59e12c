#include "text/matcher.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

static uint32_t among(const tsri_text_matcher *m, uint32_t node, unsigned char byte) {
    while (node && m->nodes[node].byte != byte)
        node = m->nodes[node].sibling;
    return node;
}

static tsr_status new_node(tsri_text_matcher *m, unsigned char byte, uint32_t sibling,
                           uint32_t *out) {
    if (m->count == 0)
        m->count = 1;
    if (m->count >= UINT32_MAX)
        return tsri_base_fail(TSR_E_FORMAT, "added tokens: more than 4 Gi bytes of text");
    TRY(tsri_base_grow(&m->nodes, &m->capacity, m->count + 1, sizeof *m->nodes));
    m->nodes[m->count] = (tsri_text_node){.value = -1, .sibling = sibling, .byte = byte};
    *out = (uint32_t)m->count++;
    return TSR_OK;
}

tsr_status tsri_text_matcher_add(tsri_text_matcher *m, const char *text, size_t n, int32_t value) {
    uint32_t at = m->roots[(unsigned char)text[0]];
    if (at == 0) {
        TRY(new_node(m, (unsigned char)text[0], 0, &at));
        m->roots[(unsigned char)text[0]] = at;
    }
    for (size_t i = 1; i < n; i++) {
        const unsigned char byte = (unsigned char)text[i];
        uint32_t next = among(m, m->nodes[at].child, byte);
        if (next == 0) {
            TRY(new_node(m, byte, m->nodes[at].child, &next));
            m->nodes[at].child = next;
        }
        at = next;
    }
    if (m->nodes[at].value < 0)
        m->nodes[at].value = value;
    return TSR_OK;
}

size_t tsri_text_matcher_longest(const tsri_text_matcher *m, const char *text, size_t n,
                                 int32_t *value) {
    size_t longest = 0;
    uint32_t at = n ? m->roots[(unsigned char)text[0]] : 0;
    for (size_t i = 1; at; i++) {
        if (m->nodes[at].value >= 0) {
            longest = i;
            *value = m->nodes[at].value;
        }
        at = i < n ? among(m, m->nodes[at].child, (unsigned char)text[i]) : 0;
    }
    return longest;
}

void tsri_text_matcher_clear(tsri_text_matcher *m) {
    free(m->nodes);
    *m = (tsri_text_matcher){0};
}
