/* model/weights/mxfp4.c - reads what Hugging Face calls mxfp4: joins arrays of codes and of exponents. */
#include "model/weights/mxfp4.h"

#include "base/error.h"
#include "base/text.h"
#include "model/weights/quantized.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

enum { CODES = 16 }; /* bytes of a block */

static bool belong_together(const tsri_io_array *blocks, const tsri_io_array *scales) {
    bool same = blocks->rank == 4 && blocks->dims[3] == CODES && blocks->dtype == TSR_U8 &&
                scales && scales->rank == 3 && scales->dtype == TSR_U8;
    for (int i = 0; same && i < 3; i++)
        same = blocks->dims[i] == scales->dims[i];
    return same;
}

static tsr_status join(const tsri_io_archive *archive, tsri_io_array *blocks) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info(TSR_GGML_MXFP4);
    char name[256];
    snprintf(name, sizeof name, "%.*sscales", (int)(strlen(blocks->name) - strlen("blocks")),
             blocks->name);
    const tsri_io_array *scales = tsri_io_find(archive, name);
    if (!belong_together(blocks, scales))
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: tensor \"%s\" must be U8 [experts, outputs, inputs / 32, 16], and "
            "\"%s\" U8 [experts, outputs, inputs / 32]%s",
            archive->files[blocks->file]->path, blocks->name, name,
            scales ? "" : "; the second is missing");
    archive->arrays[scales - archive->arrays].bytes = 0; /* they count with the blocks */
    const uint64_t n = blocks->elements / CODES;
    blocks->split = true;
    blocks->exponents_file = scales->file;
    blocks->exponents = scales->offset;
    blocks->dtype = TSR_GGML_MXFP4;
    blocks->type_name = type->name;
    blocks->rank = 3;
    blocks->dims[2] *= type->block;
    blocks->elements = n * (uint64_t)type->block;
    blocks->bytes = n * (uint64_t)type->bytes;
    return TSR_OK;
}

tsr_status tsri_model_mxfp4_adopt(json_t *config, const char *what, tsri_io_archive *archive,
                                  bool *joined) {
    const json_t *settings = json_object_get(config, TSRI_QUANTIZED_KEY),
                 *method = json_object_get(settings, "quant_method");
    size_t found = 0;
    *joined = false;
    if (!json_is_string(method) || strcmp(json_string_value(method), "mxfp4") != 0)
        return TSR_OK;
    for (size_t i = 0; i < archive->n_arrays; i++)
        if (tsri_base_ends_with(archive->arrays[i].name, "_blocks")) {
            TRY(join(archive, &archive->arrays[i]));
            found++;
        }
    if (!found)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"" TSRI_QUANTIZED_KEY
                              "\" says mxfp4, but no tensor of %s holds "
                              "such blocks: the weights belong to another model",
                              what, archive->path);
    json_object_del(config, TSRI_QUANTIZED_KEY);
    *joined = true;
    return TSR_OK;
}
