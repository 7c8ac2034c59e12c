/* io/ctranslate2.c - reads CTranslate2's model.bin, binary versions 1 to 6.
 *
 *   file      version u32; from version 2 on spec text, revision u32; count u32, variables; from
 *             version 3 on also count u32, aliases: alias text, name text
 *   text      length u16 with its NUL, bytes, NUL
 *   variable  name text, rank u8, dims u32 each, then
 *             version 1 to 3: bytes of an item u8 (4 f32, 2 i16, 1 i8), items u32, data
 *             version 4 on: type u8, bytes u32, data
 *   weights   i8 and i16 come with NAME_scale, f32, one number or one for each row: the weight is
 *             data / scale
 *   names     in revision 1 of an encoder-decoder, as all files of version 1 are, OpenNMT-tf's
 *
 * source  github.com/OpenNMT/CTranslate2: python/ctranslate2/specs/model_spec.py,
 *         src/models/model.cc, src/models/transformer.cc (map_v1_variable_name)
 */
#include "base/error.h"
#include "base/memory.h"
#include "io/ctranslate2_names.h"
#include "io/cursor.h"
#include "io/format.h"
#include "tensor/convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOWEST_VERSION = 1,
    HIGHEST_VERSION = 6,
    SPECS_SINCE = 2,
    ALIASES_SINCE = 3,
    TYPES_SINCE = 4,
    MAX_TEXT = 65535,
    MAX_VARIABLES = 1000000,
    LEAST_VARIABLE_BYTES = 2 + 1 + 1 + 1 + 4, /* name, rank, type, bytes */
    LEAST_ALIAS_BYTES = 2 * (2 + 1)
};

/* The types, by CTranslate2's numbers. */
static const struct {
    const char *name;
    tsr_dtype dtype;
    int bytes;
} types[] = {{"float32", TSR_F32, 4}, {"int8", TSR_I8, 1},     {"int16", TSR_I16, 2},
             {"int32", TSR_I32, 4},   {"float16", TSR_F16, 2}, {"bfloat16", TSR_BF16, 2}};

/* The type by the bytes of an item: older versions had no numbers of types. */
static const int type_of_size[] = {-1, 1, 2, -1, 0};

typedef struct reader {
    /* Aliases: arrays only, which are moved to archive at the end */
    tsri_io_archive *archive, aliases;
    tsri_io_cursor cursor;
    char *text, *other; /* MAX_TEXT + 1 bytes each */
    tsri_bytes name;    /* of a variable, in today's words */
    uint32_t version;
    bool old_names; /* the file has those of OpenNMT-tf */
} reader;

/* ---- what the file says ---- */

static tsr_status take_text(reader *r, char *out, const char *what) {
    uint16_t length = 0;
    TRY(tsri_io_take(&r->cursor, &length, sizeof length, what));
    TRY(tsri_io_take(&r->cursor, out, length, what));
    out[length] = 0;
    if (length == 0 || strlen(out) + 1 != length || length == 1)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: %s before byte %" PRIu64
                              " is empty, or not a text that ends with its only NUL; the file is "
                              "damaged",
                              r->cursor.file->path, what, r->cursor.at);
    return TSR_OK;
}

static tsr_status take_count(reader *r, const char *what, uint64_t least, uint32_t *out) {
    TRY(tsri_io_take(&r->cursor, out, sizeof *out, what));
    if (*out > MAX_VARIABLES || *out > tsri_io_left(&r->cursor) / least)
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: %s is %" PRIu32 "; %" PRIu64 " bytes cannot hold them, or they are more than %d",
            r->cursor.file->path, what, *out, tsri_io_left(&r->cursor), MAX_VARIABLES);
    return TSR_OK;
}

static tsr_status take_head(reader *r, uint32_t *revision) {
    const char *path = r->cursor.file->path;
    TRY(tsri_io_take(&r->cursor, &r->version, sizeof r->version, "its version"));
    if (r->version < LOWEST_VERSION || r->version > HIGHEST_VERSION)
        return tsri_base_fail(r->version && r->version < 256 ? TSR_E_UNSUPPORTED : TSR_E_FORMAT,
                              "%s is a CTranslate2 model of binary version %" PRIu32
                              "; versions %d to %d are read: convert the model again; a file of "
                              "another format must not have this name",
                              path, r->version, LOWEST_VERSION, HIGHEST_VERSION);
    strcpy(r->text, TSRI_IO_CTRANSLATE2_FIRST_SPEC);
    *revision = 1;
    if (r->version >= SPECS_SINCE) {
        TRY(take_text(r, r->text, "the name of its specification"));
        TRY(tsri_io_take(&r->cursor, revision, sizeof *revision, "its revision"));
    }
    r->old_names = tsri_io_ctranslate2_has_old_names(r->text, *revision);
    const uint32_t version = r->version;
    TRY(tsri_io_add_text(r->archive, "spec", r->text, strlen(r->text)));
    TRY(tsri_io_add_number(r->archive, "binary_version", TSRI_IO_ITEM_U32, &version));
    return tsri_io_add_number(r->archive, "revision", TSRI_IO_ITEM_U32, revision);
}

