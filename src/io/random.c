/* io/random.c - arrays of random numbers that are made when they are read, for a model of a given
 * shape without a file. */
#include "io/format.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <string.h>

/* Sets the name that error sentences use for the file. */
static tsr_status add_name(tsri_io_archive *archive, const char *name) {
    tsri_file *file = NULL;
    TRY(tsri_base_grow(&archive->files, &archive->files_room, 1, sizeof *archive->files));
    TRY(tsri_base_new(1, sizeof *file, &file));
    *file = (tsri_file){.fd = -1, .path = tsri_base_copy_text(name, strlen(name))};
    archive->files[archive->n_files++] = file;
    return file->path ? TSR_OK : TSR_E_HOST_MEMORY;
}

tsr_status tsri_io_random(const char *name, const tsri_io_random_array *list, size_t n,
                          tsri_io_archive **out) {
    tsri_io_archive *archive = NULL;
    TRY(tsri_base_new(1, sizeof *archive, &archive));
    archive->format = TSRI_IO_RANDOM;
    archive->path = tsri_base_copy_text(name, strlen(name));
    tsr_status status = archive->path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = add_name(archive, name);
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        tsri_io_array array = {
            .type_name = "F32", .dtype = TSR_F32, .rank = list[i].dims[1] ? 2 : 1};
        memcpy(array.dims, list[i].dims, sizeof list[i].dims);
        status = tsri_io_count_elements(&array, list[i].name);
        array.bytes = array.elements * sizeof(float);
        if (status == TSR_OK)
            status = tsri_io_add_array(archive, &array, list[i].name, strlen(list[i].name));
    }
    if (status == TSR_OK)
        status = tsri_io_seal(archive);
    if (status != TSR_OK)
        tsri_io_close(&archive);
    *out = archive;
    return status;
}

/* Numbers of a matrix are uniform around 0 with standard deviation 0.02, which is that of the
 * families' initial weights; vectors are 1, biases 0. */
static float number(uint64_t word) {
    static const float width = 0.02f * 3.4641016f; /* sqrt 12 */
    return ((float)(word >> 8) * 0x1p-24f - 0.5f) * width;
}

void tsri_io_random_read(const tsri_io_archive *archive, const tsri_io_array *array, uint64_t first,
                         size_t n, float *out) {
    const uint64_t stream = (uint64_t)(array - archive->arrays);
    const size_t length = strlen(array->name);
    const bool bias = length > 5 && !strcmp(array->name + length - 5, ".bias");
    uint32_t words[4] = {0};
    uint64_t have = UINT64_MAX;
    for (size_t i = 0; i < n / sizeof *out; i++) {
        const uint64_t at = first / sizeof *out + i;
        if (array->rank == 2 && at / 4 != have)
            tsri_base_philox(0, stream, have = at / 4, words);
        out[i] = array->rank == 2 ? number(words[at % 4]) : bias ? 0.0f : 1.0f;
    }
}
