/* io/save.c - writes a safetensors file whose tensors arrive one after the other. */
#include "io/save.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "tensor/convert.h"

#include "base/json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 1024, MAX_RANK = 8, MAX_HEADER = 100000000 };

struct tsri_io_saver {
    tsri_file_writer *writer;
    char *path;
    uint64_t wanted, written; /* bytes of data, expected and written so far */
};

/* The dtypes in the order in which the official writer puts them. */
static const struct {
    tsr_dtype dtype;
    const char *name;
} types[] = {
    {TSR_I64, "I64"}, {TSR_F64, "F64"}, {TSR_F32, "F32"}, {TSR_I32, "I32"}, {TSR_BF16, "BF16"},
    {TSR_F16, "F16"}, {TSR_I16, "I16"}, {TSR_I8, "I8"},   {TSR_U8, "U8"},   {TSR_BOOL, "BOOL"},
};
enum { TYPES = sizeof types / sizeof *types };

/* The index of a dtype in that order; TYPES where safetensors does not have it. */
static int place_of(tsr_dtype dtype) {
    int i = 0;
    while (i < TYPES && types[i].dtype != dtype)
        i++;
    return i;
}

static int entry_order(const void *a, const void *b) {
    const tsri_io_entry *x = a, *y = b;
    const int order = place_of(x->dtype) - place_of(y->dtype);
    return order ? order : strcmp(x->name, y->name);
}

static tsr_status entry_bytes(const char *path, const tsri_io_entry *entry, uint64_t *bytes) {
    uint64_t n = 1;
    const size_t length = entry->name ? strlen(entry->name) : 0;
    if (length == 0 || length > MAX_NAME || strcmp(entry->name, "__metadata__") == 0)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "%s: a tensor's name must have 1 to %d bytes and not be \"__metadata__\"", path,
            MAX_NAME);
    if (place_of(entry->dtype) == TYPES)
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: tensor \"%s\": safetensors has no dtype for %d",
                              path, entry->name, (int)entry->dtype);
    if (entry->rank < 0 || entry->rank > MAX_RANK)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s: tensor \"%s\" has %d dims; at most %d are written", path,
                              entry->name, entry->rank, MAX_RANK);
    for (int i = 0; i < entry->rank; i++)
        if (entry->dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)entry->dims[i], &n))
            return tsri_base_fail(
                TSR_E_ARGUMENT, "%s: tensor \"%s\": dim %d is negative, or their product overflows",
                path, entry->name, i);
    if (!tsri_tensor_bytes(entry->dtype, n, bytes))
        return tsri_base_fail(TSR_E_ARGUMENT, "%s: tensor \"%s\": its size overflows", path,
                              entry->name);
    return TSR_OK;
}

/* The object of one entry; NULL where there is too little memory or the name is not UTF-8. */
static json_t *describe(const tsri_io_entry *entry, uint64_t begin, uint64_t end) {
    json_t *shape = json_array();
    bool whole = shape != NULL;
    for (int i = 0; whole && i < entry->rank; i++)
        whole = json_array_append_new(shape, json_integer(entry->dims[i])) == 0;
    json_t *described =
        !whole ? NULL
               : json_pack("{s:s, s:O, s:[I, I]}", "dtype", types[place_of(entry->dtype)].name,
                           "shape", shape, "data_offsets", (json_int_t)begin, (json_int_t)end);
    json_decref(shape);
    return described;
}

/* jansson does not tell which of the two it was; malloc does. */
static tsr_status out_of_memory_or_utf8(const char *path, const char *name) {
    return errno == ENOMEM
               ? tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory for its header", path)
               : tsri_base_fail(TSR_E_ARGUMENT, "%s: \"%s\" is not UTF-8 text", path, name);
}

static tsr_status fill_header(const char *path, const tsri_io_entry *entries, size_t n,
                              const char *const *metadata, size_t n_metadata, json_t *root,
                              uint64_t *total) {
    errno = 0;
    if (n_metadata > 0) {
        json_t *texts = json_object();
        if (json_object_set_new(root, "__metadata__", texts) != 0)
            return out_of_memory_or_utf8(path, "__metadata__");
        for (size_t i = 0; i < n_metadata; i++)
            if (json_object_set_new(texts, metadata[2 * i], json_string(metadata[2 * i + 1])) != 0)
                return out_of_memory_or_utf8(path, metadata[2 * i]);
    }
    *total = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes, end;
        TRY(entry_bytes(path, &entries[i], &bytes));
        if (__builtin_add_overflow(*total, bytes, &end) || end > INT64_MAX)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s: the tensors' sizes add up to more than 2^63 bytes", path);
        if (json_object_get(root, entries[i].name))
            return tsri_base_fail(TSR_E_ARGUMENT, "%s: tensor \"%s\" occurs twice", path,
                                  entries[i].name);
        if (json_object_set_new(root, entries[i].name, describe(&entries[i], *total, end)) != 0)
            return out_of_memory_or_utf8(path, entries[i].name);
        *total = end;
    }
    return TSR_OK;
}

