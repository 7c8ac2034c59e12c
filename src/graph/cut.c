/* graph/cut.c - one part of a graph as a graph of its own. */
#include "base/error.h"
#include "base/memory.h"
#include "graph/copying.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_ID = 1 << 30 }; /* above the ids of inputs and outputs that callers choose */

static int by_value(const void *a, const void *b) {
    const tsri_graph_crossing *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Keeps one of each (value, to). */
static size_t without_repeats(tsri_graph_crossing *all, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!kept || by_value(&all[kept - 1], &all[i]) != 0)
            all[kept++] = all[i];
    return kept;
}

tsr_status tsri_graph_find_crossings(const tsri_graph *graph, const uint32_t *part,
                                     tsri_graph_crossing **out, size_t *n) {
    tsri_graph_crossing *all = NULL;
    size_t room = 0, found = 0;
    *out = NULL;
    *n = 0;
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in; j++) {
            if (node->in[j] == TSRI_GRAPH_NONE)
                continue;
            const tsri_value storage = tsri_graph_value_at(graph, node->in[j])->storage;
            const tsri_graph_value *v = tsri_graph_value_at(graph, storage);
            if (v->producer < 0 || part[v->producer] == part[i])
                continue;
            const tsr_status status = tsri_base_grow(&all, &room, found + 1, sizeof *all);
            if (status != TSR_OK) {
                free(all);
                return status;
            }
            all[found++] = (tsri_graph_crossing){.value = storage,
                                                 .id = FIRST_ID + (uint32_t)storage,
                                                 .from = part[v->producer],
                                                 .to = part[i],
                                                 .tensor = v->tensor};
        }
    }
    if (found)
        qsort(all, found, sizeof *all, by_value);
    *out = all;
    *n = without_repeats(all, found);
    return TSR_OK;
}

static void name_of(const tsri_graph *graph, const tsri_graph_crossing *c, char name[96]) {
    const tsri_graph_value *v = tsri_graph_value_at(graph, c->value);
    snprintf(name, 96, "%s", tsri_graph_node_at(graph, (size_t)v->producer)->label);
}

static void read_from_others(tsri_graph_copying *copying, const tsri_graph_crossing *c) {
    char name[96];
    name_of(copying->from, c, name);
    copying->map[c->value] =
        tsri_graph_leaf(copying->to, TSR_KIND_INPUT, c->id, name, (tsr_dtype)c->tensor.dtype,
                        c->tensor.rank, c->tensor.dim);
}

/* An output has one mark, however many parts read it. */
static void give_to_others(tsri_graph_copying *copying, const tsri_graph_crossing *c) {
    char name[96];
    name_of(copying->from, c, name);
    tsri_graph_output(copying->to, c->id, name, tsri_graph_copied(copying, c->value));
}

tsr_status tsri_graph_cut(const tsri_graph *graph, const uint32_t *part, uint32_t own,
                          const tsri_graph_crossing *crossings, size_t n, tsri_graph **out) {
    tsri_graph_copying c;
    const tsr_status status = tsri_graph_copy_begin(graph, &c);
    for (size_t i = 0; status == TSR_OK && i < n; i++)
        if (crossings[i].to == own)
            read_from_others(&c, &crossings[i]);
    for (size_t i = 0; status == TSR_OK && i < tsri_graph_node_count(graph); i++)
        if (part[i] == own)
            tsri_graph_copy_node(&c, tsri_graph_node_at(graph, i));
    for (size_t i = 0; status == TSR_OK && i < tsri_graph_output_count(graph); i++) {
        const tsri_graph_output_mark *mark = tsri_graph_output_at(graph, i);
        const tsri_graph_value *v = tsri_graph_value_at(graph, mark->value);
        if (v->producer >= 0 && part[v->producer] == own)
            tsri_graph_output(c.to, mark->id, mark->name, tsri_graph_copied(&c, mark->value));
    }
    for (size_t i = 0; status == TSR_OK && i < n; i++)
        if (crossings[i].from == own && (!i || crossings[i - 1].value != crossings[i].value))
            give_to_others(&c, &crossings[i]);
    return tsri_graph_copy_give(&c, status, out);
}
