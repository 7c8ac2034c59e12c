/* io/gguf.c - reads GGUF versions 2 and 3, in one file or split over several.
 *
 * source  github.com/ggml-org/ggml: docs/gguf.md, src/gguf.cpp
 */
#include "base/error.h"
#include "base/memory.h"
#include "io/cursor.h"
#include "io/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_KEYS = 65536,
    MAX_KEY = 65535,
    MAX_TENSORS = 1000000,
    MAX_NAME = 63,
    MAX_RANK = 4,
    MAX_ALIGNMENT = 1 << 20,
    MAX_PARTS = 4096,
    LEAST_KEY_BYTES = 8 + 1 + 4 + 1,       /* length, name, type, value */
    LEAST_TENSOR_BYTES = 8 + 1 + 4 + 4 + 8 /* length, name, rank, type, offset */
};
#define MAX_LENGTH (UINT64_C(1) << 30)

/* The types, by ggml's numbers; a missing number was never used, or its type was removed. */
static const struct {
    const char *name;
    int block, bytes;
    tsr_dtype dtype;
} types[] = {
    [0] = {"f32", 1, 4, TSR_F32},
    [1] = {"f16", 1, 2, TSR_F16},
    [2] = {"q4_0", 32, 18, TSR_GGML_Q4_0},
    [3] = {"q4_1", 32, 20, TSR_GGML_Q4_1},
    [6] = {"q5_0", 32, 22, TSR_GGML_Q5_0},
    [7] = {"q5_1", 32, 24, TSR_GGML_Q5_1},
    [8] = {"q8_0", 32, 34, TSR_GGML_Q8_0},
    [9] = {"q8_1", 32, 36, 0},
    [10] = {"q2_K", 256, 84, TSR_GGML_Q2_K},
    [11] = {"q3_K", 256, 110, TSR_GGML_Q3_K},
    [12] = {"q4_K", 256, 144, TSR_GGML_Q4_K},
    [13] = {"q5_K", 256, 176, TSR_GGML_Q5_K},
    [14] = {"q6_K", 256, 210, TSR_GGML_Q6_K},
    [15] = {"q8_K", 256, 292, 0},
    [16] = {"iq2_xxs", 256, 66, 0},
    [17] = {"iq2_xs", 256, 74, 0},
    [18] = {"iq3_xxs", 256, 98, 0},
    [19] = {"iq1_s", 256, 50, 0},
    [20] = {"iq4_nl", 32, 18, TSR_GGML_IQ4_NL},
    [21] = {"iq3_s", 256, 110, 0},
    [22] = {"iq2_s", 256, 82, 0},
    [23] = {"iq4_xs", 256, 136, TSR_GGML_IQ4_XS},
    [24] = {"i8", 1, 1, TSR_I8},
    [25] = {"i16", 1, 2, TSR_I16},
    [26] = {"i32", 1, 4, TSR_I32},
    [27] = {"i64", 1, 8, TSR_I64},
    [28] = {"f64", 1, 8, TSR_F64},
    [29] = {"iq1_m", 256, 56, 0},
    [30] = {"bf16", 1, 2, TSR_BF16},
    [34] = {"tq1_0", 256, 54, 0},
    [35] = {"tq2_0", 256, 66, 0},
    [39] = {"mxfp4", 32, 17, TSR_GGML_MXFP4},
    [40] = {"nvfp4", 64, 36, 0},
    [41] = {"q1_0", 128, 18, 0},
};

/* Reads the length of a text, or the number of items of a list that have at least `least` bytes
 * each, and checks it against the bytes that are left before anything is allocated. */
static tsr_status take_length(tsri_io_cursor *c, uint64_t limit, uint64_t least, const char *what,
                              size_t *out) {
    uint64_t n = 0;
    TRY(tsri_io_take(c, &n, sizeof n, what));
    if (n > limit)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: %s has length %" PRIu64 "; at most %" PRIu64 " is read",
                              c->file->path, what, n, limit);
    if (n > tsri_io_left(c) / least)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: %s has length %" PRIu64 ", but only %" PRIu64
                              " bytes are left in the file",
                              c->file->path, what, n, tsri_io_left(c));
    *out = (size_t)n;
    return TSR_OK;
}

