/* backend/search.c - searches for plugins, never in the current folder. */
#include "backend/load.h"

#include "base/error.h"
#include "base/files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_library(const struct dirent *entry) {
    const size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && n > 3 && strcmp(entry->d_name + n - 3, ".so") == 0;
}

static tsr_status add_folder(const char *folder, tsri_bytes *paths) {
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_library, alphasort);
    tsr_status status = TSR_OK;
    for (int i = 0; i < n; i++) {
        if (status == TSR_OK)
            status = tsri_base_bytes_printf(paths, "%s/%s", folder, entries[i]->d_name);
        if (status == TSR_OK)
            status = tsri_base_bytes_append(paths, "", 1);
        free(entries[i]);
    }
    free(entries);
    return status; /* a folder that doesn't exist has no plugins */
}

/* The path of the file that contains this code: the library, or the program that it was linked
 * into. */
static const char *own_file(char path[PATH_MAX]) {
    static const char here;
    Dl_info info;
    if (dladdr(&here, &info) && info.dli_fname && strchr(info.dli_fname, '/') &&
        realpath(info.dli_fname, path))
        return path;
    return realpath("/proc/self/exe", path); /* a program that was started by its name alone */
}

static tsr_status add_install_folder(tsri_bytes *paths) {
    static const char *const below[] = {"tessera/backends", "../lib/tessera/backends"};
    char file[PATH_MAX], folder[PATH_MAX + 32], real[PATH_MAX];
    if (!own_file(file))
        return TSR_OK;
    *strrchr(file, '/') = 0;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        snprintf(folder, sizeof folder, "%s/%s", file, below[i]);
        if (realpath(folder, real))
            TRY(add_folder(real, paths));
    }
    return TSR_OK;
}

tsr_status tsri_backend_search(tsri_bytes *paths,
                               tsr_status (*note)(void *data, const char *sentence), void *data) {
    const char *given = getenv("TESSERA_BACKEND_PATH");
    for (const char *at = given ? given : ""; *at;) {
        const size_t n = strcspn(at, ":");
        char folder[PATH_MAX], sentence[PATH_MAX + 80];
        snprintf(folder, sizeof folder, "%.*s", (int)(n < PATH_MAX ? n : PATH_MAX - 1), at);
        if (folder[0] == '/')
            TRY(add_folder(folder, paths));
        else if (folder[0]) {
            snprintf(sentence, sizeof sentence,
                     "TESSERA_BACKEND_PATH: \"%s\" is skipped: it is not an absolute path", folder);
            TRY(note(data, sentence));
        }
        at += n + (at[n] == ':');
    }
    return add_install_folder(paths);
}
