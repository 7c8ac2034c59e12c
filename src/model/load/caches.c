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

/* Takes a name apart; `copy` is memory for its parts. */
static tsri_model_asked parts_of(char *copy) {
    tsri_model_asked asked = {.repository = copy};
    char *slash = strrchr(copy, '/'), *tag = strrchr(slash ? slash : copy, ':');
    if (tag) {
        *tag = 0;
        asked.tag = tag + 1;
    }
    char *revision = strchr(copy, '@');
    if (revision) {
        *revision = 0;
        asked.revision = revision + 1;
    }
    return asked;
}

/* Whether a repository's name can be one: words with single slashes between them. */
static bool is_name(const char *repository) {
    return *repository && *repository != '/' && *repository != '.' && !strstr(repository, "//") &&
           !strstr(repository, "..") && repository[strlen(repository) - 1] != '/';
}

static tsr_status search(const tsri_model_asked *asked, char **path) {
    for (size_t i = 0; i < PLACES && !*path; i++) {
        char *folder = places[i]->folder();
        const tsr_status status =
            folder && tsri_base_is_folder(folder) ? places[i]->find(folder, asked, path) : TSR_OK;
        free(folder);
        TRY(status);
    }
    return TSR_OK;
}

tsr_status tsri_model_cached(const char *name, char **path) {
    char *copy = tsri_base_copy_text(name, strlen(name));
    *path = NULL;
    if (!copy)
        return TSR_E_HOST_MEMORY;
    const tsri_model_asked asked = parts_of(copy);
    const tsr_status status = is_name(asked.repository) ? search(&asked, path) : TSR_OK;
    free(copy);
    return status;
}

void tsri_model_download(const char *name, char *command, size_t room) {
    char *copy = tsri_base_copy_text(name, strlen(name));
    if (!copy) {
        snprintf(command, room, "hf download");
        return;
    }
    const tsri_model_asked a = parts_of(copy);
    if (!strchr(a.repository, '/'))
        snprintf(command, room, "ollama pull %s", name);
    else
        snprintf(command, room, "hf download %s%s%s%s%s%s", a.repository,
                 a.revision ? " --revision " : "", a.revision ? a.revision : "",
                 a.tag ? " --include '*" : "", a.tag ? a.tag : "", a.tag ? "*'" : "");
    free(copy);
}

tsr_status tsri_model_list_caches(void (*each)(void *data, const char *place, const char *name,
                                               const char *path),
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
