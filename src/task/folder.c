#include "task/folder.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 30 };

tsr_status tsri_task_folder_of(const char *path, char **out) {
    const char *slash = strrchr(path, '/');
    const size_t n = tsri_base_is_folder(path) ? strlen(path) : slash ? (size_t)(slash - path) : 0;
    *out = n || slash ? tsri_base_copy_text(path, n ? n : 1) : tsri_base_copy_text(".", 1);
    return *out ? TSR_OK : TSR_E_HOST_MEMORY;
}

static tsr_status fail(const char *folder, const char *what) {
    return tsri_base_fail(TSR_E_IO, "%s: could not %s: %s", folder, what, strerror(errno));
}

tsr_status tsri_task_folder_check_free(const char *folder) {
    struct stat facts;
    if (!*folder)
        return tsri_base_fail(TSR_E_ARGUMENT, "the new folder's name is empty");
    if (lstat(folder, &facts) == 0)
        return tsri_base_fail(TSR_E_IO, "%s exists; give the name of a new folder", folder);
    return TSR_OK;
}

tsr_status tsri_task_folder_begin(const char *folder, char **temporary) {
    tsri_bytes name = {0};
    *temporary = NULL;
    for (int i = 0; i < 1000; i++) {
        name.size = 0;
        TRY(tsri_base_bytes_printf(&name, "%s.%ld-%d.tmp", folder, (long)getpid(), i));
        if (mkdir(name.data, 0777) == 0) {
            *temporary = name.data;
            return TSR_OK;
        }
        if (errno != EEXIST)
            break;
    }
    const tsr_status status = fail(folder, "make a folder beside it");
    tsri_base_bytes_clear(&name);
    return status;
}

tsr_status tsri_task_folder_copy(const char *from, const char *name, const char *to) {
    tsri_bytes bytes = {0};
    char *source = tsri_base_join(from, name), *target = tsri_base_join(to, name);
    tsr_status status = source && target ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_file(source)) {
        status = tsri_base_read_whole(source, COPY_BYTES, &bytes);
        if (status == TSR_OK)
            status = tsri_base_write_whole(target, bytes.data, bytes.size);
        tsri_base_bytes_clear(&bytes);
    }
    free(source);
    free(target);
    return status;
}

static void remove_all(const char *folder) {
    DIR *list = opendir(folder);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        char *path = tsri_base_join(folder, entry->d_name);
        if (path)
            unlink(path); /* "." and ".." are no files */
        free(path);
    }
    if (list)
        closedir(list);
    rmdir(folder);
}

tsr_status tsri_task_folder_end(const char *folder, char **temporary, tsr_status status) {
    if (status == TSR_OK)
        status = tsri_task_folder_check_free(folder);
    if (status == TSR_OK && rename(*temporary, folder) != 0)
        status = fail(folder, "rename the finished folder to it");
    if (status != TSR_OK)
        remove_all(*temporary);
    free(*temporary);
    *temporary = NULL;
    return status;
}