/* Reads a name into `name`, which has room for limit + 1 bytes: it must not be empty, have a NUL or
 * be longer than `limit` bytes. */
static tsr_status take_name(tsri_io_cursor *c, char *name, size_t limit, const char *what,
                            size_t *length) {
    TRY(take_length(c, limit, 1, what, length));
    TRY(tsri_io_take(c, name, *length, what));
    name[*length] = 0;
    if (*length == 0)
        return tsri_base_fail(TSR_E_FORMAT, "%s: %s is empty", c->file->path, what);
    if (strlen(name) != *length)
        return tsri_base_fail(TSR_E_FORMAT, "%s: %s \"%s\" has a NUL", c->file->path, what, name);
    return TSR_OK;
}

static tsr_status take_texts(tsri_io_cursor *c, tsri_io_value *value) {
    size_t room = 0, used = 0;
    TRY(tsri_base_new(value->count + 1, sizeof *value->starts, &value->starts));
    for (size_t i = 0; i < value->count; i++) {
        size_t n = 0;
        TRY(take_length(c, MAX_LENGTH, 1, value->key, &n));
        TRY(tsri_base_grow(&value->data, &room, used + n + 1, 1));
        TRY(tsri_io_take(c, value->data + used, n, value->key));
        value->data[used + n] = 0;
        used += n + 1;
        value->starts[i + 1] = used;
    }
    return TSR_OK;
}

static tsr_status take_bools(const tsri_io_cursor *c, const tsri_io_value *value) {
    for (size_t i = 0; i < value->count; i++)
        if (value->data[i] != 0 && value->data[i] != 1)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: metadata \"%s\": a boolean is %d; it must be 0 or 1",
                                  c->file->path, value->key, (unsigned char)value->data[i]);
    return TSR_OK;
}

static tsr_status take_value(tsri_io_archive *archive, tsri_io_cursor *c, char *name) {
    size_t length;
    uint32_t item;
    tsri_io_value *value;
    TRY(take_name(c, name, MAX_KEY, "a metadata key", &length));
    TRY(tsri_io_add_value(archive, name, length, &value));
    TRY(tsri_io_take(c, &item, sizeof item, value->key));
    value->is_list = item == TSRI_IO_ITEM_LIST;
    if (value->is_list)
        TRY(tsri_io_take(c, &item, sizeof item, value->key));
    if (item >= TSRI_IO_ITEMS)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"%s\" has type %" PRIu32 "; types go from 0 to %d",
                              c->file->path, value->key, item, TSRI_IO_ITEMS - 1);
    if (item == TSRI_IO_ITEM_LIST)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"%s\" is a list of lists, which is not read",
                              c->file->path, value->key);
    value->item = (tsri_io_item)item;
    const size_t bytes = tsri_io_item_bytes(value->item);
    size_t count = 1;
    if (value->is_list)
        TRY(take_length(c, MAX_LENGTH, bytes ? bytes : 8, value->key, &count));
    value->count = count;
    if (item == TSRI_IO_ITEM_TEXT)
        return take_texts(c, value);
    TRY(tsri_base_new(count, bytes, &value->data));
    TRY(tsri_io_take(c, value->data, count * bytes, value->key));
    return item == TSRI_IO_ITEM_BOOL ? take_bools(c, value) : TSR_OK;
}

