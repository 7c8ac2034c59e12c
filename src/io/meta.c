/* io/meta.c - metadata of a model file, by key, with types checked. */
#include "base/error.h"
#include "base/memory.h"
#include "io/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    size_t bytes;
    tsri_io_kind kind;
} items[TSRI_IO_ITEMS] = {
    [TSRI_IO_ITEM_U8] = {1, TSRI_IO_INT},    [TSRI_IO_ITEM_I8] = {1, TSRI_IO_INT},
    [TSRI_IO_ITEM_U16] = {2, TSRI_IO_INT},   [TSRI_IO_ITEM_I16] = {2, TSRI_IO_INT},
    [TSRI_IO_ITEM_U32] = {4, TSRI_IO_INT},   [TSRI_IO_ITEM_I32] = {4, TSRI_IO_INT},
    [TSRI_IO_ITEM_F32] = {4, TSRI_IO_REAL},  [TSRI_IO_ITEM_BOOL] = {1, TSRI_IO_BOOL},
    [TSRI_IO_ITEM_TEXT] = {0, TSRI_IO_TEXT}, [TSRI_IO_ITEM_LIST] = {0, TSRI_IO_LIST},
    [TSRI_IO_ITEM_U64] = {8, TSRI_IO_INT},   [TSRI_IO_ITEM_I64] = {8, TSRI_IO_INT},
    [TSRI_IO_ITEM_F64] = {8, TSRI_IO_REAL},
};

size_t tsri_io_item_bytes(tsri_io_item item) {
    return items[item].bytes;
}

tsr_status tsri_io_add_value(tsri_io_archive *archive, const char *key, size_t n,
                             tsri_io_value **out) {
    TRY(tsri_base_grow(&archive->values, &archive->values_room, archive->n_values + 1,
                       sizeof *archive->values));
    tsri_io_value *value = &archive->values[archive->n_values];
    *value = (tsri_io_value){.key = tsri_base_copy_text(key, n)};
    if (!value->key)
        return TSR_E_HOST_MEMORY;
    archive->n_values++;
    *out = value;
    return TSR_OK;
}

tsr_status tsri_io_add_text(tsri_io_archive *archive, const char *key, const char *text, size_t n) {
    tsri_io_value *value;
    TRY(tsri_io_add_value(archive, key, strlen(key), &value));
    value->item = TSRI_IO_ITEM_TEXT;
    value->count = 1;
    TRY(tsri_base_new(2, sizeof *value->starts, &value->starts));
    value->starts[1] = n + 1;
    value->data = tsri_base_copy_text(text, n);
    return value->data ? TSR_OK : TSR_E_HOST_MEMORY;
}

tsr_status tsri_io_add_number(tsri_io_archive *archive, const char *key, tsri_io_item item,
                              const void *number) {
    tsri_io_value *value;
    TRY(tsri_io_add_value(archive, key, strlen(key), &value));
    value->item = item;
    value->count = 1;
    value->data = tsri_base_copy_text(number, items[item].bytes);
    return value->data ? TSR_OK : TSR_E_HOST_MEMORY;
}

void tsri_io_drop_values(tsri_io_archive *archive, size_t first) {
    for (size_t i = first; i < archive->n_values; i++) {
        free(archive->values[i].key);
        free(archive->values[i].data);
        free(archive->values[i].starts);
    }
    archive->n_values = first < archive->n_values ? first : archive->n_values;
}

