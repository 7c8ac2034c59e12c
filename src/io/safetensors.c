/* io/safetensors.c - reads a safetensors file, and checks every rule of the format.
 *
 * source  github.com/huggingface/safetensors, README.md "Format" and safetensors/src/tensor.rs
 */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "io/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_HEADER = 100000000, /* the limit of the official reader */
    MAX_DEPTH = 8,
    MAX_TENSORS = 1000000,
    MAX_NAME = 1024
};
#define MAX_DIM (INT64_C(1) << 53)

static const struct {
    const char *name;
    int bits;
    tsr_dtype dtype;
} types[] = {
    {"F32", 32, TSR_F32}, {"F16", 16, TSR_F16},  {"BF16", 16, TSR_BF16}, {"F64", 64, TSR_F64},
    {"I64", 64, TSR_I64}, {"I32", 32, TSR_I32},  {"I16", 16, TSR_I16},   {"I8", 8, TSR_I8},
    {"U8", 8, TSR_U8},    {"BOOL", 8, TSR_BOOL}, {"U16", 16, 0},         {"U32", 32, 0},
    {"U64", 64, 0},       {"C64", 64, 0},        {"F8_E4M3", 8, 0},      {"F8_E5M2", 8, 0},
    {"F8_E8M0", 8, 0},    {"F8_E4M3FNUZ", 8, 0}, {"F8_E5M2FNUZ", 8, 0},  {"F6_E2M3", 6, 0},
    {"F6_E3M2", 6, 0},    {"F4", 4, 0},
};

/* The entries of tensors are read from a header whose data begins at byte `base` and has `size`
 * bytes. */
typedef struct header {
    const char *path;
    uint64_t base, size;
    size_t file;
} header;

static tsr_status refuse(const header *h, const char *name, const char *why) {
    return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\": %s", h->path, name, why);
}

static tsr_status read_type(const header *h, const char *name, const json_t *value,
                            tsri_io_array *array, int *bits) {
    if (!json_is_string(value))
        return refuse(h, name, "\"dtype\" must be a text");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, json_string_value(value)) == 0) {
            array->type_name = types[i].name;
            array->dtype = types[i].dtype;
            *bits = types[i].bits;
            return TSR_OK;
        }
    return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\": safetensors has no dtype \"%.40s\"",
                          h->path, name, json_string_value(value));
}

static tsr_status read_shape(const header *h, const char *name, const json_t *value,
                             tsri_io_array *array) {
    if (!json_is_array(value))
        return refuse(h, name, "\"shape\" must be a list");
    const size_t rank = json_array_size(value);
    if (rank > TSRI_IO_MAX_RANK)
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" has %zu dims; at most %d are read",
                              h->path, name, rank, TSRI_IO_MAX_RANK);
    array->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *dim = json_array_get(value, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0 ||
            json_integer_value(dim) > MAX_DIM)
            return refuse(h, name,
                          "every item of \"shape\" must be a whole number from 0 to 2^53, without "
                          "an exponent");
        array->dims[i] = json_integer_value(dim);
    }
    return TSR_OK;
}

static tsr_status read_offsets(const header *h, const char *name, const json_t *value,
                               tsri_io_array *array) {
    if (!json_is_array(value) || json_array_size(value) != 2)
        return refuse(h, name, "\"data_offsets\" must be a list of two whole numbers");
    const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    if (!json_is_integer(begin) || !json_is_integer(end) || json_integer_value(begin) < 0 ||
        json_integer_value(end) < 0)
        return refuse(h, name, "\"data_offsets\" must be a list of two whole numbers");
    const uint64_t first = (uint64_t)json_integer_value(begin),
                   last = (uint64_t)json_integer_value(end);
    if (first > last)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" begins at byte %" PRIu64
                              " and ends before it, at %" PRIu64,
                              h->path, name, first, last);
    if (last > h->size)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" ends at byte %" PRIu64 " of %" PRIu64
                              " bytes of data; the file is cut off, or its header is wrong",
                              h->path, name, last, h->size);
    array->offset = h->base + first;
    array->bytes = last - first;
    return TSR_OK;
}

static tsr_status read_tensor(tsri_io_archive *archive, const header *h, const char *name,
                              const json_t *entry) {
    const size_t length = strlen(name);
    if (length == 0 || length > MAX_NAME)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: a tensor's name has %zu bytes; it must have 1 to %d", h->path,
                              length, MAX_NAME);
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (!dtype || !shape || !offsets || json_object_size(entry) != 3)
        return refuse(
            h, name,
            "it must be an object of \"dtype\", \"shape\" and \"data_offsets\", and nothing else");
    tsri_io_array array = {.file = h->file};
    int bits = 0;
    TRY(read_type(h, name, dtype, &array, &bits));
    TRY(read_shape(h, name, shape, &array));
    TRY(read_offsets(h, name, offsets, &array));
    char what[MAX_NAME + 64];
    snprintf(what, sizeof what, "%.40s: tensor \"%s\"", h->path, name);
    TRY(tsri_io_count_elements(&array, what));
    uint64_t total;
    if (__builtin_mul_overflow(array.elements, (uint64_t)bits, &total))
        return refuse(h, name, "the product of its dims overflows");
    if (total % 8 != 0)
        return refuse(h, name, "its last element does not end on a whole byte");
    if (total / 8 != array.bytes)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\": dtype and shape need %" PRIu64
                              " bytes, its data_offsets give %" PRIu64,
                              h->path, name, total / 8, array.bytes);
    return tsri_io_add_array(archive, &array, name, length);
}

