/* model/load/caches.c - the table of caches, and the names that they understand. */
#include "model/load/caches.h"
#include "model/load/cache_place.h"

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

static tsr_status search(const tsri_model_asked *asked, const tsri_model_place **place,
                         char **path) {
    for (size_t i = 0; i < PLACES && !*path; i++) {
        char *folder = places[i]->folder();
        const tsr_status status =
            folder && tsri_base_is_folder(folder) ? places[i]->find(folder, asked, path) : TSR_OK;
        *place = places[i];
        free(folder);
        TRY(status);
    }
    return TSR_OK;
}

/* *place: where it is found. */
static tsr_status find(const char *name, const tsri_model_place **place, char **path) {
    char *copy = tsri_base_copy_text(name, strlen(name));
    *path = NULL;
    if (!copy)
        return TSR_E_HOST_MEMORY;
    const tsri_model_asked asked = tsri_model_asked_of(copy);
    const tsr_status status = is_name(asked.repository) ? search(&asked, place, path) : TSR_OK;
    free(copy);
    return status;
}

tsr_status tsri_model_cached(const char *name, char **path) {
    const tsri_model_place *place;
    return find(name, &place, path);
}

tsr_status tsri_model_tell_download(tsr_status status, const char *name, const char *path) {
    const tsri_base_kept why = tsri_base_keep();
    const tsri_model_place *place = NULL;
    char *cached = NULL, command[TSRI_MODEL_COMMAND];
    if (status != TSR_E_IO || !name)
        return status;
    if (find(name, &place, &cached) == TSR_OK && cached && place->is_hub &&
        !strncmp(path, cached, strlen(cached))) {
        tsri_model_hub_command(name, command, sizeof command);
        tsri_base_fail(status, "%s; get it with \"%s\"", why.sentence, command);
    } else
        tsri_base_restore(status, &why);
    free(cached);
    return status;
}

void tsri_model_download(const char *name, char *command, size_t room) {
    if (strchr(name, '/'))
        tsri_model_hub_command(name, command, room);
    else
        snprintf(command, room, "ollama pull %s", name);
}

tsr_status tsri_model_list_caches(void (*each)(void *data, const char *place, const char *name,
                                               const char *path, const char *get),
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
