/* model/load/caches.c - the table of caches, and the names that they understand. */
#include "model/load/caches.h"
#include "model/load/cache_place.h"
#include "model/load/quants.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they are searched. */
static const tsri_model_place *const places[] = {&tsri_model_hugging_face, &tsri_model_llama_cpp,
                                                 &tsri_model_ollama, &tsri_model_ollama_service};
enum { PLACES = sizeof places / sizeof *places };

/* Whether a repository's name can be one: words with single slashes between them. */
static bool is_name(const char *repository) {
    return *repository && *repository != '/' && *repository != '.' && !strstr(repository, "//") &&
           !strstr(repository, "..") && repository[strlen(repository) - 1] != '/';
}

/* Refuses a link whose file is gone; Ollama's places do so themselves. */
static tsr_status find_in(const tsri_model_place *place, const tsri_model_asked *asked,
                          const char *name, char **path) {
    char *folder = place->folder(), command[TSRI_MODEL_COMMAND];
    const tsr_status status =
        folder && tsri_base_is_folder(folder) ? place->find(folder, asked, path) : TSR_OK;
    free(folder);
    if (status != TSR_OK || !*path || tsri_base_is_folder(*path) || tsri_base_is_file(*path))
        return status;
    tsri_base_fail(TSR_E_IO, "%s is gone", *path);
    free(*path);
    *path = NULL;
    tsri_model_hub_command(name, command, sizeof command);
    return tsri_model_tell_command(TSR_E_IO, command);
}

static tsr_status search(const tsri_model_asked *asked, const char *name,
                         const tsri_model_place **place, char **path) {
    tsri_model_put_off first = {0};
    for (size_t i = 0; i < PLACES && !*path; i++) {
        *place = places[i];
        TRY(tsri_model_put_failure_off(find_in(places[i], asked, name, path), &first));
    }
    return *path ? TSR_OK : tsri_model_fail_now(&first);
}

/* *place: where it is found. */
static tsr_status find(const char *name, const tsri_model_place **place, char **path) {
    char *copy = tsri_base_copy_text(name, strlen(name));
    *path = NULL;
    if (!copy)
        return TSR_E_HOST_MEMORY;
    const tsri_model_asked asked = tsri_model_asked_of(copy);
    const tsr_status status =
        is_name(asked.repository) ? search(&asked, name, place, path) : TSR_OK;
    free(copy);
    return status;
}

tsr_status tsri_model_cached(const char *name, char **path) {
    const tsri_model_place *place;
    return find(name, &place, path);
}

/* Whether a sentence begins with the path of a folder, or of a file or another part of its model. */
static bool is_about(const char *sentence, const char *path) {
    int parts;
    const size_t n = tsri_base_is_folder(path) ? strlen(path) : tsri_model_gguf_stem(path, &parts);
    return n && !strncmp(sentence, path, n);
}

tsr_status tsri_model_tell_download(tsr_status status, const char *name) {
    const tsri_base_kept why = tsri_base_keep();
    const tsri_model_place *place = NULL;
    char *cached = NULL, command[TSRI_MODEL_COMMAND];
    if (status != TSR_E_IO || !name)
        return status;
    const bool lacks = find(name, &place, &cached) == TSR_OK && cached && place->is_hub &&
                       is_about(why.sentence, cached);
    free(cached);
    tsri_base_restore(status, &why);
    if (lacks) {
        tsri_model_hub_command(name, command, sizeof command);
        tsri_model_tell_command(status, command);
    }
    return status;
}

bool tsri_model_names_host(const char *name) {
    static const char *const hosts[] = {"hf.co/", "huggingface.co/", "registry.ollama.ai/"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (!strncmp(name, hosts[i], strlen(hosts[i])))
            return true;
    return false;
}

void tsri_model_get_command(const char *name, char *command, size_t room) {
    if (strchr(name, '/') && !tsri_model_names_host(name))
        tsri_model_hub_command(name, command, room);
    else
        snprintf(command, room, "ollama pull %s", name);
}

tsr_status tsri_model_list_caches(void (*each)(void *data, const tsr_model_found *model),
                                  void *data) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < PLACES && status == TSR_OK; i++) {
        const tsri_model_visit visit = {.each = each, .data = data, .place = places[i]->name};
        char *folder = places[i]->folder();
        if (folder && tsri_base_is_folder(folder))
            status = places[i]->list(folder, &visit);
        free(folder);
    }
    return status;
}
