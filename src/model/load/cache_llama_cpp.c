/* model/load/cache_llama_cpp.c - the cache of llama.cpp's -hf: files org_name_file.gguf. */
#include "model/load/cache_place.h"
#include "model/load/quants.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"

#include <stdlib.h>
#include <string.h>

static char *folder(void) {
    const tsri_model_root roots[] = {{getenv("LLAMA_CACHE"), NULL},
                                     {getenv("XDG_CACHE_HOME"), "llama.cpp"},
                                     {getenv("HOME"), ".cache/llama.cpp"}};
    return tsri_model_first_root(roots, sizeof roots / sizeof *roots);
}

static tsr_status find(const char *cache, const tsri_model_asked *asked, char **path) {
    tsri_bytes prefix = {0};
    if (asked->revision || !strchr(asked->repository, '/'))
        return TSR_OK;
    tsr_status status = tsri_base_bytes_printf(&prefix, "%s_", asked->repository);
    for (size_t i = 0; i < prefix.size; i++)
        if (prefix.data[i] == '/')
            prefix.data[i] = '_';
    if (status == TSR_OK)
        status = tsri_model_find_gguf(cache, prefix.data, asked->tag, path);
    tsri_base_bytes_clear(&prefix);
    return status;
}

/* The organisation ends at the first '_', and the name, as far as a file's name tells, at the next. */
static tsr_status list_file(void *data, const char *cache, const char *file) {
    const tsri_model_visit *visit = data;
    const char *name = strchr(file, '_'), *rest = name ? strchr(name + 1, '_') : NULL, *quant;
    const int n = rest ? tsri_model_quant_of(rest + 1, &quant) : 0;
    tsri_bytes model = {0};
    char *path = n ? tsri_base_join(cache, file) : NULL;
    if (!n)
        return TSR_OK;
    const tsr_status status =
        path ? tsri_base_bytes_printf(&model, "%.*s/%.*s:%.*s", (int)(name - file), file,
                                      (int)(rest - name - 1), name + 1, n, quant)
             : TSR_E_HOST_MEMORY;
    if (status == TSR_OK)
        tsri_model_visit_hub(visit, model.data, path);
    free(path);
    tsri_base_bytes_clear(&model);
    return status;
}

static tsr_status list(const char *cache, const tsri_model_visit *visit) {
    return tsri_model_each_entry(cache, list_file, (void *)visit);
}

const tsri_model_place tsri_model_llama_cpp = {
    .name = "llama.cpp", .is_hub = true, .folder = folder, .find = find, .list = list};