static tsr_status take_counts(tsri_io_cursor *c, uint64_t *tensors, uint64_t *keys) {
    char magic[4];
    uint32_t version;
    const char *path = c->file->path;
    TRY(tsri_io_take(c, magic, sizeof magic, "its first bytes"));
    if (memcmp(magic, "GGUF", 4) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s does not begin with \"GGUF\", so it is not a GGUF file", path);
    TRY(tsri_io_take(c, &version, sizeof version, "its version"));
    if (version == 1)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s is GGUF version 1; versions 2 and 3 are read: convert the model again", path);
    if (version != 2 && version != 3)
        return tsri_base_fail(
            version && (version & 0xffff) == 0 ? TSR_E_UNSUPPORTED : TSR_E_FORMAT,
            "%s is GGUF version %" PRIu32 "; versions 2 and 3 are read%s", path, version,
            version && (version & 0xffff) == 0
                ? " (it seems to be a big-endian file: convert it to little-endian)"
                : "");
    TRY(tsri_io_take(c, tensors, sizeof *tensors, "its number of tensors"));
    TRY(tsri_io_take(c, keys, sizeof *keys, "its number of metadata keys"));
    if (*tensors > MAX_TENSORS || *tensors > tsri_io_left(c) / LEAST_TENSOR_BYTES)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s claims %" PRIu64 " tensors; %" PRIu64
                              " bytes cannot hold them, or they are more than %d",
                              path, *tensors, tsri_io_left(c), MAX_TENSORS);
    if (*keys > MAX_KEYS || *keys > tsri_io_left(c) / LEAST_KEY_BYTES)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s claims %" PRIu64 " metadata keys; %" PRIu64
                              " bytes cannot hold them, or they are more than %d",
                              path, *keys, tsri_io_left(c), MAX_KEYS);
    return TSR_OK;
}

/* Reads general.alignment; 32 where it is missing. */
static tsr_status find_alignment(const tsri_io_archive *archive, const char *path,
                                 uint64_t *alignment) {
    *alignment = 32;
    const tsri_io_value *value = tsri_io_meta(archive, "general.alignment");
    if (!value)
        return TSR_OK;
    if (value->is_list || value->item != TSRI_IO_ITEM_U32)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"general.alignment\" must be a 32-bit unsigned number",
                              path);
    const int64_t n = tsri_io_list_int(value, 0);
    if (n < 1 || n > MAX_ALIGNMENT || (n & (n - 1)) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"general.alignment\" is %" PRId64
                              "; it must be a power of two up to %d",
                              path, n, MAX_ALIGNMENT);
    *alignment = (uint64_t)n;
    return TSR_OK;
}

/* Reads dims, which the file has fastest first; the archive has them slowest first. */
static tsr_status take_dims(tsri_io_cursor *c, const char *name, tsri_io_array *array) {
    uint32_t rank;
    uint64_t dims[MAX_RANK];
    TRY(tsri_io_take(c, &rank, sizeof rank, name));
    if (rank > MAX_RANK)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" has %" PRIu32 " dims; at most %d are allowed",
                              c->file->path, name, rank, MAX_RANK);
    TRY(tsri_io_take(c, dims, rank * sizeof *dims, name));
    array->rank = (int)rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] > INT64_MAX)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\": dim %" PRIu32 " is negative or above 2^63",
                                  c->file->path, name, i);
        array->dims[rank - 1 - i] = (int64_t)dims[i];
    }
    char what[MAX_NAME + 400];
    snprintf(what, sizeof what, "%.300s: tensor \"%s\"", c->file->path, name);
    return tsri_io_count_elements(array, what);
}

static tsr_status take_tensor(tsri_io_archive *archive, tsri_io_cursor *c) {
    char name[MAX_NAME + 1];
    size_t length;
    uint32_t type;
    tsri_io_array array = {0};
    TRY(take_name(c, name, MAX_NAME, "a tensor's name", &length));
    TRY(take_dims(c, name, &array));
    TRY(tsri_io_take(c, &type, sizeof type, name));
    TRY(tsri_io_take(c, &array.offset, sizeof array.offset, name));
    if (type >= sizeof types / sizeof *types || !types[type].name)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" has type %" PRIu32
                              ", which GGUF does not define, or no longer defines",
                              c->file->path, name, type);
    array.type_name = types[type].name;
    array.dtype = types[type].dtype;
    const uint64_t row = array.rank ? (uint64_t)array.dims[array.rank - 1] : 1,
                   block = (uint64_t)types[type].block;
    if (row % block != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" of type %s has rows of %" PRIu64
                              " elements, which is not a multiple of its block of %d",
                              c->file->path, name, array.type_name, row, types[type].block);
    if (__builtin_mul_overflow(array.elements / block, (uint64_t)types[type].bytes, &array.bytes))
        return tsri_base_fail(TSR_E_FORMAT, "%s: tensor \"%s\": its size overflows", c->file->path,
                              name);
    return tsri_io_add_array(archive, &array, name, length);
}