/* The length, the JSON text, and spaces so that the data begins at a multiple of 8. */
static tsr_status print_header(const char *path, const json_t *root, tsri_bytes *out) {
    char *text = tsri_base_json_print(root, JSON_COMPACT);
    if (!text)
        return tsri_base_fail(TSR_E_HOST_MEMORY,
                              "%s: out of host memory while its header was written", path);
    const size_t n = strlen(text);
    const uint64_t length = (n + 7) / 8 * 8;
    tsr_status status = TSR_OK;
    if (length > MAX_HEADER)
        status = tsri_base_fail(
            TSR_E_ARGUMENT, "%s: its header would have %" PRIu64 " bytes; at most %d are allowed",
            path, length, MAX_HEADER);
    if (status == TSR_OK)
        status = tsri_base_bytes_append(out, &length, sizeof length);
    if (status == TSR_OK)
        status = tsri_base_bytes_append(out, text, n);
    if (status == TSR_OK)
        status = tsri_base_bytes_append(out, "       ", (size_t)length - n);
    free(text);
    return status;
}

void tsri_io_save_order(tsri_io_entry *entries, size_t n) {
    if (n > 0)
        qsort(entries, n, sizeof *entries, entry_order);
}

/* Sorts the entries; what the file has before its data, and how many bytes of data. */
static tsr_status plan(const char *path, tsri_io_entry *entries, size_t n,
                       const char *const *metadata, size_t n_metadata, tsri_bytes *header,
                       uint64_t *total) {
    uint64_t bytes;
    for (size_t i = 0; i < n; i++)
        TRY(entry_bytes(path, &entries[i], &bytes));
    tsri_io_save_order(entries, n);
    json_t *root = json_object();
    tsr_status status =
        root ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", path);
    if (status == TSR_OK)
        status = fill_header(path, entries, n, metadata, n_metadata, root, total);
    if (status == TSR_OK)
        status = print_header(path, root, header);
    json_decref(root);
    return status;
}

tsr_status tsri_io_save_begin(const char *path, tsri_io_entry *entries, size_t n,
                              const char *const *metadata, size_t n_metadata, tsri_io_saver **out) {
    tsri_io_saver *saver = NULL;
    tsri_bytes header = {0};
    uint64_t total = 0;
    tsr_status status = plan(path, entries, n, metadata, n_metadata, &header, &total);
    if (status == TSR_OK)
        status = tsri_base_new(1, sizeof *saver, &saver);
    if (status == TSR_OK && !(saver->path = tsri_base_copy_text(path, strlen(path))))
        status = TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        status = tsri_base_writer_begin(path, &saver->writer);
    if (status == TSR_OK)
        status = tsri_base_writer_write(saver->writer, header.data, header.size);
    tsri_base_bytes_clear(&header);
    if (status == TSR_OK) {
        saver->wanted = total;
        *out = saver;
    } else if (saver)
        tsri_io_save_abandon(&saver);
    return status;
}

tsr_status tsri_io_save_write(tsri_io_saver *saver, const void *data, size_t bytes) {
    if (bytes > saver->wanted - saver->written)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s: more data was written than the %" PRIu64 " bytes of its tensors",
                              saver->path, saver->wanted);
    saver->written += bytes;
    return tsri_base_writer_write(saver->writer, data, bytes);
}

tsr_status tsri_io_save_commit(tsri_io_saver **saver) {
    tsri_io_saver *s = *saver;
    tsr_status status;
    if (s->written != s->wanted)
        status = tsri_base_fail(TSR_E_ARGUMENT,
                                "%s: %" PRIu64 " of %" PRIu64 " bytes of data were written",
                                s->path, s->written, s->wanted);
    else
        status = tsri_base_writer_commit(&s->writer); /* sets it to NULL */
    tsri_io_save_abandon(saver);
    return status;
}

void tsri_io_save_abandon(tsri_io_saver **saver) {
    if (!*saver)
        return;
    tsri_base_writer_abandon(&(*saver)->writer);
    free((*saver)->path);
    free(*saver);
    *saver = NULL;
}

tsr_status tsri_io_save_each(const char *path, tsri_io_entry *entries, size_t n,
                             const char *const *metadata, size_t n_metadata, tsri_io_write write,
                             void *data) {
    tsri_io_saver *saver = NULL;
    TRY(tsri_io_save_begin(path, entries, n, metadata, n_metadata, &saver));
    tsr_status status = TSR_OK;
    for (size_t i = 0; status == TSR_OK && i < n; i++)
        status = write(data, &entries[i], saver);
    if (status == TSR_OK)
        return tsri_io_save_commit(&saver);
    tsri_io_save_abandon(&saver);
    return status;
}

