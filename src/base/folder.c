/* base/folder.c - reading folders in order, removing them, renaming them so that the rename
 * survives a power cut, writing new ones beside their place first; and copying files in pieces. */
#include "base/folder.h"

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/system/files.h"
#include "base/system/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

static tsr_status cannot(const char *path, const char *doing) {
    return tsri_base_fail(TSR_E_IO, "%s: cannot %s: %s", path, doing, strerror(errno));
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct names {
    char **items;
    size_t n, room;
} names;

static tsr_status read_names(const char *folder, names *out) {
    DIR *dir = opendir(folder);
    if (!dir)
        return cannot(folder, "read the folder");
    tsr_status status = TSR_OK;
    struct dirent *entry;
    while (status == TSR_OK && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        status = tsri_base_grow(&out->items, &out->room, out->n + 1, sizeof *out->items);
        if (status == TSR_OK &&
            !(out->items[out->n++] = tsri_base_copy_text(entry->d_name, strlen(entry->d_name))))
            status = TSR_E_HOST_MEMORY;
    }
    closedir(dir);
    if (status == TSR_OK && out->n > 1)
        qsort(out->items, out->n, sizeof *out->items, by_bytes);
    return status;
}

tsr_status tsri_base_folder_visit(const char *folder,
                                  tsr_status (*visit)(void *data, const char *name), void *data) {
    names found = {0};
    tsr_status status = read_names(folder, &found);
    for (size_t i = 0; i < found.n; i++) {
        if (status == TSR_OK)
            status = visit(data, found.items[i]);
        free(found.items[i]);
    }
    free(found.items);
    return status;
}

typedef struct walk {
    const char *folder, *inner; /* NULL: in the folder itself */
    tsr_status (*visit)(void *data, const char *name);
    void *data;
} walk;

static tsr_status visit_file(void *data, const char *name) {
    const walk *w = data;
    char *own = w->inner ? tsri_base_join(w->inner, name) : tsri_base_copy_text(name, strlen(name)),
         *path = own ? tsri_base_join(w->folder, own) : NULL;
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && !tsri_base_is_folder(path))
        status = w->visit(w->data, own);
    else if (status == TSR_OK && !w->inner) {
        walk deeper = {.folder = w->folder, .inner = name, .visit = w->visit, .data = w->data};
        status = tsri_base_folder_visit(path, visit_file, &deeper);
    }
    free(own);
    free(path);
    return status;
}

tsr_status tsri_base_folder_visit_files(const char *folder,
                                        tsr_status (*visit)(void *data, const char *name),
                                        void *data) {
    walk w = {.folder = folder, .visit = visit, .data = data};
    return tsri_base_folder_visit(folder, visit_file, &w);
}

tsr_status tsri_base_folder_make_parent(const char *path) {
    char *parent = tsri_base_parent(path);
    if (!parent)
        return TSR_E_HOST_MEMORY;
    const tsr_status status = tsri_base_is_folder(parent) || mkdir(parent, 0777) == 0
                                  ? TSR_OK
                                  : cannot(parent, "make the folder");
    free(parent);
    return status;
}

static tsr_status remove_file(void *data, const char *name) {
    char *path = tsri_base_join(data, name);
    if (!path)
        return TSR_E_HOST_MEMORY;
    tsr_status status = TSR_OK;
    if (unlink(path) != 0 && rmdir(path) != 0 && errno != ENOENT && errno != ENOTEMPTY)
        status = cannot(path, "remove it");
    free(path);
    return status;
}

/* Empties a folder before it is removed; not where a link leads. */
static tsr_status remove_inner(void *data, const char *name) {
    char *path = tsri_base_join(data, name);
    struct stat facts;
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        status = tsri_base_folder_visit(path, remove_file, path);
    free(path);
    return status == TSR_OK ? remove_file(data, name) : status;
}

