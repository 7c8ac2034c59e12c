/* io/archive.c - the arrays and the metadata of an open model: adding, sorting, finding and freeing
 * them. */
#include "io/archive.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/format.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "model files are little-endian and are read as they lie");

tsr_status tsri_io_add_file(tsri_io_archive *archive, const char *path, tsri_file **out) {
    static const char pointer[] = "version https://git-lfs";
    char head[sizeof pointer - 1];
    TRY(tsri_base_grow(&archive->files, &archive->files_room, archive->n_files + 1,
                       sizeof *archive->files));
    tsri_file *file = NULL;
    TRY(tsri_base_file_open(path, &file));
    archive->files[archive->n_files++] = file;
    *out = file;
    if (file->size < sizeof head)
        return TSR_OK;
    TRY(tsri_base_file_read(file, 0, head, sizeof head));
    if (memcmp(head, pointer, sizeof head) == 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s is a git-lfs pointer, not the file itself; run \"git lfs pull\" "
                              "where it was cloned",
                              path);
    return TSR_OK;
}

tsr_status tsri_io_add_array(tsri_io_archive *archive, const tsri_io_array *array, const char *name,
                             size_t n) {
    TRY(tsri_base_grow(&archive->arrays, &archive->arrays_room, archive->n_arrays + 1,
                       sizeof *archive->arrays));
    char *copy = tsri_base_copy_text(name, n);
    if (!copy)
        return TSR_E_HOST_MEMORY;
    archive->arrays[archive->n_arrays] = *array;
    archive->arrays[archive->n_arrays++].name = copy;
    return TSR_OK;
}

tsr_status tsri_io_count_elements(tsri_io_array *array, const char *what) {
    uint64_t product = 1;
    bool empty = false;
    for (int i = 0; i < array->rank; i++) {
        if (array->dims[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(product, (uint64_t)array->dims[i], &product) ||
                 product > INT64_MAX)
            return tsri_base_fail(TSR_E_FORMAT, "%s: the product of its dims overflows", what);
    }
    array->elements = empty ? 0 : product;
    return TSR_OK;
}

/* Indices to be sorted by a string. Each item begins with a pointer to its string, so that the
 * sorters need no context argument. */
typedef struct named {
    const char *name;
    size_t index;
} named;

static int by_name_then_index(const void *a, const void *b) {
    const named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Sorts `items` in place and gives their indices in *out; *twice is an item whose name occurs
 * twice, or NULL. */
static tsr_status sort_names(named *items, size_t n, size_t **out, const named **twice) {
    *twice = NULL;
    free(*out);
    *out = NULL;
    TRY(tsri_base_new(n, sizeof **out, out));
    qsort(items, n, sizeof *items, by_name_then_index);
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = items[i].index;
        if (i > 0 && !*twice && strcmp(items[i - 1].name, items[i].name) == 0)
            *twice = &items[i - 1];
    }
    return TSR_OK;
}

tsr_status tsri_io_seal(tsri_io_archive *archive) {
    const size_t n = archive->n_arrays > archive->n_values ? archive->n_arrays : archive->n_values;
    named *items = NULL;
    const named *twice;
    TRY(tsri_base_new(n, sizeof *items, &items));
    for (size_t i = 0; i < archive->n_arrays; i++)
        items[i] = (named){archive->arrays[i].name, i};
    tsr_status status = sort_names(items, archive->n_arrays, &archive->by_name, &twice);
    if (status == TSR_OK && twice) {
        const tsri_file *a = archive->files[archive->arrays[twice[0].index].file];
        const tsri_file *b = archive->files[archive->arrays[twice[1].index].file];
        status = a == b ? tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" occurs twice", a->path,
                                         twice->name)
                        : tsri_base_fail(TSR_E_FORMAT,
                                         "%s and %s: tensor \"%s\" is in both; it must be in one",
                                         a->path, b->path, twice->name);
    }
    for (size_t i = 0; status == TSR_OK && i < archive->n_values; i++)
        items[i] = (named){archive->values[i].key, i};
    if (status == TSR_OK)
        status = sort_names(items, archive->n_values, &archive->by_key, &twice);
    if (status == TSR_OK && twice)
        status = tsri_base_fail(TSR_E_FORMAT, "%s: metadata key \"%s\" occurs twice", archive->path,
                                twice->name);
    free(items);
    return status;
}

void tsri_io_clear(tsri_io_archive *archive) {
    for (size_t i = 0; i < archive->n_files; i++)
        tsri_base_file_close(&archive->files[i]);
    for (size_t i = 0; i < archive->n_arrays; i++) {
        free((char *)(uintptr_t)archive->arrays[i].name);
        free(archive->arrays[i].made);
    }
    tsri_io_drop_values(archive, 0);
    free(archive->files);
    free(archive->arrays);
    free(archive->values);
    free(archive->by_name);
    free(archive->by_key);
    free(archive->path);
    *archive = (tsri_io_archive){.format = archive->format};
}

void tsri_io_close(tsri_io_archive **archive) {
    if (!*archive)
        return;
    tsri_io_clear(*archive);
    free(*archive);
    *archive = NULL;
}

const tsri_io_array *tsri_io_find(const tsri_io_archive *archive, const char *name) {
    size_t low = 0, high = archive->n_arrays;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tsri_io_array *array = &archive->arrays[archive->by_name[middle]];
        const int order = strcmp(name, array->name);
        if (order == 0)
            return array;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