/* Checks that each tensor begins exactly where the one before it ends, rounded up to the alignment,
 * and makes the offsets relative to the file. */
static tsr_status place(tsri_io_archive *archive, const tsri_io_cursor *c, uint64_t alignment) {
    const uint64_t base = (c->at + alignment - 1) / alignment * alignment;
    uint64_t expected = 0;
    for (size_t i = 0; i < archive->n_arrays; i++) {
        tsri_io_array *array = &archive->arrays[i];
        if (array->offset != expected)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\" has offset %" PRIu64 "; %" PRIu64
                                  " is the next one aligned to %" PRIu64,
                                  c->file->path, array->name, array->offset, expected, alignment);
        uint64_t end;
        if (__builtin_add_overflow(base + expected, array->bytes, &end) || end > c->file->size)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s: tensor \"%s\" of %" PRIu64
                                  " bytes ends after the end of the file; the file is cut off",
                                  c->file->path, array->name, array->bytes);
        array->offset = base + expected;
        expected = (end - base + alignment - 1) / alignment *
                   alignment; /* end is within a file, so this cannot overflow */
    }
    return TSR_OK;
}

/* Reads one file into an empty archive. */
static tsr_status read_one(tsri_io_archive *archive, const char *path) {
    tsri_io_cursor c = {0};
    char *name = NULL;
    tsri_file *file;
    TRY(tsri_io_add_file(archive, path, &file));
    uint64_t tensors = 0, keys = 0, alignment = 0;
    tsr_status status = tsri_io_cursor_begin(&c, file);
    if (status == TSR_OK)
        status = tsri_base_new(MAX_KEY + 1, 1, &name);
    if (status == TSR_OK)
        status = take_counts(&c, &tensors, &keys);
    for (uint64_t i = 0; status == TSR_OK && i < keys; i++)
        status = take_value(archive, &c, name);
    for (uint64_t i = 0; status == TSR_OK && i < tensors; i++)
        status = take_tensor(archive, &c);
    if (status == TSR_OK)
        status = tsri_io_seal(archive);
    if (status == TSR_OK)
        status = find_alignment(archive, path, &alignment);
    if (status == TSR_OK)
        status = place(archive, &c, alignment);
    tsri_io_cursor_end(&c);
    free(name);
    return status;
}

static bool is_text(const tsri_io_value *value, const char *key, const char *text) {
    return !strcmp(value->key, key) && !value->is_list && value->item == TSRI_IO_ITEM_TEXT &&
           !strcmp(value->data, text);
}

bool tsri_io_is_adapter(const char *path) {
    static const char group[] = "general."; /* writers put these keys first */
    tsri_io_archive archive = {.format = TSRI_IO_GGUF};
    tsri_io_cursor c = {0};
    char *name = NULL;
    tsri_file *file;
    uint64_t tensors = 0, keys = 0;
    bool is = false, more = true;
    tsr_status status = tsri_io_add_file(&archive, path, &file);
    if (status == TSR_OK)
        status = tsri_io_cursor_begin(&c, file);
    if (status == TSR_OK)
        status = tsri_base_new(MAX_KEY + 1, 1, &name);
    if (status == TSR_OK)
        status = take_counts(&c, &tensors, &keys);
    for (uint64_t i = 0; status == TSR_OK && i < keys && more && !is; i++) {
        status = take_value(&archive, &c, name);
        if (status != TSR_OK)
            break;
        is = is_text(&archive.values[i], "general.type", "adapter");
        more = !strncmp(archive.values[i].key, group, sizeof group - 1);
    }
    tsri_io_cursor_end(&c);
    tsri_io_clear(&archive);
    free(name);
    return is;
}

