/* task/convert/quantize.c - writes a model folder with matrices as blocks of 8 or 4 bits, a few
 * rows at a time. */
#include "tessera/quantize.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/system/system.h"
#include "model/weights/quantized.h"
#include "task/convert/conversion.h"
#include "tensor/convert.h"
#include "tensor/quantize.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 4 << 20, CONFIG_BYTES = 16 << 20, CONFIG_DEPTH = 64 };

/* An array to write: as blocks, or as it is stored. */
typedef struct item {
    const tsri_io_array *array;
    tsr_dtype dtype; /* of blocks; NONE: as stored */
    int64_t rows, columns, across;
} item;

typedef struct job {
    tsri_task_conversion conversion;
    tsr_dtype dtype; /* of the blocks */
    item *items;
    tsri_io_entry *entries;
    size_t n;
} job;

static void add_item(job *j, const tsri_model_weight *weight, const tsri_model_part *part) {
    const tsri_io_array *array = part->array;
    const bool blocks = weight->rank == 2 && tsri_tensor_is_kept_blocks(weight->dtype);
    for (size_t i = 0; i < j->n; i++)
        if (j->items[i].array == array)
            return; /* a weight may have several parts of one array */
    item *it = &j->items[j->n];
    tsri_io_entry *entry = &j->entries[j->n++];
    *it = (item){.array = array,
                 .dtype = blocks ? weight->dtype : TSR_DTYPE_NONE,
                 .rows = array->dims[part->across ? 1 : 0],
                 .columns = array->dims[part->across ? 0 : 1],
                 .across = part->across};
    *entry = (tsri_io_entry){
        .name = array->name, .dtype = array->dtype, .rank = array->rank, .data = it};
    memcpy(entry->dims, array->dims, sizeof entry->dims);
    uint64_t bytes = array->bytes;
    if (blocks) {
        uint64_t row = 0;
        tsri_tensor_bytes(it->dtype, (uint64_t)it->columns, &row);
        entry->dtype = TSR_U8;
        entry->dims[0] = it->rows;
        entry->dims[1] = (int64_t)row;
        bytes = (uint64_t)it->rows * row;
    }
    j->conversion.total += bytes;
}

static tsr_status list_items(job *j) {
    const tsri_model_weights *weights = j->conversion.model->weights;
    const size_t most = j->conversion.model->archive->n_arrays;
    TRY(tsri_base_new(most, sizeof *j->items, &j->items));
    TRY(tsri_base_new(most, sizeof *j->entries, &j->entries));
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        for (int i = 0; weight && i < weight->n_parts; i++) {
            const tsri_io_array *array = weight->parts[i].array;
            if (array->rank > 2 && tsri_tensor_is_kept_blocks(weight->dtype))
                return tsri_base_fail(
                    TSR_E_UNSUPPORTED,
                    "%s: tensor \"%s\" has all experts of a layer, which can't be "
                    "written as blocks; --dtype q8 makes them when the model is read",
                    j->conversion.model->path, array->name);
            add_item(j, weight, &weight->parts[i]);
        }
    }
    for (size_t i = 0; i < j->n; i++)
        if (j->items[i].dtype != TSR_DTYPE_NONE)
            return TSR_OK;
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s: no matrix can be quantised, because none has rows whose length is a multiple of 32",
        j->conversion.model->path);
}

static tsr_status write_item(void *data_of, const tsri_io_entry *entry, tsri_io_saver *saver) {
    job *j = data_of;
    const item *it = entry->data;
    const tsri_model_part part = {.array = it->array,
                                  .rows = it->rows,
                                  .group = it->rows,
                                  .stride = it->rows,
                                  .across = it->across};
    uint64_t row = 1, rows = it->array->bytes;
    void *data = NULL;
    if (it->dtype != TSR_DTYPE_NONE) {
        rows = (uint64_t)it->rows;
        tsri_tensor_bytes(it->dtype, (uint64_t)it->columns, &row);
    }
    const uint64_t piece = row < PIECE_BYTES ? PIECE_BYTES / row : 1;
    tsr_status status = tsri_base_new_aligned((size_t)(piece * row), &data);
    for (uint64_t first = 0; first < rows && status == TSR_OK; first += piece) {
        const uint64_t n = rows - first < piece ? rows - first : piece;
        status =
            it->dtype != TSR_DTYPE_NONE
                ? tsri_model_part_rows(j->conversion.model->weights, &part, it->columns,
                                       (int64_t)first, (int64_t)n, it->dtype, data)
                : tsri_io_read(j->conversion.model->archive, it->array, first, (size_t)n, data);
        if (status == TSR_OK)
            status = tsri_task_conversion_write(&j->conversion, saver, data, n * row);
    }
    tsri_system_free_aligned(data);
    return status;
}

