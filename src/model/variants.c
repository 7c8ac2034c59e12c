#include "model/variants.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

void tsri_model_variants_begin(tsri_model_variants *variants, const tsri_model *model,
                               int32_t slots, int32_t sources, uint32_t session) {
    *variants =
        (tsri_model_variants){.model = model,
                              .slots = slots,
                              .sources = sources,
                              .first_state = session * tsri_model_state_count(&model->spec)};
}

static void drop(tsri_model_variants *variants) {
    for (size_t i = 0; i < variants->count; i++) {
        tsri_run_forget(variants->model->run, variants->items[i].graph);
        tsri_graph_destroy(&variants->items[i].graph);
    }
    variants->count = 0;
}

void tsri_model_variants_end(tsri_model_variants *variants) {
    drop(variants);
    free(variants->items);
    variants->items = NULL;
}

void tsri_model_variants_grow(tsri_model_variants *variants, int64_t capacity,
                              int64_t source_capacity) {
    drop(variants);
    variants->capacity = capacity;
    variants->source_capacity = source_capacity;
}

static bool same(const tsri_model_shape *a, const tsri_model_shape *b) {
    return a->sides == b->sides && a->logits == b->logits && a->argmax == b->argmax &&
           a->hidden == b->hidden && a->attention == b->attention && a->cross == b->cross &&
           a->by_keys == b->by_keys && a->top_k == b->top_k && a->vectors == b->vectors &&
           a->pooling == b->pooling && a->pooled == b->pooled && a->labels == b->labels &&
           a->next == b->next;
}

tsr_status tsri_model_variants_graph(tsri_model_variants *variants, const tsri_model_shape *shape,
                                     const tsri_graph **out) {
    size_t i = 0;
    while (i < variants->count && !same(&variants->items[i].shape, shape))
        i++;
    if (i == variants->count) {
        TRY(tsri_base_grow(&variants->items, &variants->room, i + 1, sizeof *variants->items));
        tsri_model_variant *item = &variants->items[i];
        item->shape = *shape;
        item->shape.slots = variants->slots;
        item->shape.sources = variants->sources;
        item->shape.capacity = variants->capacity;
        item->shape.source_capacity = variants->source_capacity;
        item->shape.first_state = variants->first_state;
        item->shape.kv_dtype = variants->model->kv_dtype;
        TRY(tsri_model_build(variants->model->weights, &item->shape, &item->graph));
        variants->count++;
    }
    *out = variants->items[i].graph;
    return TSR_OK;
}

/* Ranges of T as design says of M: a plan for one token, few, some, many; and one or several
 * sequences. */
tsr_bounds tsri_model_bounds(int64_t slots, int64_t B, int64_t T, int64_t limit, bool all) {
    static const int64_t most[] = {1, 8, 64, 512};
    int range = 0;
    while (range < 3 && T > most[range])
        range++;
    const int64_t lowest_T = range ? most[range - 1] + 1 : 1,
                  highest_T = most[range] < limit ? most[range] : limit;
    const int64_t lowest_B = B == 1 ? 1 : 2, highest_B = B == 1 ? 1 : slots;
    return (tsr_bounds){
        .struct_size = sizeof(tsr_bounds),
        .lowest = {lowest_B, lowest_T, 1, 1, 1},
        .highest = {highest_B, highest_T, 1, 1, all ? highest_B * highest_T : highest_B}};
}

tsr_status tsri_model_variants_plan(tsri_model_variants *variants, const tsri_model_shape *shape,
                                    int64_t B, int64_t T, int64_t limit, bool all,
                                    tsri_run_plan **out) {
    const tsr_bounds bounds = tsri_model_bounds(variants->slots, B, T, limit, all);
    const tsri_graph *graph = NULL;
    TRY(tsri_model_variants_graph(variants, shape, &graph));
    return tsri_run_prepare(variants->model->run, graph, &bounds, out);
}