/* Finds which part of how many a file is: 0 of 1 where it is not split. */
static tsr_status find_part(const tsri_io_archive *archive, int64_t *part, int64_t *count) {
    *part = 0;
    *count = 1;
    TRY(tsri_io_meta_int(archive, "split.count", 0, MAX_PARTS, count));
    *count = *count < 1 ? 1 : *count;
    return tsri_io_meta_int(archive, "split.no", 0, *count - 1, part);
}

/* Moves the files and arrays of a part to the end of `whole`, which keeps the metadata of the first
 * part. */
static tsr_status append(tsri_io_archive *whole, tsri_io_archive *part) {
    if (whole->n_files == 0) {
        char *path = part->path;
        part->path = whole->path;
        *whole = *part;
        *part = (tsri_io_archive){.path = path};
        return TSR_OK;
    }
    TRY(tsri_base_grow(&whole->files, &whole->files_room, whole->n_files + part->n_files,
                       sizeof *whole->files));
    TRY(tsri_base_grow(&whole->arrays, &whole->arrays_room, whole->n_arrays + part->n_arrays,
                       sizeof *whole->arrays));
    for (size_t i = 0; i < part->n_arrays; i++) {
        whole->arrays[whole->n_arrays] = part->arrays[i];
        whole->arrays[whole->n_arrays++].file += whole->n_files;
    }
    for (size_t i = 0; i < part->n_files; i++)
        whole->files[whole->n_files++] = part->files[i];
    part->n_arrays = part->n_files = 0;
    return TSR_OK;
}

/* Reads part `at` of `count`, and checks that the file is that part. */
static tsr_status read_part(tsri_io_archive *archive, char *path, int64_t at, int64_t count) {
    int64_t part, parts;
    archive->path = path;
    if (!tsri_base_is_file(path))
        return tsri_base_fail(TSR_E_IO,
                              "%s is missing: part %" PRId64 " of %" PRId64
                              " of a split model; download it too",
                              path, at + 1, count);
    TRY(read_one(archive, path));
    TRY(find_part(archive, &part, &parts));
    if (part != at || parts != count)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s says that it is part %" PRId64 " of %" PRId64 "; part %" PRId64
                              " of %" PRId64 " was expected",
                              path, part + 1, parts, at + 1, count);
    return TSR_OK;
}

/* Reads all parts of a split model; `path` names part `given`. */
static tsr_status read_split(tsri_io_archive *whole, const char *path, int64_t given,
                             int64_t count) {
    char ending[64];
    snprintf(ending, sizeof ending, "-%05" PRId64 "-of-%05" PRId64 ".gguf", given + 1, count);
    const size_t length = strlen(path), tail = strlen(ending);
    if (length < tail || strcmp(path + length - tail, ending) != 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s is part %" PRId64 " of %" PRId64
                              " of a split model; its name must end in %s for the others "
                              "to be found",
                              path, given + 1, count, ending);
    for (int64_t i = 0; i < count; i++) {
        tsri_io_archive part = {.format = TSRI_IO_GGUF};
        tsri_bytes name = {0};
        tsr_status status =
            tsri_base_bytes_printf(&name, "%.*s-%05" PRId64 "-of-%05" PRId64 ".gguf",
                                   (int)(length - tail), path, i + 1, count);
        if (status == TSR_OK)
            status = read_part(&part, name.data, i, count);
        if (status == TSR_OK)
            status = append(whole, &part);
        part.path = NULL; /* its path is `name` */
        tsri_io_clear(&part);
        tsri_base_bytes_clear(&name);
        TRY(status);
    }
    TRY(tsri_io_seal(whole));
    int64_t total = (int64_t)whole->n_arrays;
    return tsri_io_meta_int(whole, "split.tensors.count", total, total, &total);
}

tsr_status tsri_io_read_gguf(tsri_io_archive *archive, const char *path) {
    int64_t part, count;
    TRY(read_one(archive, path));
    TRY(find_part(archive, &part, &count));
    if (count == 1)
        return TSR_OK;
    char *own = archive->path;
    archive->path = NULL;
    tsri_io_clear(archive);
    archive->path = own;
    return read_split(archive, path, part, count);
}
