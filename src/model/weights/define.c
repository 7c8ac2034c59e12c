/* model/weights/define.c - defines matrices, biases and norms of a layer. */
#include "model/weights/define.h"

#include "base/error.h"

uint32_t tsri_model_place_id(const tsri_model_place *p, tsri_model_role role) {
    return tsri_model_layer_weight(p->finder->weights->spec, p->stack, p->layer, role);
}

tsr_status tsri_model_define(const tsri_model_place *p, tsri_model_role role, const char *title,
                             const tsri_model_source *sources, int n, int64_t columns, bool bias) {
    TRY(tsri_model_find(p->finder, tsri_model_place_id(p, role), p->number, title, ".weight",
                        sources, n, columns));
    if (!bias)
        return TSR_OK;
    return tsri_model_find(p->finder, tsri_model_place_id(p, role) + 1, p->number, title, ".bias",
                           sources, n, 0);
}

tsr_status tsri_model_define_norm(tsri_model_finder *finder, const tsri_model_stack *stack,
                                  uint32_t id, int32_t layer, const char *title,
                                  const char *pattern, int64_t width) {
    const tsri_model_source source = {.pattern = pattern, .rows = width};
    TRY(tsri_model_find(finder, id, layer, title, ".weight", &source, 1, 0));
    finder->weights->items[id].add = finder->norm_offset;
    if (!stack->norm_bias)
        return TSR_OK;
    return tsri_model_find(finder, id + 1, layer, title, ".bias", &source, 1, 0);
}

tsr_status tsri_model_define_layer_norm(const tsri_model_place *p, tsri_model_role role,
                                        const char *title, const char *pattern) {
    return tsri_model_define_norm(p->finder, p->stack, tsri_model_place_id(p, role), p->number,
                                  title, pattern, p->finder->weights->spec->width);
}
