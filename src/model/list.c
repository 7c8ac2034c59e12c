/* model/list.c - lists the models on this machine (tsr_model_list). */
#include "model/load/cache_place.h"
#include "model/load/caches.h"
#include "model/load/model_path.h"
#include "model/load/quants.h"
#include "model/load/sentence.h"
#include "tessera/model.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/structs.h"
#include "base/system/files.h"
#include "base/system/paths.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct listing {
    void (*visit)(void *data, const tsr_model_found *model);
    void *data;
    char *share; /* the folder of the bundled models; NULL: not known */
} listing;

static uint64_t size_of(const char *file) {
    struct stat info;
    return stat(file, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

/* Of all parts, if `file` is the first of a split GGUF model. */
static uint64_t size_of_parts(const char *file) {
    int parts;
    const size_t stem = tsri_model_gguf_stem(file, &parts);
    uint64_t bytes = size_of(file);
    for (int i = 2; stem && i <= parts; i++) {
        tsri_bytes part = {0};
        if (tsri_base_bytes_printf(&part, "%.*s-%05d-of-%05d.gguf", (int)stem, file, i, parts) ==
            TSR_OK)
            bytes += size_of(part.data);
        tsri_base_bytes_clear(&part);
    }
    return bytes;
}

typedef struct sum {
    const char *folder;
    uint64_t bytes;
} sum;

static tsr_status add_file(void *data, const char *folder, const char *name) {
    sum *s = data;
    char *path = tsri_base_join(folder, name);
    if (!path)
        return TSR_E_HOST_MEMORY;
    s->bytes += size_of(path);
    free(path);
    return TSR_OK;
}

static tsr_status add_module(void *data, const char *name) {
    sum *s = data;
    char *path = tsri_base_join(s->folder, name);
    const tsr_status status = path ? tsri_model_each_entry(path, add_file, s) : TSR_E_HOST_MEMORY;
    free(path);
    return status;
}

/* Of its own files, and of those in the folders of sentence-transformers' modules. */
static uint64_t size_of_folder(const char *folder) {
    sum s = {.folder = folder};
    char *first = tsri_model_sentence_transformer(folder);
    (void)tsri_model_each_entry(folder, add_file, &s);
    if (first && !tsri_base_ends_with(first, "/."))
        (void)tsri_model_each_entry(first, add_file, &s);
    (void)tsri_model_sentence_visit(folder, add_module, &s);
    free(first);
    return s.bytes;
}

static void visit(void *data, const tsr_model_found *model) {
    const listing *to = data;
    tsr_model_found found = *model;
    found.struct_size = sizeof found;
    if (!found.why)
        found.bytes = tsri_base_is_folder(found.path) ? size_of_folder(found.path)
                                                      : size_of_parts(found.path);
    to->visit(to->data, &found);
}

static void visit_bundled(void *data, const char *name, const char *path) {
    const listing *to = data;
    const size_t n = to->share ? strlen(to->share) : 0;
    const bool bundled = n && !strncmp(path, to->share, n) && tsri_system_is_slash(path[n]);
    visit(data,
          &(tsr_model_found){.name = name, .path = path, .place = bundled ? "bundled" : "own"});
}

tsr_status tsr_model_list(void (*each)(void *data, const tsr_model_found *model), void *data) {
    TRY(tsri_base_need(__func__, "visit", each != NULL));
    listing to = {.visit = each, .data = data, .share = tsri_model_share_folder("models")};
    tsr_status status = tsri_model_bundled(visit_bundled, &to);
    if (status == TSR_OK)
        status = tsri_model_list_caches(visit, &to);
    free(to.share);
    return status;
}
