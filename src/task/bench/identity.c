/* task/bench/identity.c - says which weights were measured. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/load/measure.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

static int by_name(const void *a, const void *b) {
    return strcmp((*(const tsri_io_array *const *)a)->name,
                  (*(const tsri_io_array *const *)b)->name);
}

/* Name, type, shape and bytes of an array. */
static tsr_status hash_array(const tsri_io_archive *archive, const tsri_io_array *array,
                             unsigned char *piece, tsri_hash *hash) {
    tsri_base_hash_text(hash, array->name);
    tsri_base_hash_text(hash, array->type_name);
    tsri_base_hash_add(hash, array->dims, (size_t)array->rank * sizeof *array->dims);
    for (uint64_t at = 0; at < array->bytes; at += PIECE) {
        const uint64_t left = array->bytes - at, n = left < PIECE ? left : PIECE;
        TRY(tsri_io_read(archive, array, at, (size_t)n, piece));
        tsri_base_hash_add(hash, piece, (size_t)n);
    }
    return TSR_OK;
}

/* The order of arrays in a file, and how they are spread over files, don't matter. */
static tsr_status hash_weights(const tsri_io_archive *archive, char hex[65]) {
    const tsri_io_array **order = NULL;
    unsigned char *piece = NULL, digest[32];
    tsri_hash *hash = NULL;
    tsr_status status = tsri_base_new(archive->n_arrays, sizeof *order, &order);
    if (status == TSR_OK)
        status = tsri_base_new(PIECE, 1, &piece);
    if (status == TSR_OK)
        status = tsri_base_hash_begin(&hash);
    for (size_t i = 0; i < archive->n_arrays && status == TSR_OK; i++)
        order[i] = &archive->arrays[i];
    if (status == TSR_OK)
        qsort(order, archive->n_arrays, sizeof *order, by_name);
    for (size_t i = 0; i < archive->n_arrays && status == TSR_OK; i++)
        status = hash_array(archive, order[i], piece, hash);
    if (hash)
        tsri_base_hash_end(&hash, digest);
    if (status == TSR_OK)
        tsri_base_hash_hex(digest, hex);
    free(order);
    free(piece);
    return status;
}

/* "q8" for "q8_0": the classes of docs/benchmark.md. */
static void class_of(const char *dtype, char out[16]) {
    snprintf(out, 16, "%.*s", *dtype == 'q' ? 2 : 15, dtype);
}

tsr_status tsri_task_identify(tsr_model *model, const char *name, uint32_t dtype, const char *known,
                              tsri_task_identity *out) {
    const tsri_model *m = tsri_model_of(model);
    tsr_model_memory memory = {.struct_size = sizeof memory};
    tsri_model_measures figures;
    *out = (tsri_task_identity){.model = {.name = name}};
    tsri_model_measure(m, &figures);
    TRY(tsr_model_memory_get(model, &memory));
    if (dtype)
        class_of(tsri_tensor_dtype_name(dtype), out->dtype);
    class_of(dtype ? tsri_tensor_dtype_name(dtype) : figures.kept, out->kept);
    if (known)
        snprintf(out->hash, sizeof out->hash, "%s", known);
    else
        TRY(hash_weights(m->archive, out->hash));
    out->model.dtype = dtype ? out->dtype : NULL;
    out->model.kept = out->kept;
    out->model.hash = out->hash;
    out->model.parameters = (int64_t)figures.parameters;
    out->model.bytes = memory.weights;
    return TSR_OK;
}
