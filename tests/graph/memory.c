/* The memory plan: of a chain of ops, and of random graphs, against a play of what each op reads and writes. */
#include "graph/make.h"

#include "base/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 24, NODES = 30, UNIT = 64, UNITS = 1 << 12 };

static const tsr_bounds bounds = {.struct_size = sizeof bounds, .highest = {1, 3, 1, 1, 1}};

static uint32_t draw(uint64_t seed, uint64_t *at, uint32_t below) {
    return (uint32_t)(tsri_base_uniform(seed, 1, (*at)++) * below);
}

/* [T, WIDTH] values: whole ones and the halves of what has been made, which the next ops read. */
static tsri_graph *random_graph(uint64_t seed) {
    const tsr_scale_attrs scale = {.struct_size = sizeof scale, .alpha = 2};
    const tsr_norm_attrs norm = {.struct_size = sizeof norm, .norm = TSR_NORM_RMS, .eps = 1e-5f};
    const tsr_dim width = tsri_tensor_const(WIDTH);
    tsri_value whole[NODES * 2 + 1], half[NODES * 2 + 1];
    size_t n = 1, halves = 0;
    uint64_t at = 0;
    tsri_graph *g;
    tsri_graph_create(&g);
    whole[0] = tsri_graph_leaf(g, TSR_KIND_INPUT, 0, "x", TSR_F32, 2, (tsr_dim[]){T, width});
    const tsri_value weight =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F32, 1, (tsr_dim[]){width});
    for (int i = 0; i < NODES; i++) {
        const uint32_t recent = n < 4 ? (uint32_t)n : 4;
        const tsri_value a = whole[n - 1 - draw(seed, &at, recent)],
                         b = whole[n - 1 - draw(seed, &at, recent)];
        tsri_value out[2] = {TSRI_GRAPH_NONE, TSRI_GRAPH_NONE};
        switch (draw(seed, &at, 5)) {
        case 0:
            whole[n++] = tsri_graph_op1(g, TSR_OP_SCALE, &scale, &a, 1);
            break;
        case 1:
            whole[n++] = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){a, b}, 2);
            break;
        case 2:
            tsri_graph_op(g, TSR_OP_ADD_NORM, &norm, (tsri_value[]){a, b, weight}, 3, 3, out);
            whole[n++] = out[0];
            whole[n++] = out[1];
            break;
        case 3: /* made now, read later through the view alone */
            half[halves++] = tsri_graph_slice(g, tsri_graph_op1(g, TSR_OP_SCALE, &scale, &a, 1), 1,
                                              draw(seed, &at, 2) * WIDTH / 2, WIDTH / 2);
            break;
        default:
            if (halves) {
                const tsri_value h = half[draw(seed, &at, (uint32_t)halves)];
                whole[n++] = tsri_graph_op1(g, TSR_OP_CONCAT, NULL, (tsri_value[]){h, h}, 2);
            }
        }
    }
    tsri_graph_output(g, 0, "y", whole[n - 1]);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

typedef struct play {
    const tsri_graph *graph;
    const tsri_graph_memory *memory;
    tsri_value holds[UNITS]; /* whose bytes lie in a unit */
} play;

static bool in_arena(const play *p, tsri_value storage, size_t *first, size_t *end) {
    const uint64_t origin = p->memory->origin[storage], limit = p->memory->limit;
    if (origin == UINT64_MAX)
        return false;
    *first = (size_t)origin / UNIT;
    *end = *first + (size_t)(tsri_tensor_extent(&tsri_graph_value_at(p->graph, storage)->tensor,
                                                bounds.highest) +
                             UNIT - 1) /
                        UNIT;
    cr_assert_leq(origin % limit + (*end - *first) * UNIT, p->memory->arenas[origin / limit],
                  "%d ends outside its arena", (int)storage);
    cr_assert_leq(*end, (size_t)UNITS);
    return true;
}

static tsri_value storage_of(const play *p, tsri_value x) {
    return tsri_graph_value_at(p->graph, x)->storage;
}

