/* io/detect.c - tells the format of a model by its content, and opens it. */
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "io/format.h"

#include <stdlib.h>
#include <string.h>

/* The files of weights that a folder may have, best first. */
static const struct {
    const char *name;
    tsri_io_format format;
} weights[] = {
    {"model.safetensors", TSRI_IO_SAFETENSORS},
    {"model.safetensors.index.json", TSRI_IO_INDEX},
    {"model.bin", TSRI_IO_CTRANSLATE2},
    {"pytorch_model.bin", TSRI_IO_PICKLE},
    {"pytorch_model.bin.index.json", TSRI_IO_PICKLE},
};

/* Finds the first of these files: its index in the table, and its path in new memory, NULL where
 * there is none. */
static tsr_status find_weights(const char *folder, size_t *which, char **path) {
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        *path = tsri_base_join(folder, weights[i].name);
        *which = i;
        if (!*path)
            return TSR_E_HOST_MEMORY;
        if (tsri_base_is_file(*path))
            return TSR_OK;
        free(*path);
    }
    *path = NULL;
    return TSR_OK;
}

bool tsri_io_has_weights(const char *folder) {
    size_t which;
    char *path;
    const bool has = find_weights(folder, &which, &path) != TSR_OK || path;
    free(path);
    return has;
}

static tsr_status detect_folder(const char *folder, tsri_io_format *out) {
    char *path = tsri_base_join(folder, "config.json");
    size_t which;
    if (!path)
        return TSR_E_HOST_MEMORY;
    if (!tsri_base_is_file(path)) {
        free(path);
        TRY(find_weights(folder, &which, &path));
    }
    *out = path ? TSRI_IO_FOLDER : TSRI_IO_UNKNOWN;
    free(path);
    return TSR_OK;
}

static bool begins(const unsigned char *head, size_t n, const char *with, size_t m) {
    return n >= m && memcmp(head, with, m) == 0;
}

static tsri_io_format detect_bytes(const unsigned char *head, size_t n) {
    static const char old[][5] = {"lmgg", "tjgg", "fmgg",
                                  "algg"}; /* ggml, ggjt, ggmf, ggla as little-endian numbers */
    if (begins(head, n, "GGUF", 4))
        return TSRI_IO_GGUF;
    if (begins(head, n, "PK\3\4", 4))
        return TSRI_IO_PICKLE;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (begins(head, n, old[i], 4))
            return TSRI_IO_OLD_GGML;
    if (n > 8 && head[7] == 0 && head[8] == '{')
        return TSRI_IO_SAFETENSORS;
    if (tsri_io_is_ctranslate2(head, n))
        return TSRI_IO_CTRANSLATE2;
    if (tsri_io_is_llama2c(head, n))
        return TSRI_IO_LLAMA2C;
    /* A pickle comes last: its two bytes may also begin the length of a header or the width of a
     * checkpoint (640). */
    if (n >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
        return TSRI_IO_PICKLE;
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    return i < n && head[i] == '{' ? TSRI_IO_INDEX : TSRI_IO_UNKNOWN;
}

tsr_status tsri_io_detect(const char *path, tsri_io_format *out) {
    if (tsri_base_is_folder(path))
        return detect_folder(path, out);
    unsigned char head[64];
    tsri_file *file = NULL;
    TRY(tsri_base_file_open(path, &file));
    const size_t n = file->size < sizeof head ? (size_t)file->size : sizeof head;
    const tsr_status status = tsri_base_file_read(file, 0, head, n);
    tsri_base_file_close(&file);
    if (status == TSR_OK)
        *out = detect_bytes(head, n);
    return status;
}

static bool ends(const char *path, const char *with) {
    const size_t n = strlen(path), m = strlen(with);
    return n >= m && strcmp(path + n - m, with) == 0;
}

static tsr_status refuse_pickle(const char *path) {
    return tsri_base_fail(
        TSR_E_UNSUPPORTED,
        "%s is a PyTorch pickle, which is not read because it can run programs; convert its folder "
        "to safetensors: tools/convert-torch FOLDER OUT (needs PyTorch)",
        path);
}

/* Reads one file of a known format. Where the content does not tell the format, the name does, so
 * that a damaged file is refused by the rules of the format that it should have. */
static tsr_status read_file(tsri_io_archive *archive, const char *path) {
    TRY(tsri_io_detect(path, &archive->format));
    if (archive->format == TSRI_IO_UNKNOWN || archive->format == TSRI_IO_LLAMA2C ||
        archive->format == TSRI_IO_INDEX)
        archive->format = ends(path, ".safetensors") ? TSRI_IO_SAFETENSORS
                          : ends(path, ".gguf")      ? TSRI_IO_GGUF
                          : ends(path, ".json")      ? TSRI_IO_INDEX
                                                     : archive->format;
    switch (archive->format) {
    case TSRI_IO_SAFETENSORS:
        return tsri_io_read_safetensors(archive, path);
    case TSRI_IO_INDEX:
        return tsri_io_read_index(archive, path);
    case TSRI_IO_GGUF:
        return tsri_io_read_gguf(archive, path);
    case TSRI_IO_LLAMA2C:
        return tsri_io_read_llama2c(archive, path);
    case TSRI_IO_CTRANSLATE2:
        return tsri_io_read_ctranslate2(archive, path);
    case TSRI_IO_PICKLE:
        return refuse_pickle(path);
    case TSRI_IO_OLD_GGML:
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s is a ggml file from before GGUF; convert the original model again: to GGUF with "
            "llama.cpp's converter, or from PyTorch with tools/convert-torch FOLDER OUT",
            path);
    default:
        return tsri_base_fail(
            TSR_E_FORMAT,
            "%s is not a model in a format that is read: safetensors, an index of safetensors "
            "shards, GGUF, a llama2.c checkpoint or CTranslate2's model.bin",
            path);
    }
}

static tsr_status read_folder(tsri_io_archive *archive, const char *folder) {
    char *path;
    size_t which;
    TRY(find_weights(folder, &which, &path));
    if (!path)
        return tsri_base_fail(TSR_E_IO,
                              "%s has no weights; the folder needs model.safetensors, "
                              "model.safetensors.index.json or CTranslate2's model.bin",
                              folder);
    archive->format = weights[which].format;
    const tsr_status status =
        archive->format == TSRI_IO_SAFETENSORS   ? tsri_io_read_safetensors(archive, path)
        : archive->format == TSRI_IO_INDEX       ? tsri_io_read_index(archive, path)
        : archive->format == TSRI_IO_CTRANSLATE2 ? tsri_io_read_ctranslate2(archive, path)
                                                 : refuse_pickle(path);
    free(path);
    return status;
}

/* Whether reading all of it would push most other pages out of the system's memory. */
static bool is_large(const tsri_io_archive *archive) {
    const uint64_t memory = tsri_system_memory();
    uint64_t total = 0;
    for (size_t i = 0; i < archive->n_files; i++)
        total += archive->files[i]->size;
    return memory && total > memory / 4;
}

tsr_status tsri_io_open(const char *path, tsri_io_archive **out) {
    tsri_io_archive *archive = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *archive, &archive));
    tsr_status status = TSR_E_HOST_MEMORY;
    archive->path = tsri_base_copy_text(path, strlen(path));
    if (archive->path)
        status = tsri_base_is_folder(path) ? read_folder(archive, path) : read_file(archive, path);
    if (status == TSR_OK)
        status = tsri_io_seal(archive);
    if (status != TSR_OK) {
        tsri_io_close(&archive);
        return status;
    }
    archive->forget = is_large(archive);
    *out = archive;
    return TSR_OK;
}
