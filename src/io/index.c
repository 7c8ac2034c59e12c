/* io/index.c - reads model.safetensors.index.json, which tells which shard has which tensor. */
#include "base/error.h"
#include "base/json.h"
#include "base/system/paths.h"
#include "io/format.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INDEX = 100000000, MAX_DEPTH = 8, MAX_SHARDS = 4096 };

/* A shard must be in the folder of the index, under a plain name. (The file of that name may be a
 * symbolic link, as in the Hugging Face cache: the link was made with the folder, but the index is
 * text from elsewhere.) */
static tsr_status check_shard_name(const char *path, const char *own, const json_t *value) {
    if (!json_is_string(value))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: every value of \"weight_map\" must be a file's name", path);
    const char *name = json_string_value(value);
    const char *why = NULL;
    if (*name == 0)
        why = "it is empty";
    else if (*name == '/')
        why = "it is an absolute path";
    else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strchr(name, '/') ||
             strchr(name, '\\'))
        why = "it is not in the folder: a plain name is needed, without '/', '\\' or '..'";
    else if (strcmp(name, own) == 0)
        why = "that is the index itself";
    else if (strlen(name) > 255)
        why = "it has more than 255 bytes";
    if (why)
        return tsri_base_fail(TSR_E_FORMAT, "%s: shard \"%.300s\": %s", path, name, why);
    return TSR_OK;
}

/* Lists the distinct shards, each with its index in the archive's files. */
static tsr_status list_shards(const char *path, const char *own, json_t *map, json_t *shards) {
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value) {
        TRY(check_shard_name(path, own, value));
        const char *shard = json_string_value(value);
        if (json_object_get(shards, shard))
            continue;
        if (json_object_size(shards) == MAX_SHARDS)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s names more than %d shards; at most that many are read", path,
                                  MAX_SHARDS);
        if (json_object_set_new(shards, shard,
                                json_integer((json_int_t)json_object_size(shards))) != 0)
            return tsri_base_fail(TSR_E_HOST_MEMORY,
                                  "%s: out of host memory while its shards were listed", path);
    }
    return TSR_OK;
}

static tsr_status read_shards(tsri_io_archive *archive, const char *path, size_t folder,
                              json_t *shards) {
    const char *name;
    json_t *value;
    json_object_foreach(shards, name, value) {
        tsri_bytes shard = {0};
        TRY(tsri_base_bytes_printf(&shard, "%.*s%s", (int)folder, path, name));
        tsr_status status = TSR_OK;
        if (!tsri_base_is_file(shard.data))
            status = tsri_base_fail(
                TSR_E_IO, "%s names shard \"%s\", which is not in its folder; download it too",
                path, name);
        const size_t first = archive->n_values;
        if (status == TSR_OK)
            status = tsri_io_read_safetensors(archive, shard.data);
        if (first > 0) /* each shard repeats the metadata; that of the first is kept */
            tsri_io_drop_values(archive, first);
        tsri_base_bytes_clear(&shard);
        TRY(status);
    }
    return TSR_OK;
}

/* Refuses a map that has a tensor in another shard than the one that holds it. A name that no shard has is passed
 * over, as in transformers, whose maps may list the output matrix of a model that has none of its own: a tensor
 * that the model needs is missed with its weights. Its total_size, which may count such a matrix, is not read. */
static tsr_status check_map(const tsri_io_archive *archive, const char *path, json_t *map,
                            json_t *shards) {
    const char *name;
    json_t *value;
    json_object_foreach(map, name, value) {
        const tsri_io_array *array = tsri_io_find(archive, name);
        const json_int_t file =
            json_integer_value(json_object_get(shards, json_string_value(value)));
        if (array && array->file != (size_t)file)
            return tsri_base_fail(TSR_E_FORMAT,
                                  "%s says that tensor \"%.300s\" is in %s, but %s has it; index "
                                  "and shards do not belong together",
                                  path, name, json_string_value(value),
                                  archive->files[array->file]->path);
    }
    return TSR_OK;
}

tsr_status tsri_io_read_index(tsri_io_archive *archive, const char *path) {
    const char *slash = tsri_system_last_slash(path), *own = slash ? slash + 1 : path;
    json_t *root = NULL, *shards = json_object();
    tsr_status status = TSR_OK;
    if (!shards)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", path);
    status = tsri_base_json_load(path, MAX_INDEX, MAX_DEPTH, &root);
    if (status != TSR_OK)
        goto out;
    json_t *map = json_object_get(root, "weight_map");
    if (!json_is_object(map) || json_object_size(map) == 0) {
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s has no \"weight_map\" that names the tensors, so it is not an "
                                "index of safetensors shards",
                                path);
        goto out;
    }
    status = list_shards(path, own, map, shards);
    if (status == TSR_OK)
        status = read_shards(archive, path, (size_t)(own - path), shards);
    if (status == TSR_OK)
        status = tsri_io_seal(archive);
    if (status == TSR_OK)
        status = check_map(archive, path, map, shards);
out:
    json_decref(root);
    json_decref(shards);
    return status;
}
