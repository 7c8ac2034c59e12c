/* model/load/cache_ollama.c - Ollama's store: manifests/HOST/ORG/NAME/TAG, which names a GGUF file among
 * blobs/ by its SHA-256. The store of the system's service is a second place. */
#include "model/load/cache_place.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MANIFEST_LIMIT = 1 << 20, MANIFEST_DEPTH = 16 };

static const char own_host[] = "registry.ollama.ai", hub[] = "hf.co", own_org[] = "library";

static char *users(void) {
    const tsri_model_root roots[] = {{getenv("OLLAMA_MODELS"), NULL},
                                     {getenv("HOME"), ".ollama/models"}};
    return tsri_model_first_root(roots, sizeof roots / sizeof *roots);
}

static char *services(void) {
    static const char path[] = "/usr/share/ollama/.ollama/models";
    return tsri_base_copy_text(path, sizeof path - 1);
}

/* The file that a manifest names, which may be gone. A model with a LoRA adapter (ADAPTER of a Modelfile) is
 * refused: without the adapter it is another model. */
static tsr_status follow(const char *store, const char *manifest, char **path) {
    json_t *json = NULL;
    const json_t *layer;
    size_t i;
    tsri_bytes file = {0};
    tsr_status status = TSR_OK;
    TRY(tsri_base_json_load(manifest, MANIFEST_LIMIT, MANIFEST_DEPTH, &json));
    json_array_foreach(json_object_get(json, "layers"), i, layer) {
        const char *type = json_string_value(json_object_get(layer, "mediaType")),
                   *digest = json_string_value(json_object_get(layer, "digest"));
        if (type && !strcmp(type, "application/vnd.ollama.image.adapter")) {
            status = tsri_base_fail(TSR_E_UNSUPPORTED,
                                    "%s adds a LoRA adapter to its model, which is not served; "
                                    "merge the two, and give the merged model",
                                    manifest);
            break;
        }
        if (file.size || !type || !digest ||
            strcmp(type, "application/vnd.ollama.image.model") != 0 ||
            strncmp(digest, "sha256:", 7) != 0 || strchr(digest, '/'))
            continue;
        status = tsri_base_bytes_printf(&file, "%s/blobs/sha256-%s", store, digest + 7);
        if (status != TSR_OK)
            break;
    }
    json_decref(json);
    if (status == TSR_OK && !file.size)
        status = tsri_base_fail(TSR_E_FORMAT, "%s names no GGUF file of a model", manifest);
    if (status == TSR_OK)
        *path = file.data;
    else
        tsri_base_bytes_clear(&file);
    return status;
}

/* "ollama pull ..." of a manifest of the store: what names Ollama's own host and organisation is
 * left out. */
static tsr_status get_command(const char *store, const char *manifest, tsri_bytes *command) {
    const char *name = manifest + strlen(store) + sizeof "/manifests/" - 1;
    const char *const own[] = {own_host, own_org};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const size_t n = strlen(own[i]);
        if (strncmp(name, own[i], n) || name[n] != '/')
            break;
        name += n + 1;
    }
    const char *tag = strrchr(name, '/');
    return tsri_base_bytes_printf(command, "ollama pull %.*s:%s", (int)(tag - name), name, tag + 1);
}

static tsr_status refuse_gone(const char *store, const char *manifest, const char *path) {
    tsri_bytes command = {0};
    tsr_status status = get_command(store, manifest, &command);
    if (status == TSR_OK)
        status = tsri_model_tell_command(
            tsri_base_fail(TSR_E_IO, "%s, which %s names, is gone", path, manifest), command.data);
    tsri_base_bytes_clear(&command);
    return status;
}

