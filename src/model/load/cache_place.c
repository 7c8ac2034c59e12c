/* model/load/cache_place.c - what the files of caches have in common. */
#include "model/load/cache_place.h"
#include "model/load/caches.h"

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/system/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *tsri_model_first_root(const tsri_model_root *roots, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (roots[i].root && *roots[i].root)
            return roots[i].below ? tsri_base_join(roots[i].root, roots[i].below)
                                  : tsri_base_copy_text(roots[i].root, strlen(roots[i].root));
    return NULL;
}

tsri_model_asked tsri_model_asked_of(char *copy) {
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

void tsri_model_hub_command(const char *name, char *command, size_t room) {
    char *copy = tsri_base_copy_text(name, strlen(name));
    if (!copy) {
        snprintf(command, room, "hf download");
        return;
    }
    const tsri_model_asked a = tsri_model_asked_of(copy);
    snprintf(command, room, "hf download %s%s%s%s%s%s", a.repository,
             a.revision ? " --revision " : "", a.revision ? a.revision : "",
             a.tag ? " --include '*" : "", a.tag ? a.tag : "", a.tag ? "*'" : "");
    free(copy);
}

tsr_status tsri_model_tell_command(tsr_status status, const char *command) {
    const tsri_base_kept why = tsri_base_keep();
    return tsri_base_fail(status, "%s; get it with \"%s\"", why.sentence, command);
}

tsr_status tsri_model_put_failure_off(tsr_status status, tsri_model_put_off *first) {
    if (status != TSR_E_IO && status != TSR_E_FORMAT)
        return status;
    if (first->status == TSR_OK)
        *first = (tsri_model_put_off){.status = status, .why = tsri_base_keep()};
    return TSR_OK;
}

tsr_status tsri_model_fail_now(const tsri_model_put_off *first) {
    if (first->status != TSR_OK)
        tsri_base_restore(first->status, &first->why);
    return first->status;
}

void tsri_model_visit_hub(const tsri_model_visit *visit, const char *name, const char *path) {
    char command[TSRI_MODEL_COMMAND];
    tsri_model_hub_command(name, command, sizeof command);
    visit->each(
        visit->data,
        &(tsr_model_found){.name = name, .path = path, .place = visit->place, .get = command});
}

tsr_status tsri_model_each_entry(const char *folder,
                                 tsr_status (*each)(void *data, const char *folder,
                                                    const char *name),
                                 void *data) {
    struct dirent **entries = NULL;
    tsr_status status = TSR_OK;
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (status == TSR_OK && entries[i]->d_name[0] != '.')
            status = each(data, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return status;
}
