/* io/made.c - arrays that are made of others when they are read: reads their rows, and takes the arrays that
 * they are made from out of the archive. */
#include "io/format.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/convert.h"

#include <stdlib.h>
#include <string.h>

tsr_status tsri_io_rename(tsri_io_archive *archive, size_t index, const char *name, size_t n) {
    char *copy = tsri_base_copy_text(name, n);
    if (!copy)
        return TSR_E_HOST_MEMORY;
    free((char *)(uintptr_t)archive->arrays[index].name);
    archive->arrays[index].name = copy;
    return TSR_OK;
}

tsr_status tsri_io_remove(tsri_io_archive *archive, const bool *gone) {
    size_t left = 0;
    for (size_t i = 0; i < archive->n_arrays; i++)
        if (gone[i]) {
            free((char *)(uintptr_t)archive->arrays[i].name);
            free(archive->arrays[i].made);
        } else
            archive->arrays[left++] = archive->arrays[i];
    archive->n_arrays = left;
    return tsri_io_seal(archive);
}

/* Makes n rows in the dtype `to`, by way of f32 where the array is not made as that. */
static tsr_status make_rows(const tsri_io_archive *archive, const tsri_io_array *array,
                            tsr_dtype to, int64_t first, int64_t n, void *out) {
    const bool direct =
        to == TSR_F32 || (to == array->dtype && tsri_tensor_dtype_info(to)->block > 1);
    const size_t count = (size_t)(n * array->dims[1]);
    float *values = NULL;
    if (direct)
        return array->made->rows(array->made, archive, array, to, first, n, out);
    TRY(tsri_base_new(count, sizeof *values, &values));
    tsr_status status = array->made->rows(array->made, archive, array, TSR_F32, first, n, values);
    if (status == TSR_OK)
        status = tsri_tensor_convert(to, out, TSR_F32, values, count);
    free(values);
    return status;
}

tsr_status tsri_io_made_read(const tsri_io_archive *archive, const tsri_io_array *array,
                             tsr_dtype to, uint64_t first, uint64_t n, void *out) {
    enum { PIECE = 4 << 20 }; /* bytes */
    const uint64_t end = first + n;
    uint64_t row_bytes = 0;
    char *part = NULL; /* of rows of which only some bytes are wanted */
    if (!n)
        return TSR_OK;
    if (!tsri_tensor_bytes(to, (uint64_t)array->dims[1], &row_bytes) || !row_bytes)
        return tsri_base_fail(TSR_E_INTERNAL, "tensor \"%s\" has rows without a size", array->name);
    const uint64_t fit = PIECE / row_bytes ? PIECE / row_bytes : 1,
                   rows = (end - 1) / row_bytes + 1;
    tsr_status status = TSR_OK;
    for (uint64_t row = first / row_bytes; row < rows && status == TSR_OK;) {
        const uint64_t begin = row * row_bytes, left = (end - begin) / row_bytes;
        if (begin >= first && left) {
            const uint64_t count = left < fit ? left : fit;
            status = make_rows(archive, array, to, (int64_t)row, (int64_t)count,
                               (char *)out + (begin - first));
            row += count;
            continue;
        }
        const uint64_t from = begin < first ? first - begin : 0,
                       until = end - begin < row_bytes ? end - begin : row_bytes;
        if (!part)
            status = tsri_base_new((size_t)row_bytes, 1, &part);
        if (status == TSR_OK)
            status = make_rows(archive, array, to, (int64_t)row, 1, part);
        if (status == TSR_OK)
            memcpy((char *)out + (begin + from - first), part + from, (size_t)(until - from));
        row++;
    }
    free(part);
    return status;
}