static tsr_status find_at(const char *store, const char *host, const char *org,
                          const tsri_model_asked *asked, char **path) {
    tsri_bytes manifest = {0};
    tsr_status status = tsri_base_bytes_printf(
        &manifest, "%s/manifests/%s%s%s%s%s/%s", store, host ? host : "", host ? "/" : "",
        org ? org : "", org ? "/" : "", asked->repository, asked->tag ? asked->tag : "latest");
    if (status == TSR_OK && tsri_base_is_file(manifest.data))
        status = follow(store, manifest.data, path);
    if (status == TSR_OK && *path && !tsri_base_is_file(*path)) {
        status = refuse_gone(store, manifest.data, *path);
        free(*path);
        *path = NULL;
    }
    tsri_base_bytes_clear(&manifest);
    return status;
}

static tsr_status find(const char *store, const tsri_model_asked *asked, char **path) {
    const char *slash = strchr(asked->repository, '/');
    if (asked->revision || (asked->tag && strchr(asked->tag, '/')))
        return TSR_OK;
    if (!slash)
        return find_at(store, own_host, own_org, asked, path);
    if (strchr(slash + 1, '/'))
        return find_at(store, NULL, NULL, asked, path);
    const char *const hosts[] = {own_host, hub};
    tsri_model_put_off first = {0};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts && !*path; i++)
        TRY(tsri_model_put_failure_off(find_at(store, hosts[i], NULL, asked, path), &first));
    return *path ? TSR_OK : tsri_model_fail_now(&first);
}

/* ---- all ---- */

typedef struct walk {
    const tsri_model_visit *visit;
    const char *store;
    const char *parts[3]; /* host, organisation, name */
    int depth;
} walk;

static tsr_status list_manifest(const walk *w, const char *manifest, const char *tag) {
    const char *host = w->parts[0], *org = w->parts[1];
    const bool own = !strcmp(host, own_host), short_host = own || !strcmp(host, hub),
               short_org = own && !strcmp(org, own_org);
    tsri_bytes name = {0}, command = {0};
    char *path = NULL;
    const tsr_status followed = follow(w->store, manifest, &path);
    const tsri_base_kept why = tsri_base_keep();
    if (followed == TSR_E_HOST_MEMORY)
        return followed;
    tsr_status status = tsri_base_bytes_printf(&name, "%s%s%s%s%s:%s", short_host ? "" : host,
                                               short_host ? "" : "/", short_org ? "" : org,
                                               short_org ? "" : "/", w->parts[2], tag);
    if (status == TSR_OK)
        status = get_command(w->store, manifest, &command);
    if (status == TSR_OK)
        w->visit->each(w->visit->data, &(tsr_model_found){.name = name.data,
                                                          .path = path ? path : manifest,
                                                          .place = w->visit->place,
                                                          .get = command.data,
                                                          .why = path ? NULL : why.sentence});
    free(path);
    tsri_base_bytes_clear(&name);
    tsri_base_bytes_clear(&command);
    return status;
}

static tsr_status descend(void *data, const char *folder, const char *entry) {
    walk *w = data;
    char *path = tsri_base_join(folder, entry);
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && w->depth == 3) {
        status = tsri_base_is_file(path) ? list_manifest(w, path, entry) : TSR_OK;
    } else if (status == TSR_OK && tsri_base_is_folder(path)) {
        w->parts[w->depth++] = entry;
        status = tsri_model_each_entry(path, descend, w);
        w->depth--;
    }
    free(path);
    return status;
}

static tsr_status list(const char *store, const tsri_model_visit *visit) {
    walk w = {.visit = visit, .store = store};
    char *manifests = tsri_base_join(store, "manifests");
    if (!manifests)
        return TSR_E_HOST_MEMORY;
    const tsr_status status = tsri_model_each_entry(manifests, descend, &w);
    free(manifests);
    return status;
}

const tsri_model_place tsri_model_ollama = {
    .name = "Ollama", .folder = users, .find = find, .list = list};
const tsri_model_place tsri_model_ollama_service = {
    .name = "Ollama's service", .folder = services, .find = find, .list = list};