static tsr_status read_metadata(tsri_io_archive *archive, const char *path, json_t *entry) {
    if (!json_is_object(entry))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"__metadata__\" must be an object of texts",
                              path);
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value) {
        if (!json_is_string(value))
            return tsri_base_fail(TSR_E_FORMAT, "%s: \"__metadata__\": \"%.200s\" must be a text",
                                  path, key);
        TRY(tsri_io_add_text(archive, key, json_string_value(value), json_string_length(value)));
    }
    return TSR_OK;
}

static int by_offset(const void *a, const void *b) {
    const tsri_io_array *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Checks that the tensors from index `first` on follow one another from the first byte of data to
 * the last: without a gap, an overlap, or bytes after the last. */
static tsr_status check_cover(const header *h, tsri_io_archive *archive, size_t first) {
    const size_t n = archive->n_arrays - first;
    tsri_io_array *arrays = n ? archive->arrays + first : NULL;
    if (n > 1)
        qsort(arrays, n, sizeof *arrays, by_offset);
    uint64_t end = h->base;
    const char *before = "the header";
    for (size_t i = 0; i < n; i++) {
        if (arrays[i].offset < end)
            return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\" overlaps \"%s\"", h->path,
                                  arrays[i].name, before);
        if (arrays[i].offset > end)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: there is a gap of %" PRIu64
                                  " bytes before tensor \"%s\"; no gap is allowed",
                                  h->path, arrays[i].offset - end, arrays[i].name);
        end = arrays[i].offset + arrays[i].bytes;
        before = arrays[i].name;
    }
    if (end != h->base + h->size)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: %" PRIu64
                              " bytes follow the last tensor; no bytes are allowed there",
                              h->path, h->base + h->size - end);
    return TSR_OK;
}

static tsr_status read_header(const tsri_file *file, header *h, json_t **out) {
    uint64_t length;
    if (file->size < sizeof length)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s has %" PRIu64
            " bytes; a safetensors file begins with 8 bytes that give its header's length",
            file->path, file->size);
    TRY(tsri_base_file_read(file, 0, &length, sizeof length));
    if (length == 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: the header's length is 0, so it is not a safetensors file",
                              file->path);
    if (length > MAX_HEADER)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: the header's length is %" PRIu64
                              ", and at most %d bytes are allowed, so it is not a safetensors file",
                              file->path, length, MAX_HEADER);
    if (length > file->size - sizeof length)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: the header's length is %" PRIu64 ", but only %" PRIu64
                              " bytes follow; the file is cut off",
                              file->path, length, file->size - sizeof length);
    char *text = NULL;
    TRY(tsri_base_new((size_t)length, 1, &text));
    tsr_status status = tsri_base_file_read(file, sizeof length, text, (size_t)length);
    if (status == TSR_OK && *text != '{')
        status = tsri_base_fail(
            TSR_E_FORMAT, "%s: the header does not begin with '{', so it is not a safetensors file",
            file->path);
    if (status == TSR_OK)
        status = tsri_base_json_parse(text, (size_t)length, MAX_DEPTH, file->path, out);
    free(text);
    h->path = file->path;
    h->base = sizeof length + length;
    h->size = file->size - h->base;
    return status;
}

tsr_status tsri_io_read_safetensors(tsri_io_archive *archive, const char *path) {
    header h = {.file = archive->n_files};
    const size_t first = archive->n_arrays;
    tsri_file *file;
    json_t *root = NULL;
    TRY(tsri_io_add_file(archive, path, &file));
    tsr_status status = read_header(file, &h, &root);
    if (status == TSR_OK && json_object_size(root) > MAX_TENSORS)
        status = tsri_base_fail(TSR_E_FORMAT, "%s has %zu tensors; at most %d are read", path,
                                json_object_size(root), MAX_TENSORS);
    const char *name;
    json_t *entry;
    if (status == TSR_OK)
        json_object_foreach(root, name, entry) {
            status = strcmp(name, "__metadata__") == 0 ? read_metadata(archive, path, entry)
                                                       : read_tensor(archive, &h, name, entry);
            if (status != TSR_OK)
                break;
        }
    if (status == TSR_OK)
        status = check_cover(&h, archive, first);
    json_decref(root);
    return status;
}
