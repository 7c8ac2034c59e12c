/* model/load/cache_llama_cpp.c - the cache of llama.cpp's -hf: files org_name_file.gguf, and for each repository
 * and tag a manifest=org=name=tag.json. */
#include "model/load/cache_place.h"
#include "model/load/quants.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- all ---- */

typedef struct owner {
    const char *file;
    tsri_bytes repository; /* org/name */
} owner;

/* Takes the repository of a manifest where the file's name begins with it; of several the longest. */
static tsr_status match(void *data, const char *cache, const char *manifest) {
    static const char before[] = "manifest=";
    owner *o = data;
    const char *org = manifest + sizeof before - 1, *name, *tag, *file = o->file;
    (void)cache;
    if (strncmp(manifest, before, sizeof before - 1) != 0 || !(name = strchr(org, '=')) ||
        !(tag = strchr(name + 1, '=')))
        return TSR_OK;
    const size_t n = (size_t)(name - org), all = (size_t)(tag - org);
    if (all <= o->repository.size || strlen(file) <= all || strncmp(file, org, n) != 0 ||
        strncmp(file + n + 1, name + 1, all - n - 1) != 0 || file[n] != '_' || file[all] != '_')
        return TSR_OK;
    o->repository.size = 0;
    return tsri_base_bytes_printf(&o->repository, "%.*s/%.*s", (int)n, org, (int)(all - n - 1),
                                  name + 1);
}

/* Where no manifest tells it, the organisation ends at the first '_', and the name at the last "-GGUF_", else at
 * the next '_'. */
static tsr_status guess(owner *o) {
    static const char usual[] = "-GGUF";
    const size_t n = sizeof usual - 1;
    const char *name = strchr(o->file, '_'), *end = name ? strchr(name + 1, '_') : NULL;
    for (const char *c = end; c; c = strchr(c + 1, '_'))
        if ((size_t)(c - name) > n && !strncasecmp(c - n, usual, n))
            end = c;
    return end ? tsri_base_bytes_printf(&o->repository, "%.*s/%.*s", (int)(name - o->file), o->file,
                                        (int)(end - name - 1), name + 1)
               : TSR_OK;
}

static tsr_status list_file(void *data, const char *cache, const char *file) {
    const tsri_model_visit *visit = data;
    owner o = {.file = file};
    int parts, n = 0;
    const char *quant;
    char *path = NULL;
    if (!tsri_model_gguf_stem(file, &parts))
        return TSR_OK;
    tsr_status status = tsri_model_each_entry(cache, match, &o);
    if (status == TSR_OK && !o.repository.size)
        status = guess(&o);
    if (status == TSR_OK && o.repository.size)
        n = tsri_model_quant_of(file + o.repository.size + 1, &quant);
    if (n && !(path = tsri_base_join(cache, file)))
        status = TSR_E_HOST_MEMORY;
    if (n && status == TSR_OK)
        status = tsri_base_bytes_printf(&o.repository, ":%.*s", n, quant);
    if (n && status == TSR_OK)
        tsri_model_visit_hub(visit, o.repository.data, path);
    free(path);
    tsri_base_bytes_clear(&o.repository);
    return status;
}

static tsr_status list(const char *cache, const tsri_model_visit *visit) {
    return tsri_model_each_entry(cache, list_file, (void *)visit);
}

const tsri_model_place tsri_model_llama_cpp = {
    .name = "llama.cpp", .is_hub = true, .folder = folder, .find = find, .list = list};
