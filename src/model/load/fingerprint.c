/* model/load/fingerprint.c - hashes a model, to tell whether two are the same. */
#include "model/load/fingerprint.h"

#include "base/error.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/load/sentence.h"
#include "model/tokens/tokens.h"
#include "model/weights/adapter.h"
#include "model/weights/weights.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

/* ---- weights ---- */

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
    tsri_hash *hash = NULL;
    if (!model->archive || !model->weights)
        return tsri_base_fail(TSR_E_STATE,
                              "%s has no weights to hash: it was opened for its tokenizer alone; "
                              "open a model",
                              model->path);
    const tsri_model_adapters *adapters = model->weights->adapters;
    const tsri_io_archive *file = tsri_model_adapters_file(adapters, 0);
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
    tsri_base_hash_end_hex(&hash, hex);
    return status;
}

/* ---- settings ---- */

typedef struct walk {
    tsr_status (*visit)(void *data, const char *name, const char *path);
    void *data;
    const char *place; /* of a sentence-transformers folder: where its modules.json lies */
} walk;

static tsr_status visit_one(const walk *w, const char *folder, const char *name) {
    char *path = tsri_base_join(folder, name);
    const tsr_status status = path ? w->visit(w->data, name, path) : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}

static tsr_status visit_in(const walk *w, const char *folder, const char *const *names) {
    for (; *names; names++)
        TRY(visit_one(w, folder, *names));
    return TSR_OK;
}

static tsr_status visit_module(void *data, const char *module) {
    static const char *const names[] = {"config.json", "model.safetensors"};
    const walk *w = data;
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == TSR_OK; i++) {
        char *name = tsri_base_join(module, names[i]);
        status = name ? visit_one(w, w->place, name) : TSR_E_HOST_MEMORY;
        free(name);
    }
    return status;
}

static tsr_status visit_sentence(walk *w, const char *folder) {
    static const char *const names[] = {"modules.json", "config_sentence_transformers.json", NULL};
    char *place = NULL;
    TRY(visit_in(w, folder, tsri_model_sentence_transformer_files));
    TRY(tsri_model_sentence_place(folder, &place));
    w->place = place;
    tsr_status status = visit_in(w, place, names);
    if (status == TSR_OK)
        status = tsri_model_sentence_visit(place, visit_module, w);
    free(place);
    return status;
}

/* What cuts the texts of a side may lie above the folder. */
static tsr_status visit_pieces(const walk *w, const char *folder, bool target) {
    char *path = NULL;
    TRY(tsri_model_ctranslate2_pieces(folder, target, &path));
    const tsr_status status = w->visit(
        w->data, target ? "the target's SentencePiece model" : "the source's SentencePiece model",
        path);
    free(path);
    return status;
}

static tsr_status visit_ctranslate2(const walk *w, const char *folder) {
    static const char *const names[] = {
        "vocabulary.json",        "vocabulary.txt",         "shared_vocabulary.json",
        "shared_vocabulary.txt",  "source_vocabulary.json", "source_vocabulary.txt",
        "target_vocabulary.json", "target_vocabulary.txt",  NULL};
    TRY(visit_in(w, folder, names));
    TRY(visit_pieces(w, folder, false));
    return visit_pieces(w, folder, true);
}

/* Of a llama2.c checkpoint only the tokenizer lies beside it. */
static tsr_status visit_llama2c(const walk *w, const char *checkpoint) {
    char *folder = NULL;
    TRY(tsri_base_folder_of(checkpoint, &folder));
    folder[tsri_base_folder_length(folder)] = 0;
    const tsr_status status = visit_one(w, folder, "tokenizer.bin");
    free(folder);
    return status;
}

tsr_status tsri_model_visit_settings(const tsri_model *model,
                                     tsr_status (*visit)(void *data, const char *name,
                                                         const char *path),
                                     void *data) {
    static const char *const configs[] = {"config.json", "generation_config.json", NULL};
    const tsri_io_format format = model->archive ? model->archive->format : TSRI_IO_UNKNOWN;
    walk w = {.visit = visit, .data = data};
    if (format == TSRI_IO_LLAMA2C)
        return visit_llama2c(&w, model->path);
    if (!model->folder)
        return TSR_OK;
    TRY(visit_in(&w, model->folder, configs));
    TRY(visit_in(&w, model->folder, tsri_model_tokenizer_files));
    TRY(visit_in(&w, model->folder, tsri_model_tokenizer_settings));
    return format == TSRI_IO_CTRANSLATE2 ? visit_ctranslate2(&w, model->folder)
                                         : visit_sentence(&w, model->folder);
}

/* The name of a file, and the hash of what is in it; nothing where there is no such file. */
static tsr_status hash_file(void *data, const char *name, const char *path) {
    char hex[65];
    uint64_t size;
    if (!path || !tsri_base_is_file(path))
        return TSR_OK;
    TRY(tsri_base_file_digest(path, &size, hex));
    tsri_base_hash_text(data, name);
    tsri_base_hash_text(data, hex);
    return TSR_OK;
}

static bool holds_settings(const tsri_io_archive *archive) {
    return archive && archive->n_values && archive->format != TSRI_IO_SAFETENSORS &&
           archive->format != TSRI_IO_INDEX;
}

tsr_status tsri_model_hash_metadata(const tsri_model *model, char hex[65]) {
    tsri_hash *hash = NULL;
    *hex = 0;
    if (!holds_settings(model->archive))
        return TSR_OK;
    TRY(tsri_base_hash_begin(&hash));
    tsri_io_meta_hash(model->archive, hash);
    tsri_base_hash_end_hex(&hash, hex);
    return TSR_OK;
}

tsr_status tsri_model_hash_settings(const tsri_model *model, char hex[65]) {
    tsri_hash *hash = NULL;
    TRY(tsri_model_hash_metadata(model, hex));
    TRY(tsri_base_hash_begin(&hash));
    tsri_base_hash_text(hash, hex);
    const tsr_status status = tsri_model_visit_settings(model, hash_file, hash);
    tsri_base_hash_end_hex(&hash, hex);
    return status;
}
