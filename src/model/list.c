/* model/list.c - lists the models on this machine (tsr_model_list). */
#include "model/load/cache_place.h"
#include "model/load/caches.h"
#include "model/load/model_path.h"
#include "model/load/quants.h"
#include "tessera/model.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/structs.h"
#include "base/system/files.h"

#include <stdlib.h>

typedef struct listing {
    void (*visit)(void *data, const tsr_model_found *model);
    void *data;
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

static tsr_status add_size(void *data, const char *folder, const char *name) {
    uint64_t *bytes = data;
    char *path = tsri_base_join(folder, name);
    if (!path)
        return TSR_E_HOST_MEMORY;
    *bytes += size_of(path);
    free(path);
    return TSR_OK;
}

static void visit(void *data, const char *place, const char *name, const char *path,
                  const char *get) {
    const listing *to = data;
    tsr_model_found found = {
        .struct_size = sizeof found, .name = name, .path = path, .place = place, .get = get};
    if (tsri_base_is_folder(path))
        (void)tsri_model_each_entry(path, add_size, &found.bytes);
    else
        found.bytes = size_of_parts(path);
    to->visit(to->data, &found);
}

static void visit_bundled(void *data, const char *name, const char *path) {
    visit(data, "bundled", name, path, NULL);
}

tsr_status tsr_model_list(void (*each)(void *data, const tsr_model_found *model), void *data) {
    TRY(tsri_base_need(__func__, "visit", each != NULL));
    listing to = {.visit = each, .data = data};
    TRY(tsri_model_bundled(visit_bundled, &to));
    return tsri_model_list_caches(visit, &to);
}