tsr_status tsri_base_folder_remove(const char *folder, const char *first) {
    if (access(folder, F_OK) != 0)
        return TSR_OK;
    if (first)
        TRY(remove_file((void *)folder, first));
    TRY(tsri_base_folder_visit(folder, remove_inner, (void *)folder));
    return rmdir(folder) == 0 || errno == ENOTEMPTY ? TSR_OK : cannot(folder, "remove the folder");
}

tsr_status tsri_base_folder_sync(const char *folder) {
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cannot(folder, "open the folder");
    tsr_status status = TSR_OK;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) /* a file system that can't sync */
        status = cannot(folder, "sync");
    close(fd);
    return status;
}

tsr_status tsri_base_folder_rename(const char *from, const char *to) {
    char *parent = tsri_base_parent(to);
    if (!parent)
        return TSR_E_HOST_MEMORY;
    const tsr_status status = rename(from, to) == 0
                                  ? tsri_base_folder_sync(parent)
                                  : cannot(to, "rename the finished folder to it");
    free(parent);
    return status;
}

tsr_status tsri_base_folder_anew(const char *folder) {
    TRY(tsri_base_folder_remove(folder, NULL));
    return mkdir(folder, 0777) == 0 ? TSR_OK : cannot(folder, "make the folder");
}

/* ---- a new folder ---- */

tsr_status tsri_base_folder_of(const char *path, char **out) {
    *out = tsri_base_is_folder(path) ? tsri_base_copy_text(path, strlen(path))
                                     : tsri_base_parent(path);
    return *out ? TSR_OK : TSR_E_HOST_MEMORY;
}

size_t tsri_base_folder_length(const char *folder) {
    size_t n = strlen(folder);
    while (n > 1 && tsri_system_is_slash(folder[n - 1]))
        n--;
    return n;
}

tsr_status tsri_base_folder_check_free(const char *folder) {
    struct stat facts;
    if (!*folder)
        return tsri_base_fail(TSR_E_ARGUMENT, "the new folder's name is empty");
    char *name = tsri_base_copy_text(folder, tsri_base_folder_length(folder));
    if (!name)
        return TSR_E_HOST_MEMORY;
    const tsr_status status =
        lstat(name, &facts) == 0
            ? tsri_base_fail(TSR_E_IO, "%s exists; give the name of a new folder", name)
            : TSR_OK;
    free(name);
    return status;
}

tsr_status tsri_base_folder_temporary(const char *name, char **out) {
    const char *place = tsri_system_temporary_folder();
    tsri_bytes path = {0};
    *out = NULL;
    TRY(tsri_base_bytes_printf(&path, "%s/%s-XXXXXX", place, name));
    if ((*out = mkdtemp(path.data)))
        return TSR_OK;
    const tsr_status status = cannot(place, "make a temporary folder");
    tsri_base_bytes_clear(&path);
    return status;
}

tsr_status tsri_base_folder_begin(const char *folder, char **temporary) {
    tsri_bytes name = {0};
    const int length = (int)tsri_base_folder_length(folder);
    *temporary = NULL;
    for (int i = 0; i < 1000; i++) {
        name.size = 0;
        TRY(tsri_base_bytes_printf(&name, "%.*s.%ld-%d.tmp", length, folder, (long)getpid(), i));
        if (mkdir(name.data, 0777) == 0) {
            *temporary = name.data;
            return TSR_OK;
        }
        if (errno != EEXIST)
            break;
    }
    const tsr_status status = cannot(folder, "make a folder beside it");
    tsri_base_bytes_clear(&name);
    return status;
}

/* Removes an unfinished folder. What is told is why it was not finished, also where this fails. */
static void discard(char *folder, tsr_status status) {
    const tsri_base_kept why = tsri_base_keep();
    (void)tsri_base_folder_remove(folder, NULL);
    tsri_base_restore(status, &why);
}

static tsr_status put_in_place(const char *temporary, const char *folder) {
    TRY(tsri_base_folder_check_free(folder));
    TRY(tsri_base_folder_sync(temporary));
    char *name = tsri_base_copy_text(folder, tsri_base_folder_length(folder));
    const tsr_status status = name ? tsri_base_folder_rename(temporary, name) : TSR_E_HOST_MEMORY;
    free(name);
    return status;
}