/* Reads the type and the number of bytes of a variable, which must agree with its dims. */
static tsr_status take_type(reader *r, const char *what, tsri_io_array *array) {
    unsigned char code = 0;
    uint32_t count = 0;
    TRY(tsri_io_take(&r->cursor, &code, sizeof code, what));
    TRY(tsri_io_take(&r->cursor, &count, sizeof count, what));
    const bool numbered = r->version >= TYPES_SINCE;
    const int type = numbered                                                   ? code
                     : code < (int)(sizeof type_of_size / sizeof *type_of_size) ? type_of_size[code]
                                                                                : -1;
    if (type < 0 || type >= (int)(sizeof types / sizeof *types))
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s: %s has %s %d, which CTranslate2 does not define; the file is damaged",
            r->cursor.file->path, what, numbered ? "type" : "an item size of", code);
    array->type_name = types[type].name;
    array->dtype = types[type].dtype;
    const uint64_t size = (uint64_t)types[type].bytes;
    if (__builtin_mul_overflow(array->elements, size, &array->bytes) ||
        array->bytes != (numbered ? count : count * size))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: %s has %" PRIu32 " %s of data; its dims need %" PRIu64
                              " elements of %" PRIu64 " bytes",
                              r->cursor.file->path, what, count, numbered ? "bytes" : "items",
                              array->elements, size);
    return TSR_OK;
}

static tsr_status take_name(reader *r) {
    TRY(take_text(r, r->text, "the name of a variable"));
    r->name.size = 0;
    TRY(tsri_base_bytes_printf(&r->name, "%s", r->text));
    if (r->old_names)
        TRY(tsri_io_ctranslate2_rename(&r->name));
    return r->name.size ? TSR_OK
                        : tsri_base_fail(TSR_E_FORMAT,
                                         "%s: the name \"%s\" before byte %" PRIu64
                                         " is not a variable of a Transformer; the file is damaged",
                                         r->cursor.file->path, r->text, r->cursor.at);
}

static tsr_status take_variable(reader *r) {
    char what[400];
    unsigned char rank = 0;
    uint32_t dims[TSRI_IO_MAX_RANK] = {0};
    tsri_io_array array = {0};
    TRY(take_name(r));
    snprintf(what, sizeof what, "variable \"%.300s\"", r->name.data);
    TRY(tsri_io_take(&r->cursor, &rank, sizeof rank, what));
    if (rank > TSRI_IO_MAX_RANK)
        return tsri_base_fail(TSR_E_FORMAT, "%s: %s has %d dims; at most %d are read",
                              r->cursor.file->path, what, rank, TSRI_IO_MAX_RANK);
    TRY(tsri_io_take(&r->cursor, dims, rank * sizeof *dims, what));
    array.rank = rank;
    for (int i = 0; i < rank; i++)
        array.dims[i] = dims[i];
    TRY(tsri_io_count_elements(&array, what));
    TRY(take_type(r, what, &array));
    array.offset = r->cursor.at;
    TRY(tsri_io_pass(&r->cursor, array.bytes, what));
    return tsri_io_add_array(r->archive, &array, r->name.data, r->name.size);
}

/* Finds the array "name_scale", or NULL. The archive is sealed. */
static const tsri_io_array *scale_of(const tsri_io_archive *archive, const char *name) {
    tsri_bytes full = {0};
    const tsri_io_array *scale = NULL;
    if (tsri_base_bytes_printf(&full, "%s_scale", name) == TSR_OK)
        scale = tsri_io_find(archive, full.data);
    tsri_base_bytes_clear(&full);
    return scale;
}

