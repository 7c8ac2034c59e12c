#include "model/variants.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

void tsri_model_variants_begin(tsri_model_variants *variants, const tsri_model *model,
                               int32_t slots, uint32_t session) {
    const uint32_t states = 2 * (uint32_t)model->spec.decoder.layers;
    *variants =
        (tsri_model_variants){.model = model, .slots = slots, .first_state = session * states};
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

void tsri_model_variants_grow(tsri_model_variants *variants, int64_t capacity) {
    drop(variants);
    variants->capacity = capacity;
}

static bool same(const tsri_model_shape *a, const tsri_model_shape *b) {
    return a->logits == b->logits && a->argmax == b->argmax && a->hidden == b->hidden &&
           a->attention == b->attention && a->top_k == b->top_k;
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
    size_t i = 0;
    while (i < variants->count && !same(&variants->items[i].shape, shape))
        i++;
    if (i == variants->count) {
        TRY(tsri_base_grow(&variants->items, &variants->room, i + 1, sizeof *variants->items));
        variants->items[i].shape = *shape;
        variants->items[i].shape.slots = variants->slots;
        variants->items[i].shape.capacity = variants->capacity;
        variants->items[i].shape.first_state = variants->first_state;
        variants->items[i].shape.kv_dtype = variants->model->kv_dtype;
        TRY(tsri_model_build(variants->model->weights, &variants->items[i].shape,
                             &variants->items[i].graph));
        variants->count++;
    }
    return tsri_run_prepare(variants->model->run, variants->items[i].graph, &bounds, out);
}