const tsri_io_value *tsri_io_meta(const tsri_io_archive *archive, const char *key) {
    size_t low = 0, high = archive->n_values;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tsri_io_value *value = &archive->values[archive->by_key[middle]];
        const int order = strcmp(key, value->key);
        if (order == 0)
            return value;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *tsri_io_value_key(const tsri_io_value *value) {
    return value->key;
}

tsri_io_kind tsri_io_value_kind(const tsri_io_value *value) {
    return value->is_list ? TSRI_IO_LIST : items[value->item].kind;
}

tsri_io_kind tsri_io_list_kind(const tsri_io_value *list) {
    return items[list->item].kind;
}

size_t tsri_io_list_count(const tsri_io_value *list) {
    return list->count;
}

int64_t tsri_io_list_int(const tsri_io_value *list, size_t i) {
    uint64_t bits = 0;
    const size_t bytes = items[list->item].bytes;
    memcpy(&bits, list->data + i * bytes, bytes);
    switch (list->item) {
    case TSRI_IO_ITEM_I8:
        return (int8_t)bits;
    case TSRI_IO_ITEM_I16:
        return (int16_t)bits;
    case TSRI_IO_ITEM_I32:
        return (int32_t)bits;
    case TSRI_IO_ITEM_U64:
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    default:
        return (int64_t)bits;
    }
}

double tsri_io_list_real(const tsri_io_value *list, size_t i) {
    float single;
    double twice;
    switch (list->item) {
    case TSRI_IO_ITEM_F32:
        memcpy(&single, list->data + i * sizeof single, sizeof single);
        return (double)single;
    case TSRI_IO_ITEM_F64:
        memcpy(&twice, list->data + i * sizeof twice, sizeof twice);
        return twice;
    default:
        return (double)tsri_io_list_int(list, i);
    }
}

bool tsri_io_list_bool(const tsri_io_value *list, size_t i) {
    return list->data[i] != 0;
}

const char *tsri_io_list_text(const tsri_io_value *list, size_t i, size_t *length) {
    if (length)
        *length = list->starts[i + 1] - list->starts[i] - 1;
    return list->data + list->starts[i];
}

static const char *spell(tsri_io_kind kind) {
    static const char *const names[] = {
        [TSRI_IO_INT] = "a whole number", [TSRI_IO_REAL] = "a number",
        [TSRI_IO_BOOL] = "true or false", [TSRI_IO_TEXT] = "a text",
        [TSRI_IO_LIST] = "a list",
    };
    return names[kind];
}

static bool serves(tsri_io_kind found, tsri_io_kind wanted) {
    return found == wanted || (found == TSRI_IO_INT && wanted == TSRI_IO_REAL);
}

/* Finds the value of a key and checks its kind; *out is NULL where the key is missing. */
static tsr_status typed(const tsri_io_archive *archive, const char *key, tsri_io_kind wanted,
                        const tsri_io_value **out) {
    *out = tsri_io_meta(archive, key);
    if (!*out || serves(tsri_io_value_kind(*out), wanted))
        return TSR_OK;
    return tsri_base_fail(TSR_E_FORMAT, "%s: metadata \"%s\" is %s; %s is needed", archive->path,
                          key, spell(tsri_io_value_kind(*out)), spell(wanted));
}

tsr_status tsri_io_meta_int(const tsri_io_archive *archive, const char *key, int64_t lowest,
                            int64_t highest, int64_t *out) {
    const tsri_io_value *value;
    TRY(typed(archive, key, TSRI_IO_INT, &value));
    if (!value)
        return TSR_OK;
    const int64_t number = tsri_io_list_int(value, 0);
    if (number < lowest || number > highest)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: metadata \"%s\" is %" PRId64 "; it must be from %" PRId64
                              " to %" PRId64,
                              archive->path, key, number, lowest, highest);
    *out = number;
    return TSR_OK;
}

tsr_status tsri_io_meta_real(const tsri_io_archive *archive, const char *key, double lowest,
                             double highest, double *out) {
    const tsri_io_value *value;
    TRY(typed(archive, key, TSRI_IO_REAL, &value));
    if (!value)
        return TSR_OK;
    const double number = tsri_io_list_real(value, 0);
    if (!(number >= lowest && number <= highest))
        return tsri_base_fail(TSR_E_FORMAT, "%s: metadata \"%s\" is %g; it must be from %g to %g",
                              archive->path, key, number, lowest, highest);
    *out = number;
    return TSR_OK;
}

tsr_status tsri_io_meta_bool(const tsri_io_archive *archive, const char *key, bool *out) {
    const tsri_io_value *value;
    TRY(typed(archive, key, TSRI_IO_BOOL, &value));
    if (value)
        *out = tsri_io_list_bool(value, 0);
    return TSR_OK;
}

tsr_status tsri_io_meta_text(const tsri_io_archive *archive, const char *key, const char **out,
                             size_t *length) {
    const tsri_io_value *value;
    TRY(typed(archive, key, TSRI_IO_TEXT, &value));
    if (value)
        *out = tsri_io_list_text(value, 0, length);
    return TSR_OK;
}

tsr_status tsri_io_meta_list(const tsri_io_archive *archive, const char *key, tsri_io_kind kind,
                             const tsri_io_value **out) {
    *out = NULL;
    const tsri_io_value *value;
    TRY(typed(archive, key, TSRI_IO_LIST, &value));
    if (value && !serves(items[value->item].kind, kind))
        return tsri_base_fail(
            TSR_E_FORMAT, "%s: metadata \"%s\" is a list in which each item is %s; %s is needed",
            archive->path, key, spell(items[value->item].kind), spell(kind));
    *out = value;
    return TSR_OK;
}

static void hash_value(const tsri_io_value *value, tsri_hash *hash) {
    const uint64_t facts[] = {value->item, value->is_list, value->count};
    const size_t bytes = items[value->item].bytes;
    tsri_base_hash_text(hash, value->key);
    tsri_base_hash_add(hash, facts, sizeof facts);
    if (bytes && value->count)
        tsri_base_hash_add(hash, value->data, value->count * bytes);
    for (size_t i = 0; !bytes && i < value->count; i++) {
        size_t n;
        const char *text = tsri_io_list_text(value, i, &n);
        const uint64_t size = n; /* texts may have 0 bytes */
        tsri_base_hash_add(hash, &size, sizeof size);
        tsri_base_hash_add(hash, text, n);
    }
}

void tsri_io_meta_hash(const tsri_io_archive *archive, tsri_hash *hash) {
    static const char split[] = "split.";
    for (size_t i = 0; i < archive->n_values; i++) {
        const tsri_io_value *value = &archive->values[archive->by_key[i]];
        if (strncmp(value->key, split, strlen(split)) != 0)
            hash_value(value, hash);
    }
}
