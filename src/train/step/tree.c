/* train/step/tree.c - builds the graphs that add the gradients of shards up by a binary tree.
 *
 * A tree over 8 shards, of which never more than one a level waits:
 *
 *     ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))
 *
 * The end of shard 3 adds what waits in level 0 (2) and in level 1 (0 + 1), and waits in level 2.
 */
#include "base/error.h"
#include "base/memory.h"
#include "tensor/shape.h"
#include "train/step/ranks.h"

/* gradient += level 0 + .. + level (complete - 1), one after the other; level `complete` is the sum
 * where more shards follow. Of the parameters of this bucket; SIZE_MAX: of all. */
static tsr_status build(tsri_training *t, int complete, size_t bucket, tsri_graph **out) {
    const tsr_dim dims[] = {tsri_tensor_const(1)};
    TRY(tsri_graph_create(out));
    tsri_graph *graph = *out;
    tsri_value beta = TSRI_GRAPH_NONE, none = TSRI_GRAPH_NONE;
    if (complete < t->options.levels)
        beta = tsri_graph_leaf(graph, TSR_KIND_INPUT, TSRI_INPUT_BETA, "beta", TSR_F32, 1, dims);
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        if (bucket != SIZE_MAX && p->bucket != bucket)
            continue;
        const tsri_value gradient = tsri_training_leaf(t, graph, p, TSRI_PART_GRADIENT);
        tsri_graph_scope(graph, 0, p->name);
        for (int level = 0; level < complete; level++) {
            const tsri_value in[] = {
                gradient,
                tsri_training_leaf(t, graph, p, (tsri_training_part)(TSRI_PART_SHARDS + level))};
            tsri_graph_op(graph, TSR_OP_ACCUMULATE, NULL, in, 2, 0, &none);
        }
        if (complete == t->options.levels)
            continue;
        const tsri_value in[] = {
            tsri_training_leaf(t, graph, p, (tsri_training_part)(TSRI_PART_SHARDS + complete)),
            gradient, beta};
        tsri_graph_op(graph, TSR_OP_ACCUMULATE, NULL, in, 3, 0, &none);
    }
    return tsri_graph_status(graph);
}

tsr_status tsri_training_build_tree(tsri_training *t) {
    const size_t n = tsri_training_buckets(t);
    if (!t->options.levels)
        return TSR_OK;
    for (int i = 0; i < t->options.levels; i++)
        TRY(build(t, i, SIZE_MAX, &t->tree[i].graph));
    TRY(tsri_base_new(n, sizeof *t->last, &t->last));
    t->n_last = n;
    for (size_t i = 0; i < n; i++)
        TRY(build(t, t->options.levels, i, &t->last[i].graph));
    return TSR_OK;
}