/* Whether output `out` of the node may lie on what input `in` of it reads. */
static bool may_lie_on(const play *p, const tsri_graph_node *node, uint32_t out, uint32_t in) {
    uint32_t reads = 0;
    for (uint32_t j = 0; j < node->n_in; j++)
        reads += storage_of(p, node->in[j]) == storage_of(p, node->in[in]);
    return out == 0 && reads == 1 && tsri_tensor_input_is(node->id, in, TSRI_TENSOR_OVERWRITTEN) &&
           p->memory->origin[node->out[0]] == p->memory->origin[storage_of(p, node->in[in])];
}

static void play_node(play *p, size_t number) {
    const tsri_graph_node *node = tsri_graph_node_at(p->graph, number);
    size_t first, end, from, to;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const tsri_value storage = storage_of(p, node->in[i]);
        if (!in_arena(p, storage, &first, &end))
            continue;
        for (size_t u = first; u < end; u++)
            cr_assert_eq(p->holds[u], storage, "node %zu reads %d, over which %d was written",
                         number, (int)storage, (int)p->holds[u]);
        for (uint32_t o = 0; o < node->n_out; o++)
            if (node->out[o] != TSRI_GRAPH_NONE && in_arena(p, node->out[o], &from, &to))
                cr_assert(to <= first || end <= from || may_lie_on(p, node, o, i),
                          "node %zu writes output %u over input %u", number, o, i);
    }
    for (uint32_t o = 0; o < node->n_out; o++) {
        if (node->out[o] == TSRI_GRAPH_NONE || !in_arena(p, node->out[o], &first, &end))
            continue;
        for (size_t u = first; u < end; u++)
            p->holds[u] = node->out[o];
    }
    for (uint32_t o = 0; o < node->n_out; o++) /* not over each other */
        if (node->out[o] != TSRI_GRAPH_NONE && in_arena(p, node->out[o], &first, &end))
            for (size_t u = first; u < end; u++)
                cr_assert_eq(p->holds[u], node->out[o], "outputs of node %zu overlap", number);
}

/* Arenas are at most as large as a buffer, and take all that the plan says. */
static void check_arenas(const tsri_graph_memory *memory, uint64_t largest) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < memory->n_arenas; i++) {
        cr_assert(!largest || memory->arenas[i] <= largest);
        bytes += memory->arenas[i];
    }
    cr_assert_eq(memory->bytes, bytes);
    cr_assert(largest || memory->n_arenas <= 1);
}

/* In one arena, and in several of which each has room for two values. */
Test(graph, no_op_reads_what_was_written_over) {
    size_t most_arenas = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        const uint64_t largest = seed % 2 ? 12 * UNIT : 0;
        tsri_graph *g = random_graph(seed / 2);
        tsri_graph_memory memory;
        bool *pinned = calloc(tsri_graph_value_count(g), sizeof *pinned);
        pinned[tsri_graph_value_at(g, tsri_graph_output_at(g, 0)->value)->storage] = true;
        cr_assert_eq(tsri_graph_plan_memory(g, &bounds, pinned, UNIT, largest, &memory), TSR_OK);
        check_arenas(&memory, largest);
        most_arenas = memory.n_arenas > most_arenas ? memory.n_arenas : most_arenas;
        play p = {.graph = g, .memory = &memory};
        for (size_t u = 0; u < UNITS; u++)
            p.holds[u] = TSRI_GRAPH_NONE;
        for (size_t i = 0; i < tsri_graph_node_count(g); i++)
            play_node(&p, i);
        tsri_graph_memory_clear(&memory);
        free(pinned);
        tsri_graph_destroy(&g);
    }
    cr_assert_gt(most_arenas, 2);
}

