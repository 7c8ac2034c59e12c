/* task/convert/merge.c - writes a model folder with LoRA adapters added to its weights, array by
 * array. */
#include "tessera/merge.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/system/system.h"
#include "task/convert/conversion.h"
#include "tensor/convert.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 4 << 20 };

typedef tsri_task_conversion job;

/* Whether the array's rows belong to inputs, as in GPT-2's matrices. */
static bool inputs_first(const tsri_model_weights *weights, const tsri_io_array *array) {
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(weights, id);
        const tsri_model_part *part = weight ? tsri_model_weight_part(weight, array) : NULL;
        if (part)
            return part->across > 0;
    }
    return false;
}

/* Reads rows first .. first + n - 1 of a matrix, adds what the adapters add to them, and rounds the
 * sums to the array's dtype. */
static tsr_status read_added(const job *j, const tsri_io_array *array, int64_t first, int64_t n,
                             float *values, void *out) {
    const tsri_io_archive *archive = j->model->archive;
    const tsri_model_weights *weights = j->model->weights;
    const tsri_io_array *from = tsri_model_adapters_instead(weights->adapters, array, &archive);
    const size_t count = (size_t)(n * array->dims[1]);
    TRY(tsri_io_read_as(archive, from, TSR_F32, (uint64_t)(first * array->dims[1]), count, values));
    tsri_model_adapters_add(weights->adapters, array, inputs_first(weights, array), first, n,
                            values);
    return tsri_tensor_convert(array->dtype, out, TSR_F32, values, count);
}

static tsr_status write_added(job *j, const tsri_io_array *array, tsri_io_saver *saver) {
    const uint64_t row = array->bytes / (uint64_t)array->dims[0];
    const int64_t piece = row < PIECE_BYTES ? (int64_t)(PIECE_BYTES / row) : 1;
    float *values = NULL;
    char *out = NULL;
    tsr_status status = tsri_base_new((size_t)(piece * array->dims[1]), sizeof *values, &values);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)piece, row, &out);
    for (int64_t first = 0; first < array->dims[0] && status == TSR_OK; first += piece) {
        const int64_t n = array->dims[0] - first < piece ? array->dims[0] - first : piece;
        status = read_added(j, array, first, n, values, out);
        if (status == TSR_OK)
            status = tsri_task_conversion_write(j, saver, out, (uint64_t)n * row);
    }
    free(values);
    free(out);
    return status;
}

/* Writes the array as it is stored, or what an adapter has in its place, in the array's dtype. */
static tsr_status write_whole(job *j, const tsri_io_array *array, tsri_io_saver *saver) {
    const tsri_io_archive *archive = j->model->archive;
    const tsri_io_array *from =
        tsri_model_adapters_instead(j->model->weights->adapters, array, &archive);
    const bool other = from->dtype != array->dtype; /* then bytes at once must be whole elements */
    const uint64_t item = other ? array->bytes / (array->elements ? array->elements : 1) : 1,
                   piece = PIECE_BYTES / item, units = array->bytes / item;
    void *data = NULL;
    tsr_status status = tsri_base_new_aligned(PIECE_BYTES, &data);
    for (uint64_t first = 0; first < units && status == TSR_OK; first += piece) {
        const uint64_t n = units - first < piece ? units - first : piece;
        status = other ? tsri_io_read_as(archive, from, array->dtype, first, (size_t)n, data)
                       : tsri_io_read(archive, from, first, (size_t)n, data);
        if (status == TSR_OK)
            status = tsri_task_conversion_write(j, saver, data, n * item);
    }
    tsri_system_free_aligned(data);
    return status;
}

static tsr_status write_entry(void *data, const tsri_io_entry *entry, tsri_io_saver *saver) {
    job *j = data;
    const bool added = tsri_model_adapters_add_to(j->model->weights->adapters, entry->data);
    return (added ? write_added : write_whole)(j, entry->data, saver);
}

/* Number i of the new file's arrays: the model's and, behind them, an output matrix that is no longer the embedding. */
static const tsri_io_array *array_at(const job *j, size_t i) {
    const tsri_io_archive *archive = j->model->archive;
    return i < archive->n_arrays ? &archive->arrays[i] : j->model->weights->head;
}

static tsr_status write_weights(void *data) {
    job *j = data;
    const size_t n = j->model->archive->n_arrays + (j->model->weights->head != NULL);
    if (j->model->quantized)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s holds blocks already; merge the adapter into the model that it was "
            "made from, or use it with --lora",
            j->model->path);
    TRY(tsri_model_need_no_tasks(j->model));
    if (j->model->joined)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s is quantised, and such matrices are not written; give the model with matrices "
            "of floats, or use the adapter with --lora",
            j->model->path);
    const tsri_io_array *left_out = tsri_model_adapters_left_out(j->model->weights->adapters);
    if (left_out)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: the adapter's tensor \"%s\" belongs to a part that is not served, and would be "
            "lost; merge it with PEFT, or use it with --lora",
            j->model->path, left_out->name);
    tsri_io_entry *entries = NULL;
    TRY(tsri_base_new(n + 1, sizeof *entries, &entries));
    for (size_t i = 0; i < n; i++) {
        const tsri_io_array *array = array_at(j, i);
        entries[i] = (tsri_io_entry){
            .name = array->name, .dtype = array->dtype, .rank = array->rank, .data = array};
        memcpy(entries[i].dims, array->dims, sizeof entries[i].dims);
        j->total += array->bytes;
    }
    const tsr_status status = tsri_task_conversion_weights(j, entries, n, write_entry, j);
    free(entries);
    return status;
}

tsr_status tsr_merge(const char *name, const char *folder, const tsr_merge_options *options) {
    tsr_merge_options known;
    TRY(tsri_base_adopt("tsr_merge_options", options, &known, sizeof known));
    if (!folder || !known.n_lora || !known.lora)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "tsr_merge: give a new folder and at least one adapter");
    TRY(tsri_base_folder_check_free(folder));
    const tsri_model_options adapters = {.lora = known.lora, .n_lora = known.n_lora};
    job j = {.doing = "merging", .progress = known.progress, .progress_data = known.progress_data};
    tsr_status status = tsri_task_conversion_open(
        &j, name, &adapters,
        "adapters can only be merged into a folder with config.json and safetensors: run the model "
        "with --lora");
    if (status == TSR_OK)
        status = tsri_task_conversion_fill(&j, folder, write_weights, &j);
    tsri_task_conversion_close(&j);
    return status;
}
