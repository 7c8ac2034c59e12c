/* model/load/fingerprint.c - hashes a model, to tell whether two are the same. */
#include "model/load/fingerprint.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/weights/adapter.h"
#include "model/weights/weights.h"

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

tsr_status tsri_model_hash_weights(const tsri_model *model, uint64_t most, char hex[65]) {
    const tsri_model_adapters *adapters = model->weights->adapters;
    const tsri_io_archive *file = tsri_model_adapters_file(adapters, 0);
    unsigned char digest[32];
    tsri_hash *hash = NULL;
    tsr_status status = tsri_model_hash(model->archive, most, hex);
    if (status != TSR_OK || !file)
        return status;
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_text(hash, hex);
    for (size_t i = 0; file && status == TSR_OK; file = tsri_model_adapters_file(adapters, ++i)) {
        status = tsri_model_hash(file, UINT64_MAX, hex);
        tsri_base_hash_text(hash, hex);
    }
    tsri_model_adapters_hash(adapters, hash);
    tsri_base_hash_end(&hash, digest);
    tsri_base_hash_hex(digest, hex);
    return status;
}

/* The name of a file, and the hash of what is in it; nothing where there is no such file. */
static tsr_status hash_file(const char *folder, const char *name, tsri_hash *hash) {
    char *path = tsri_base_join(folder, name), hex[65];
    uint64_t size;
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (path && tsri_base_is_file(path)) {
        status = tsri_base_file_digest(path, &size, hex);
        if (status == TSR_OK) {
            tsri_base_hash_text(hash, name);
            tsri_base_hash_text(hash, hex);
        }
    }
    free(path);
    return status;
}

tsr_status tsri_model_hash_settings(const tsri_model *model, char hex[65]) {
    static const char *const names[] = {"config.json",
                                        "generation_config.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "merges.txt",
                                        "chat_template.jinja",
                                        "chat_template.json",
                                        "modules.json",
                                        "1_Pooling/config.json",
                                        "sentence_bert_config.json",
                                        "config_sentence_transformers.json"};
    unsigned char digest[32];
    tsri_hash *hash = NULL;
    tsr_status status = TSR_OK;
    *hex = 0;
    TRY(tsri_base_hash_begin(&hash));
    for (size_t i = 0; i < sizeof names / sizeof *names && model->folder && status == TSR_OK; i++)
        status = hash_file(model->folder, names[i], hash);
    tsri_base_hash_end(&hash, digest);
    tsri_base_hash_hex(digest, hex);
    return status;
}