/* Values of f32 and of bf16, all of which live until the last of them is made. */
static void living_together(tsri_graph *g, const tsr_dim *dims) {
    enum { N = 6 };
    const tsr_scale_attrs scale = {.struct_size = sizeof scale, .alpha = 2};
    const tsr_cast_attrs halves = {.struct_size = sizeof halves, .dtype = TSR_BF16},
                         back = {.struct_size = sizeof back, .dtype = TSR_F32};
    tsri_value y = input(g, 0, 2, dims), whole[N], half[N];
    for (int i = 0; i < N; i++) {
        y = whole[i] = tsri_graph_op1(g, TSR_OP_SCALE, &scale, &y, 1);
        half[i] = tsri_graph_op1(g, TSR_OP_CAST, &halves, &y, 1);
    }
    for (int i = 0; i < N; i++) {
        const tsri_value same = tsri_graph_op1(g, TSR_OP_CAST, &back, &half[i], 1);
        y = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){y, same}, 2);
    }
    for (int i = 0; i < N - 1; i++)
        y = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){y, whole[i]}, 2);
    tsri_graph_output(g, 0, "y", y);
}

/* Kernels count elements from the start of a buffer by int. Nothing is allocated here: an f32 value has
 * 3.1 GiB, so that two have fewer elements than an int counts, and three have more. */
Test(graph, no_value_ends_where_an_int_does_not_count_its_elements) {
    const tsr_bounds bounds = {.struct_size = sizeof bounds, .highest = {1, 1 << 23, 1, 1, 1}};
    tsri_graph *g;
    tsri_graph_memory memory;
    tsri_graph_create(&g);
    living_together(g, (tsr_dim[]){T, n(100)});
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    bool *pinned = calloc(tsri_graph_value_count(g), sizeof *pinned);
    cr_assert_eq(tsri_graph_plan_memory(g, &bounds, pinned, 64, 0, &memory), TSR_OK);
    cr_assert_gt(memory.n_arenas, 2);
    for (size_t i = 0; i < tsri_graph_value_count(g); i++) {
        const tsr_tensor *tensor = &tsri_graph_value_at(g, (tsri_value)i)->tensor;
        const uint64_t each = tensor->dtype == TSR_F32 ? 4 : 2;
        if (memory.origin[i] != UINT64_MAX)
            cr_assert_leq(memory.origin[i] % memory.limit / each + (UINT64_C(100) << 23), INT32_MAX,
                          "value %zu", i);
    }
    tsri_graph_memory_clear(&memory);
    free(pinned);
    tsri_graph_destroy(&g);
}

/* No two values that live at the same time share a byte, and a chain needs no more than its two
 * widest neighbours. */
Test(graph, memory_is_shared_only_by_values_that_do_not_meet) {
    tsri_graph *g;
    tsri_graph_create(&g);
    tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(100)}), first = x;
    const tsr_scale_attrs scale = {.struct_size = sizeof scale, .alpha = 2};
    for (int i = 0; i < 10; i++) {
        x = tsri_graph_op1(g, TSR_OP_SCALE, &scale, &x, 1);
        if (i == 2)
            first = x; /* lives to the end */
    }
    const tsri_value last = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){x, first}, 2);
    tsri_graph_output(g, 0, "y", last);
    const tsr_bounds bounds = {.struct_size = sizeof bounds, .highest = {1, 7, 1, 1, 1}};
    bool *pinned = calloc(tsri_graph_value_count(g), sizeof *pinned);
    tsri_graph_memory memory;
    pinned[last] = true;
    cr_assert_eq(tsri_graph_plan_memory(g, &bounds, pinned, 64, 0, &memory), TSR_OK);
    const uint64_t one = (7 * 100 * 4 + 63) / 64 * 64;
    cr_assert_eq(memory.bytes, 2 * one);
    cr_assert_neq(memory.origin[x], memory.origin[first]);
    cr_assert_eq(memory.origin[last], UINT64_MAX);
    for (size_t i = 0; i < tsri_graph_value_count(g); i++)
        cr_assert(memory.origin[i] == UINT64_MAX || memory.origin[i] % 64 == 0);
    tsri_graph_memory_clear(&memory);
    free(pinned);
    tsri_graph_destroy(&g);
}