static tsr_status write_entry(void *path, const tsri_io_entry *entry, tsri_io_saver *saver) {
    uint64_t bytes;
    TRY(entry_bytes(path, entry, &bytes));
    return tsri_io_save_write(saver, entry->data, (size_t)bytes);
}

tsr_status tsri_io_save(const char *path, tsri_io_entry *entries, size_t n,
                        const char *const *metadata, size_t n_metadata) {
    return tsri_io_save_each(path, entries, n, metadata, n_metadata, write_entry, (char *)path);
}

/* ---- a file that several processes write ---- */

struct tsri_io_slices {
    tsri_file_writer *writer;
    char *path;
    uint64_t *begin; /* [n + 1] where each array begins in the file; where the last one ends */
    size_t n;
};

tsr_status tsri_io_slices_make(const char *path, tsri_io_entry *entries, size_t n,
                               const char *const *metadata, size_t n_metadata) {
    tsri_bytes header = {0};
    tsri_file_writer *writer = NULL;
    uint64_t total = 0;
    tsr_status status = plan(path, entries, n, metadata, n_metadata, &header, &total);
    if (status == TSR_OK)
        status = tsri_base_writer_begin(path, &writer);
    if (status == TSR_OK)
        status = tsri_base_writer_write(writer, header.data, header.size);
    if (status == TSR_OK && total) /* its last byte gives the file its size */
        status = tsri_base_writer_patch(writer, header.size + total - 1, "", 1);
    if (status == TSR_OK)
        status = tsri_base_writer_commit(&writer);
    tsri_base_writer_abandon(&writer);
    tsri_base_bytes_clear(&header);
    return status;
}

tsr_status tsri_io_slices_open(const char *path, tsri_io_entry *entries, size_t n,
                               const char *const *metadata, size_t n_metadata,
                               tsri_io_slices **out) {
    tsri_io_slices *s = NULL;
    tsri_bytes header = {0};
    uint64_t total = 0, bytes = 0;
    tsr_status status = plan(path, entries, n, metadata, n_metadata, &header, &total);
    if (status == TSR_OK)
        status = tsri_base_new(1, sizeof *s, &s);
    if (status == TSR_OK)
        status = tsri_base_new(n + 1, sizeof *s->begin, &s->begin);
    if (status == TSR_OK && !(s->path = tsri_base_copy_text(path, strlen(path))))
        status = TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        s->begin[0] = header.size;
    for (size_t i = 0; i < n && status == TSR_OK; i++) {
        status = entry_bytes(path, &entries[i], &bytes);
        s->begin[++s->n] = s->begin[i] + bytes;
    }
    if (status == TSR_OK)
        status = tsri_base_writer_join(path, &s->writer);
    tsri_base_bytes_clear(&header);
    if (status == TSR_OK)
        *out = s;
    else
        tsri_io_slices_abandon(&s);
    return status;
}

uint64_t tsri_io_slices_share(const tsri_io_slices *s, size_t i, uint32_t rank, uint32_t size,
                              uint64_t *first) {
    const uint64_t total = s->begin[s->n] - s->begin[0], each = total / size;
    const uint64_t from = s->begin[0] + each * rank,
                   to = rank + 1 == size ? s->begin[s->n] : from + each;
    const uint64_t begin = from > s->begin[i] ? from : s->begin[i],
                   end = to < s->begin[i + 1] ? to : s->begin[i + 1];
    *first = begin < end ? begin - s->begin[i] : 0;
    return begin < end ? end - begin : 0;
}

tsr_status tsri_io_slices_write(tsri_io_slices *s, size_t i, uint64_t first, const void *data,
                                uint64_t bytes) {
    const uint64_t size = s->begin[i + 1] - s->begin[i];
    if (first > size || bytes > size - first)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s: %" PRIu64 " bytes at byte %" PRIu64
                              " were written of an array that has %" PRIu64,
                              s->path, bytes, first, size);
    return tsri_base_writer_patch(s->writer, s->begin[i] + first, data, (size_t)bytes);
}

static void slices_free(tsri_io_slices **slices) {
    free((*slices)->begin);
    free((*slices)->path);
    free(*slices);
    *slices = NULL;
}

tsr_status tsri_io_slices_commit(tsri_io_slices **slices) {
    const tsr_status status = tsri_base_writer_commit(&(*slices)->writer);
    slices_free(slices);
    return status;
}

void tsri_io_slices_abandon(tsri_io_slices **slices) {
    if (!*slices)
        return;
    tsri_base_writer_abandon(&(*slices)->writer);
    slices_free(slices);
}
