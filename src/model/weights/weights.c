/* model/weights/weights.c - makes the table of a model's weights: which arrays of the files each is
 * made from, or how it is computed. */
#include "model/weights/weights.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/weights/define.h"
#include "tensor/quantize.h"

#include <stdlib.h>

/* A family of decoders has no names of an encoder, and neither has a GGUF file: both have the same. */
static tsr_status define_all(tsri_model_finder *finder, const tsri_model_names *decoder,
                             const tsri_model_names *encoder) {
    encoder = encoder ? encoder : decoder;
    const tsri_model_spec *spec = finder->weights->spec;
    const tsri_model_names *names = spec->decoder.layers ? decoder : encoder;
    const int64_t width = spec->embed_width ? spec->embed_width : spec->width;
    const tsri_model_source embed[2] = {{.pattern = names->embed,
                                         .rows = spec->vocab - spec->blank_start},
                                        {.rows = 1}},
                            types = {.pattern = names->types, .rows = spec->token_types};
    tsri_model_find_by(finder, names);
    finder->side = "";
    TRY(tsri_model_find(finder, TSRI_WEIGHT_EMBED, -1, "embed", ".weight", embed,
                        spec->blank_start ? 2 : 1, width));
    if (spec->token_types)
        TRY(tsri_model_find(finder, TSRI_WEIGHT_TYPES, -1, "types", ".weight", &types, 1, width));
    if (spec->embed_width)
        TRY(tsri_model_define_dense(finder, TSRI_WEIGHT_PROJECT, "project", names->project,
                                    spec->width, width, false));
    TRY(tsri_model_define_heads(finder));
    TRY(tsri_model_define_output(finder));
    TRY(tsri_model_define_stack(finder, &spec->decoder, decoder));
    return tsri_model_define_stack(finder, &spec->encoder, encoder);
}

/* int8 products need at least one matrix in blocks. */
static tsr_status check_compute(const tsri_model_weights *weights, const char *config_name) {
    if (weights->keeping.compute != TSR_MODEL_COMPUTE_INT8)
        return TSR_OK;
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && tsri_tensor_is_kept_blocks(weight->dtype))
            return TSR_OK;
    }
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s: int8 products need weights kept as q8 or q4, and this model has "
                          "none: add --dtype q8 (rows must be multiples of 32)",
                          config_name);
}

static bool has_few_blocks(const tsri_model_weights *weights) {
    int64_t floats = 0, blocks = 0;
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        if (weight && weight->rank == 2)
            *(tsri_tensor_is_kept_blocks(weight->dtype) ? &blocks : &floats) +=
                weight->dims[0] * weight->dims[1];
    }
    return blocks && floats > blocks;
}

tsr_status tsri_model_weights_create(const tsri_io_archive *archive, const tsri_model_arch *arch,
                                     tsri_model_spec *spec, const char *config_name,
                                     const tsri_model_keeping *keeping, tsri_model_weights **out) {
    const bool gguf = archive->format == TSRI_IO_GGUF;
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    const int32_t groups =
        tsri_model_stack_groups(&spec->decoder) + tsri_model_stack_groups(&spec->encoder);
    tsri_model_weights *weights = NULL;
    tsri_model_finder finder = {.config_name = config_name, .untie = &spec->tied};
    finder.norm_offset = gguf && arch->gguf_norm_added ? 0 : stack->norm_offset;
    TRY(tsri_base_new(1, sizeof *weights, &weights));
    finder.weights = weights;
    weights->archive = archive;
    weights->spec = spec;
    weights->keeping = *keeping;
    weights->count = TSRI_WEIGHT_LAYERS + (uint32_t)groups * TSRI_WEIGHT_PER_LAYER;
    tsr_status status = tsri_base_new(weights->count, sizeof *weights->items, &weights->items);
    if (status == TSR_OK)
        status = tsri_base_new(archive->n_arrays, sizeof *finder.used, &finder.used);
    if (status == TSR_OK)
        status = define_all(&finder, gguf ? arch->gguf_names : arch->names,
                            gguf ? arch->gguf_encoder_names : arch->encoder_names);
    if (status == TSR_OK)
        status = tsri_model_find_unread(&finder, arch);
    if (status == TSR_OK)
        status = check_compute(weights, config_name);
    if (status == TSR_OK && has_few_blocks(weights))
        weights->keeping.float_blocks = "most numbers of the matrices are floats";
    if (keeping->dtype != TSR_DTYPE_NONE)
        weights->keeping.float_blocks = NULL;
    free(finder.used);
    if (status != TSR_OK)
        tsri_model_weights_destroy(&weights);
    *out = weights;
    return status;
}

tsr_status tsri_model_weights_wanted(const tsri_model_arch *arch, const tsri_model_spec *spec,
                                     tsri_model_wanted *wanted) {
    const tsri_io_archive nothing = {0};
    const int32_t groups =
        tsri_model_stack_groups(&spec->decoder) + tsri_model_stack_groups(&spec->encoder);
    tsri_model_weights *weights = NULL;
    TRY(tsri_base_new(1, sizeof *weights, &weights));
    weights->archive = &nothing;
    weights->spec = spec;
    weights->count = TSRI_WEIGHT_LAYERS + (uint32_t)groups * TSRI_WEIGHT_PER_LAYER;
    tsri_model_finder finder = {.weights = weights, .wanted = wanted};
    tsr_status status = tsri_base_new(weights->count, sizeof *weights->items, &weights->items);
    if (status == TSR_OK)
        status = define_all(&finder, arch->names, arch->encoder_names);
    tsri_model_weights_destroy(&weights);
    return status;
}

void tsri_model_weights_destroy(tsri_model_weights **weights) {
    if (!*weights)
        return;
    for (uint32_t i = 0; (*weights)->items && i < (*weights)->count; i++) {
        free((*weights)->items[i].values);
        free((*weights)->items[i].parts);
    }
    tsri_model_adapters_destroy(&(*weights)->adapters);
    tsri_base_bytes_clear(&(*weights)->left_out);
    free((*weights)->head);
    free((*weights)->items);
    free(*weights);
    *weights = NULL;
}
