/* model/weights/quantized.c - reads what `tessera quantize` wrote: turns arrays of bytes into
 * arrays of blocks. */
#include "model/weights/quantized.h"

#include "base/error.h"
#include "base/json.h"
#include "tensor/convert.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    tsr_dtype dtype;
} kinds[] = {{"q8", TSR_GGML_Q8_0}, {"q4", TSR_GGML_Q4_0}};

const char *tsri_model_quantized_name(tsr_dtype dtype) {
    return dtype == kinds[0].dtype ? kinds[0].name : dtype == kinds[1].dtype ? kinds[1].name : NULL;
}

/* The dtype that `key` of an object names. */
static tsr_status read_dtype(const json_t *object, const char *what, const char *key,
                             tsr_dtype *dtype) {
    const char *name = NULL;
    TRY(tsri_base_json_text(object, what, key, &name));
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *dtype = kinds[i].dtype;
            return TSR_OK;
        }
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: \"" TSRI_QUANTIZED_KEY "\": \"%s\" is %s%s%s; it must be q8 or q4",
                          what, key, name ? "\"" : "", name ? name : "missing", name ? "\"" : "");
}

static tsr_status check_settings(const json_t *settings, const char *what) {
    static const char *const known[] = {"quant_method", "version", "dtype", "tensors"};
    const char *key;
    int64_t version = 0;
    json_t *value;
    TRY(tsri_base_json_int(settings, what, "version", INT64_MIN, INT64_MAX, &version));
    if (version < 1 || version > TSRI_QUANTIZED_VERSION)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: its matrices were quantised in version %" PRId64
                              " of that layout; this version of tessera reads 1 to %d: quantise "
                              "the original again",
                              what, version, TSRI_QUANTIZED_VERSION);
    json_object_foreach((json_t *)(uintptr_t)settings, key, value) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= strcmp(key, known[i]) == 0;
        if (!is_known)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"" TSRI_QUANTIZED_KEY "\" has \"%s\", which this version "
                                  "of tessera does not know",
                                  what, key);
    }
    value = json_object_get(settings, "tensors");
    return !value || json_is_object(value)
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT,
                                "%s: \"" TSRI_QUANTIZED_KEY
                                "\": \"tensors\" must be an object of names and dtypes",
                                what);
}

/* [rows, bytes] becomes [rows, columns] of blocks. */
static tsr_status adopt_array(const tsri_io_archive *archive, tsri_io_array *array,
                              tsr_dtype dtype) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info(dtype);
    const int64_t bytes = array->rank == 2 ? array->dims[1] : 0;
    if (bytes <= 0 || bytes % type->bytes)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" has rows of %" PRId64
                              " bytes, which are not %s blocks of %d: the file is damaged, or "
                              "config.json belongs to another file",
                              archive->files[array->file]->path, array->name, bytes,
                              tsri_model_quantized_name(dtype), type->bytes);
    array->dtype = dtype;
    array->type_name = type->name;
    array->dims[1] = bytes / type->bytes * type->block;
    array->elements = array->bytes / (uint64_t)type->bytes * (uint64_t)type->block;
    return TSR_OK;
}

/* Each name in "tensors" must be one of the file's. */
static tsr_status check_names(const json_t *tensors, const char *what,
                              const tsri_io_archive *archive) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)tensors, name, value) {
        const tsri_io_array *array = tsri_io_find(archive, name);
        if (!array || array->dtype != TSR_U8)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: \"" TSRI_QUANTIZED_KEY
                                  "\" lists tensor \"%s\", but %s has no such tensor of blocks: "
                                  "the weights belong to another model",
                                  what, name, archive->path);
    }
    return TSR_OK;
}

tsr_status tsri_model_quantized_adopt(json_t *config, const char *what, tsri_io_archive *archive,
                                      bool *quantized) {
    const json_t *settings = json_object_get(config, TSRI_QUANTIZED_KEY);
    const json_t *method = json_object_get(settings, "quant_method");
    const json_t *tensors = json_object_get(settings, "tensors");
    tsr_dtype dtype = TSR_DTYPE_NONE;
    size_t found = 0;
    *quantized = false;
    if (!json_is_string(method) || strcmp(json_string_value(method), TSRI_QUANTIZED_METHOD) != 0)
        return TSR_OK;
    TRY(check_settings(settings, what));
    TRY(read_dtype(settings, what, "dtype", &dtype));
    TRY(check_names(tensors, what, archive));
    for (size_t i = 0; i < archive->n_arrays; i++) {
        tsri_io_array *array = &archive->arrays[i];
        tsr_dtype own = dtype;
        if (array->dtype != TSR_U8)
            continue;
        if (json_object_get(tensors, array->name))
            TRY(read_dtype(tensors, what, array->name, &own));
        TRY(adopt_array(archive, array, own));
        found++;
    }
    if (!found)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: \"" TSRI_QUANTIZED_KEY
            "\" says %s, but no tensor of %s holds blocks: the weights belong to another model",
            what, tsri_model_quantized_name(dtype), archive->path);
    json_object_del(config, TSRI_QUANTIZED_KEY);
    *quantized = true;
    return TSR_OK;
}
