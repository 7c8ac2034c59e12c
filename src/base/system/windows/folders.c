/* base/system/windows/folders.c - the entries of folders. */
#include "base/system/files.h"

#include "base/system/windows/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

struct tsri_windows_dir {
    HANDLE search;
    WIN32_FIND_DATAW found;
    bool more; /* `found` is the next entry */
    struct dirent entry;
};

DIR *tsri_windows_opendir(const char *path) {
    char pattern[PATH_MAX];
    DIR *dir = calloc(1, sizeof *dir);
    if (!dir)
        return NULL;
    snprintf(pattern, sizeof pattern, "%s/*", path);
    wchar_t *wide = tsri_windows_wide(pattern);
    dir->search = wide ? FindFirstFileW(wide, &dir->found) : INVALID_HANDLE_VALUE;
    if (wide && dir->search == INVALID_HANDLE_VALUE)
        tsri_windows_fail();
    free(wide);
    if (dir->search == INVALID_HANDLE_VALUE) {
        free(dir);
        return NULL;
    }
    dir->more = true;
    return dir;
}

struct dirent *tsri_windows_readdir(DIR *dir) {
    if (!dir->more)
        return NULL;
    char *name = tsri_windows_narrow(dir->found.cFileName);
    dir->more = FindNextFileW(dir->search, &dir->found);
    if (!name)
        return NULL;
    snprintf(dir->entry.d_name, sizeof dir->entry.d_name, "%s", name);
    free(name);
    return &dir->entry;
}

int tsri_windows_closedir(DIR *dir) {
    FindClose(dir->search);
    free(dir);
    return 0;
}

/* By bytes, as in the C locale. */
int tsri_windows_alphasort(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

int tsri_windows_scandir(const char *path, struct dirent ***out,
                         int (*wanted)(const struct dirent *entry),
                         int (*order)(const struct dirent **a, const struct dirent **b)) {
    struct dirent **all = NULL, *entry;
    size_t n = 0, room = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    while ((entry = readdir(dir))) {
        if (wanted && !wanted(entry))
            continue;
        if (n == room) {
            room = 2 * room + 16;
            struct dirent **grown = realloc(all, room * sizeof *all);
            if (!grown)
                break;
            all = grown;
        }
        if (!(all[n] = malloc(sizeof *entry)))
            break;
        *all[n++] = *entry;
    }
    closedir(dir);
    if (entry) { /* out of memory */
        while (n > 0)
            free(all[--n]);
        free(all);
        return -1;
    }
    if (n > 1)
        qsort(all, n, sizeof *all, (int (*)(const void *, const void *))order);
    *out = all;
    return (int)n;
}

static int walk(const char *path,
                int (*visit)(const char *path, const struct stat *facts, int kind,
                             struct FTW *place),
                int level, int flags) {
    struct stat facts;
    struct FTW place = {.level = level};
    int stopped = 0;
    if (lstat(path, &facts) != 0)
        return level ? 0 : -1; /* it was removed meanwhile */
    const char *slash = tsri_system_last_slash(path);
    place.base = slash ? (int)(slash + 1 - path) : 0;
    if (!S_ISDIR(facts.st_mode))
        return visit(path, &facts, FTW_F, &place);
    if (!(flags & FTW_DEPTH))
        stopped = visit(path, &facts, FTW_D, &place);
    struct dirent **entries = NULL;
    const int n = stopped ? 0 : scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char inner[PATH_MAX];
        const char *name = entries[i]->d_name;
        if (!stopped && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            snprintf(inner, sizeof inner, "%s/%s", path, name) < (int)sizeof inner)
            stopped = walk(inner, visit, level + 1, flags);
        free(entries[i]);
    }
    free(entries);
    if (!stopped && flags & FTW_DEPTH)
        stopped = visit(path, &facts, FTW_DP, &place);
    return stopped;
}

int tsri_windows_nftw(const char *path,
                      int (*visit)(const char *path, const struct stat *facts, int kind,
                                   struct FTW *place),
                      int most, int flags) {
    (void)most;
    return walk(path, visit, 0, flags);
}