tsr_status tsri_base_folder_end(const char *folder, char **temporary, tsr_status status) {
    if (status == TSR_OK)
        status = put_in_place(*temporary, folder);
    if (status != TSR_OK && access(*temporary, F_OK) == 0)
        discard(*temporary, status);
    free(*temporary);
    *temporary = NULL;
    return status;
}

/* ---- files ---- */

/* Gives a file to `take` in pieces. */
static tsr_status each_piece(const char *path, tsr_status (*take)(void *, const void *, size_t),
                             void *data, uint64_t *size) {
    tsri_file *file = NULL;
    void *piece = NULL;
    TRY(tsri_base_file_open(path, &file));
    tsr_status status = tsri_base_new_aligned(PIECE, &piece);
    *size = file->size;
    for (uint64_t at = 0; at < file->size && status == TSR_OK; at += PIECE) {
        const size_t n = file->size - at < PIECE ? (size_t)(file->size - at) : PIECE;
        status = tsri_base_file_read(file, at, piece, n);
        if (status == TSR_OK)
            status = take(data, piece, n);
    }
    tsri_system_free_aligned(piece);
    tsri_base_file_close(&file);
    return status;
}

static tsr_status add_to_hash(void *hash, const void *data, size_t n) {
    tsri_base_hash_add(hash, data, n);
    return TSR_OK;
}

tsr_status tsri_base_file_digest(const char *path, uint64_t *size, char hex[65]) {
    tsri_hash *hash = NULL;
    TRY(tsri_base_hash_begin(&hash));
    const tsr_status status = each_piece(path, add_to_hash, hash, size);
    tsri_base_hash_end_hex(&hash, hex);
    return status;
}

static tsr_status add_to_file(void *writer, const void *data, size_t n) {
    return tsri_base_writer_write(writer, data, n);
}

tsr_status tsri_base_file_copy(const char *from, const char *to) {
    tsri_file_writer *writer = NULL;
    uint64_t size;
    TRY(tsri_base_writer_begin(to, &writer));
    const tsr_status status = each_piece(from, add_to_file, writer, &size);
    if (status == TSR_OK)
        return tsri_base_writer_commit(&writer);
    tsri_base_writer_abandon(&writer);
    return status;
}

typedef struct copying {
    const char *from, *to;
    bool (*takes)(const char *name);
} copying;

static tsr_status copy_file(void *data, const char *name) {
    const copying *c = data;
    if (c->takes && !c->takes(name))
        return TSR_OK;
    char *source = tsri_base_join(c->from, name), *target = tsri_base_join(c->to, name);
    tsr_status status = source && target ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && tsri_base_is_file(source) && access(target, F_OK) != 0)
        status = tsri_base_file_copy(source, target);
    free(source);
    free(target);
    return status;
}

tsr_status tsri_base_folder_copy(const char *from, const char *to,
                                 bool (*takes)(const char *name)) {
    copying c = {.from = from, .to = to, .takes = takes};
    if (!tsri_base_is_folder(from))
        return TSR_OK;
    if (mkdir(to, 0777) != 0 && errno != EEXIST)
        return cannot(to, "make the folder");
    return tsri_base_folder_visit(from, copy_file, &c);
}

tsr_status tsri_base_file_link(const char *from, const char *to) {
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.%ld.tmp", to, (long)getpid()) >= (int)sizeof beside)
        return tsri_base_file_copy(from, to);
    unlink(beside);
    if (link(from, beside) != 0)
        return tsri_base_file_copy(from, to);
    if (rename(beside, to) != 0) {
        const tsr_status status = cannot(to, "rename the finished file to it");
        unlink(beside);
        return status;
    }
    unlink(beside); /* where both names are one file already, rename leaves it there */
    return TSR_OK;
}