/* {NAME: dtype} of the matrices whose blocks are of another dtype than most; NULL where memory runs
 * out. */
static json_t *list_others(const job *j) {
    json_t *others = json_object();
    for (size_t i = 0; i < j->n; i++) {
        const tsr_dtype dtype = j->items[i].dtype;
        if (dtype != TSR_DTYPE_NONE && dtype != j->dtype &&
            json_object_set_new(others, j->items[i].array->name,
                                json_string(tsri_model_quantized_name(dtype)))) {
            json_decref(others);
            return NULL;
        }
    }
    return others;
}

static tsr_status write_config(const job *j) {
    json_t *config = NULL;
    char *path = tsri_base_join(j->conversion.place, "config.json");
    tsr_status status = path ? tsri_base_json_load(j->conversion.model->config_name, CONFIG_BYTES,
                                                   CONFIG_DEPTH, &config)
                             : TSR_E_HOST_MEMORY;
    if (status == TSR_OK) {
        json_t *settings =
            json_pack("{s:s, s:i, s:s, s:o}", "quant_method", TSRI_QUANTIZED_METHOD, "version",
                      TSRI_QUANTIZED_VERSION, "dtype", tsri_model_quantized_name(j->dtype),
                      "tensors", list_others(j));
        status = json_object_set_new(config, TSRI_QUANTIZED_KEY, settings) == 0
                     ? tsri_base_json_save(path, config, JSON_INDENT(2))
                     : tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", path);
    }
    json_decref(config);
    free(path);
    return status;
}

static tsr_status fill(void *data) {
    job *j = data;
    TRY(tsri_task_conversion_weights(&j->conversion, j->entries, j->n, write_item, j));
    return write_config(j);
}

static tsr_status open_source(job *j, const char *name) {
    const tsri_model_options options = {.dtype = j->dtype};
    char only[160];
    snprintf(only, sizeof only,
             "only a folder with config.json and safetensors can be quantised: run the model as it "
             "is, with --dtype %s",
             tsri_model_quantized_name(j->dtype));
    TRY(tsri_task_conversion_open(&j->conversion, name, &options, only));
    TRY(tsri_model_need_no_tasks(j->conversion.model));
    if (j->conversion.model->quantized || j->conversion.model->joined)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is quantised already; give the model that it was made from",
                              j->conversion.model->path);
    return TSR_OK;
}

tsr_status tsr_quantize(const char *name, const char *folder, const tsr_quantize_options *options) {
    tsr_quantize_options known;
    TRY(tsri_base_adopt("tsr_quantize_options", options, &known, sizeof known));
    if (!folder)
        return tsri_base_fail(TSR_E_ARGUMENT, "tsr_quantize: no folder was given");
    const tsr_dtype dtype = known.dtype ? (tsr_dtype)known.dtype : TSR_GGML_Q8_0;
    if (!tsri_tensor_is_written_blocks(dtype))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "matrices are quantised as q8 or q4; dtype %u is "
                              "neither",
                              known.dtype);
    TRY(tsri_base_folder_check_free(folder));
    job j = {.dtype = dtype,
             .conversion = {.doing = "quantising",
                            .progress = known.progress,
                            .progress_data = known.progress_data}};
    tsr_status status = open_source(&j, name);
    if (status == TSR_OK)
        status = list_items(&j);
    if (status == TSR_OK)
        status = tsri_task_conversion_fill(&j.conversion, folder, fill, &j);
    tsri_task_conversion_close(&j.conversion);
    free(j.items);
    free(j.entries);
    return status;
}