/* Reads an alias, another name for a variable of the file; it shares the scale of that variable. */
static tsr_status take_alias(reader *r) {
    TRY(take_text(r, r->text, "an alias"));
    TRY(take_text(r, r->other, "an alias's variable"));
    const tsri_io_array *array = tsri_io_find(r->archive, r->other);
    const tsri_io_array *scale = scale_of(r->archive, r->other);
    if (!array)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" is an alias of \"%s\", which is not in the file",
                              r->cursor.file->path, r->text, r->other);
    TRY(tsri_io_add_array(&r->aliases, array, r->text, strlen(r->text)));
    if (!scale)
        return TSR_OK;
    tsri_bytes name = {0};
    tsr_status status = tsri_base_bytes_printf(&name, "%s_scale", r->text);
    if (status == TSR_OK)
        status = tsri_io_add_array(&r->aliases, scale, name.data, strlen(name.data));
    tsri_base_bytes_clear(&name);
    return status;
}

static tsr_status move_aliases(reader *r) {
    tsri_io_archive *to = r->archive, *from = &r->aliases;
    TRY(tsri_base_grow(&to->arrays, &to->arrays_room, to->n_arrays + from->n_arrays,
                       sizeof *to->arrays));
    if (from->n_arrays)
        memcpy(to->arrays + to->n_arrays, from->arrays, from->n_arrays * sizeof *to->arrays);
    to->n_arrays += from->n_arrays;
    from->n_arrays = 0;
    return TSR_OK;
}

/* ---- what it means ---- */

/* Gives an array of integers its divisors. */
static tsr_status join_scale(tsri_io_archive *archive, tsri_io_array *array, bool *taken) {
    const char *path = archive->files[array->file]->path;
    if ((array->dtype != TSR_I8 && array->dtype != TSR_I16) || array->rank == 0)
        return TSR_OK;
    const tsri_io_array *scale = scale_of(archive, array->name);
    if (!scale)
        return TSR_OK;
    const bool whole = scale->elements == 1,
               rows = scale->rank == 1 && scale->dims[0] == array->dims[0];
    if (scale->dtype != TSR_F32 || (!whole && !rows))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"%s\" is %s of %" PRIu64 " elements; float32 is needed, one "
                              "number or one for each of the %" PRId64 " rows of \"%s\"",
                              path, scale->name, scale->type_name, scale->elements, array->dims[0],
                              array->name);
    array->divisors = scale->offset;
    array->n_divisors = scale->elements;
    taken[scale - archive->arrays] = true;
    return TSR_OK;
}

/* Makes a single number metadata. */
static tsr_status add_scalar(tsri_io_archive *archive, const tsri_io_array *array) {
    static const tsri_io_item items[] = {[TSR_F32] = TSRI_IO_ITEM_F32,
                                         [TSR_I32] = TSRI_IO_ITEM_I32,
                                         [TSR_I16] = TSRI_IO_ITEM_I16,
                                         [TSR_I8] = TSRI_IO_ITEM_I8};
    unsigned char number[4] = {0};
    uint16_t half;
    TRY(tsri_base_file_read(archive->files[array->file], array->offset, number,
                            (size_t)array->bytes));
    if (array->dtype != TSR_F16 && array->dtype != TSR_BF16)
        return tsri_io_add_number(archive, array->name, items[array->dtype], number);
    memcpy(&half, number, sizeof half);
    const float wide =
        array->dtype == TSR_F16 ? tsri_tensor_f16_to_f32(half) : tsri_tensor_bf16_to_f32(half);
    return tsri_io_add_number(archive, array->name, TSRI_IO_ITEM_F32, &wide);
}

/* Makes a vector of int8, which are the letters of a text, metadata. */
static tsr_status add_text(tsri_io_archive *archive, const tsri_io_array *array) {
    char *text = NULL;
    TRY(tsri_base_new((size_t)array->bytes + 1, 1, &text));
    tsr_status status =
        tsri_base_file_read(archive->files[array->file], array->offset, text, (size_t)array->bytes);
    if (status == TSR_OK)
        status = tsri_io_add_text(archive, array->name, text, (size_t)array->bytes);
    free(text);
    return status;
}

/* Writes CTranslate2's names with "." between their parts and Hugging Face's words at their
 * ends. */
static tsr_status respell(tsri_io_array *array) {
    static const struct {
        const char *end, *becomes;
    } ends[] = {{"/gamma", ".weight"},
                {"/beta", ".bias"},
                {"/encodings", ".weight"},
                {"encoder/embeddings/weight", "encoder.embeddings_0.weight"},
                {"/relative_attention_bias", ".relative_attention_bias.weight"}};
    const size_t n = strlen(array->name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t m = strlen(ends[i].end);
        if (n < m || strcmp(array->name + n - m, ends[i].end) != 0)
            continue;
        tsri_bytes name = {0};
        TRY(tsri_base_bytes_printf(&name, "%.*s%s", (int)(n - m), array->name, ends[i].becomes));
        free((char *)(uintptr_t)array->name);
        array->name = name.data;
        break;
    }
    for (char *c = (char *)(uintptr_t)array->name; *c; c++)
        if (*c == '/')
            *c = '.';
    return TSR_OK;
}

