/* model/load/fingerprint.c - hashes a model, to tell whether two are the same. */
#include "model/load/fingerprint.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

static int by_name(const void *a, const void *b) {
    return strcmp((*(const tsri_io_array *const *)a)->name,
                  (*(const tsri_io_array *const *)b)->name);
}

/* Name, type, shape and the first bytes of an array. */
static tsr_status hash_array(const tsri_io_archive *archive, const tsri_io_array *array,
                             uint64_t most, unsigned char *piece, tsri_hash *hash) {
    const uint64_t bytes = array->bytes < most ? array->bytes : most;
    tsri_base_hash_text(hash, array->name);
    tsri_base_hash_text(hash, array->type_name);
    tsri_base_hash_add(hash, array->dims, (size_t)array->rank * sizeof *array->dims);
    for (uint64_t at = 0; at < bytes; at += PIECE) {
        const uint64_t left = bytes - at, n = left < PIECE ? left : PIECE;
        TRY(tsri_io_read(archive, array, at, (size_t)n, piece));
        tsri_base_hash_add(hash, piece, (size_t)n);
    }
    return TSR_OK;
}

/* The order of arrays in a file, and how they are spread over files, don't matter. */
tsr_status tsri_model_hash(const tsri_io_archive *archive, uint64_t most, char hex[65]) {
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
        status = hash_array(archive, order[i], most, piece, hash);
    if (hash)
        tsri_base_hash_end(&hash, digest);
    if (status == TSR_OK)
        tsri_base_hash_hex(digest, hex);
    free(order);
    free(piece);
    return status;
}