/* Moves scales to their weights, and scalars and texts to the metadata; gives the other arrays
 * their new names. */
static tsr_status sort_out(tsri_io_archive *archive, bool *taken) {
    size_t kept = 0;
    for (size_t i = 0; i < archive->n_arrays; i++)
        TRY(join_scale(archive, &archive->arrays[i], taken));
    for (size_t i = 0; i < archive->n_arrays; i++) {
        const tsri_io_array *array = &archive->arrays[i];
        const bool is_text = array->rank == 1 && array->dtype == TSR_I8 && !array->n_divisors;
        if (taken[i] || (array->rank > 0 && !is_text))
            continue;
        TRY(is_text ? add_text(archive, array) : add_scalar(archive, array));
        taken[i] = true;
    }
    for (size_t i = 0; i < archive->n_arrays; i++) {
        tsri_io_array array = archive->arrays[i];
        if (taken[i]) {
            free((char *)(uintptr_t)array.name);
            archive->arrays[i].name = NULL;
            continue;
        }
        archive->arrays[i].name = NULL;
        archive->arrays[kept++] = array;
        TRY(respell(&archive->arrays[kept - 1]));
    }
    archive->n_arrays = kept;
    return TSR_OK;
}

static tsr_status read_all(reader *r) {
    uint32_t revision = 0, count = 0;
    TRY(take_head(r, &revision));
    TRY(take_count(r, "its number of variables", LEAST_VARIABLE_BYTES, &count));
    for (uint32_t i = 0; i < count; i++)
        TRY(take_variable(r));
    TRY(tsri_io_seal(r->archive));
    count = 0;
    if (r->version >= ALIASES_SINCE)
        TRY(take_count(r, "its number of aliases", LEAST_ALIAS_BYTES, &count));
    for (uint32_t i = 0; i < count; i++)
        TRY(take_alias(r));
    if (tsri_io_left(&r->cursor) > 0)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s continues for %" PRIu64
                              " bytes after its last variable; it is damaged, or not a whole model",
                              r->cursor.file->path, tsri_io_left(&r->cursor));
    TRY(move_aliases(r));
    TRY(tsri_io_seal(r->archive));
    bool *taken = NULL;
    tsr_status status = tsri_base_new(r->archive->n_arrays, sizeof *taken, &taken);
    if (status == TSR_OK)
        status = sort_out(r->archive, taken);
    free(taken);
    return status;
}

tsr_status tsri_io_read_ctranslate2(tsri_io_archive *archive, const char *path) {
    reader r = {.archive = archive};
    tsri_file *file;
    TRY(tsri_io_add_file(archive, path, &file));
    tsr_status status = tsri_io_cursor_begin(&r.cursor, file);
    if (status == TSR_OK)
        status = tsri_base_new(MAX_TEXT + 1, 1, &r.text);
    if (status == TSR_OK)
        status = tsri_base_new(MAX_TEXT + 1, 1, &r.other);
    if (status == TSR_OK)
        status = read_all(&r);
    free(r.text);
    free(r.other);
    tsri_base_bytes_clear(&r.name);
    tsri_io_clear(&r.aliases);
    tsri_io_cursor_end(&r.cursor);
    return status;
}

/* Whether n bytes begin with a text that is a name: letters, digits and a few signs. What follows
 * the n bytes isn't looked at. */
static bool begins_with_name(const unsigned char *bytes, size_t n) {
    if (n < 3 || bytes[0] < 2 || bytes[1])
        return false;
    for (size_t i = 0; i < n - 2 && i < bytes[0]; i++) {
        const unsigned char c = bytes[2 + i];
        const bool last = i + 1u == bytes[0],
                   letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (last ? c != 0 : !letter && (i == 0 || !strchr("0123456789_/:", c) || !c))
            return false;
    }
    return true;
}

bool tsri_io_is_ctranslate2(const unsigned char *head, size_t n) {
    if (n < 8 || head[0] == 0 || head[1] || head[2] || head[3])
        return false;
    /* In version 1 the number of variables follows the version, and then a variable's name. */
    return head[0] == 1 ? begins_with_name(head + 8, n - 8) : begins_with_name(head + 4, n - 4);
}
