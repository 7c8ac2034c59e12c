/* base/files.c - files that are read in checked pieces, and files that are written beside their
 * place and then renamed to it. */
#include "base/files.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/system/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tsr_status no_access(const char *path, const char *doing) {
    return tsri_base_fail(TSR_E_IO, "%s: cannot %s: %s", path, doing, strerror(errno));
}

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static int64_t modified_at(const struct stat *facts) {
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

tsr_status tsri_base_file_open(const char *path, tsri_file **out) {
    /* O_NONBLOCK: opening a FIFO that no process writes to must not wait. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return no_access(path, "open");
    tsr_status status = TSR_OK;
    tsri_file *file = NULL;
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        status = no_access(path, "examine");
    else if (!S_ISREG(facts.st_mode))
        status = tsri_base_fail(TSR_E_FORMAT, "%s is %s; a regular file is needed", path,
                                kind_of(facts.st_mode));
    else
        status = tsri_base_new(1, sizeof *file, &file);
    if (status == TSR_OK && !(file->path = tsri_base_copy_text(path, strlen(path))))
        status = TSR_E_HOST_MEMORY;
    if (status != TSR_OK) {
        free(file);
        close(fd);
        return status;
    }
    file->fd = fd;
    file->size = (uint64_t)facts.st_size;
    file->modified = modified_at(&facts);
    *out = file;
    return TSR_OK;
}

tsr_status tsri_base_file_read(const tsri_file *file, uint64_t offset, void *out, size_t n) {
    if (offset > file->size || n > file->size - offset)
        return tsri_base_fail(TSR_E_IO,
                              "%s: can't read %zu bytes at byte %" PRIu64 ": the file has %" PRIu64
                              " bytes",
                              file->path, n, offset, file->size);
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(file->fd, (char *)out + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return no_access(file->path, "read");
        if (got == 0)
            return tsri_base_fail(TSR_E_IO,
                                  "%s shrank while it was read: it had %" PRIu64
                                  " bytes and now ends at byte %" PRIu64,
                                  file->path, file->size, offset + done);
        done += (size_t)got;
    }
    return TSR_OK;
}

bool tsri_base_file_changed(const tsri_file *file) {
    struct stat facts;
    return fstat(file->fd, &facts) != 0 || (uint64_t)facts.st_size != file->size ||
           modified_at(&facts) != file->modified;
}

void tsri_base_file_forget(const tsri_file *file, uint64_t offset, uint64_t n) {
    posix_fadvise(file->fd, (off_t)offset, (off_t)n, POSIX_FADV_DONTNEED);
}

void tsri_base_file_close(tsri_file **file) {
    if (!*file)
        return;
    close((*file)->fd);
    free((*file)->path);
    free(*file);
    *file = NULL;
}

tsr_status tsri_base_read_whole(const char *path, size_t limit, tsri_bytes *out) {
    tsri_file *file = NULL;
    tsri_bytes bytes = {0};
    TRY(tsri_base_file_open(path, &file));
    tsr_status status = TSR_OK;
    if (file->size > limit || file->size == SIZE_MAX)
        status = tsri_base_fail(TSR_E_FORMAT, "%s has %" PRIu64 " bytes; at most %zu are read",
                                path, file->size, limit);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)file->size + 1, 1, &bytes.data);
    if (status == TSR_OK) {
        bytes.size = (size_t)file->size;
        bytes.capacity = bytes.size + 1;
        status = tsri_base_file_read(file, 0, bytes.data, bytes.size);
    }
    tsri_base_file_close(&file);
    if (status != TSR_OK)
        tsri_base_bytes_clear(&bytes);
    else
        *out = bytes;
    return status;
}

struct tsri_file_writer {
    int fd;
    char *path;      /* the place that commit gives it */
    char *temporary; /* where it is now; NULL: in its place */
};

static void writer_free(tsri_file_writer **writer) {
    if ((*writer)->fd >= 0)
        close((*writer)->fd);
    free((*writer)->path);
    free((*writer)->temporary);
    free(*writer);
    *writer = NULL;
}

/* Finds a free name beside the target; a killed process may have left files there. */
static tsr_status open_temporary(tsri_file_writer *writer) {
    for (int i = 0; i < 1000; i++) {
        tsri_bytes name = {0};
        TRY(tsri_base_bytes_printf(&name, "%s.%ld-%d.tmp", writer->path, (long)getpid(), i));
        writer->fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0) {
            writer->temporary = name.data;
            return TSR_OK;
        }
        const int why = errno;
        tsri_base_bytes_clear(&name);
        errno = why;
        if (why != EEXIST)
            break;
    }
    return no_access(writer->path, "make a temporary file beside it");
}

/* A file that a link leads to is replaced, and not the link. */
static tsr_status find_place(const char *path, char **out) {
    *out = tsri_system_target(path);
    return *out              ? TSR_OK
           : errno == ENOMEM ? tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", path)
                             : no_access(path, "follow the link");
}

tsr_status tsri_base_writer_begin(const char *path, tsri_file_writer **out) {
    struct stat facts;
    const bool replaces = stat(path, &facts) == 0;
    if (replaces &&
        !S_ISREG(facts.st_mode)) /* a rename would replace the device or folder itself */
        return tsri_base_fail(TSR_E_IO,
                              "%s is %s, which is never replaced: give the name of a regular file",
                              path, kind_of(facts.st_mode));
    tsri_file_writer *writer = NULL;
    TRY(tsri_base_new(1, sizeof *writer, &writer));
    writer->fd = -1;
    tsr_status status = find_place(path, &writer->path);
    if (status == TSR_OK)
        status = open_temporary(writer);
    if (status != TSR_OK) {
        writer_free(&writer);
        return status;
    }
    if (replaces) /* a file system without modes refuses, and needs none */
        (void)fchmod(writer->fd, facts.st_mode & 0777);
    *out = writer;
    return TSR_OK;
}

tsr_status tsri_base_writer_join(const char *path, tsri_file_writer **out) {
    tsri_file_writer *writer = NULL;
    TRY(tsri_base_new(1, sizeof *writer, &writer));
    tsr_status status = TSR_OK;
    writer->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (writer->fd < 0)
        status = no_access(path, "open for writing");
    else if (!(writer->path = tsri_base_copy_text(path, strlen(path))))
        status = TSR_E_HOST_MEMORY;
    if (status != TSR_OK)
        writer_free(&writer);
    else
        *out = writer;
    return status;
}

/* A file system should never do this; trying again could go on for ever. */
static tsr_status wrote_nothing(const char *path) {
    return tsri_base_fail(TSR_E_IO, "%s: the system accepted no more bytes; check the file system",
                          path);
}

/* At an offset, or after what was written before where that is negative. */
static tsr_status write_at(const tsri_file_writer *writer, int64_t offset, const char *data,
                           size_t n) {
    for (size_t done = 0; done < n;) {
        const ssize_t put =
            offset < 0 ? write(writer->fd, data + done, n - done)
                       : pwrite(writer->fd, data + done, n - done, (off_t)offset + (off_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return no_access(writer->path, "write");
        if (put == 0)
            return wrote_nothing(writer->path);
        done += (size_t)put;
    }
    return TSR_OK;
}

tsr_status tsri_base_writer_write(tsri_file_writer *writer, const void *data, size_t n) {
    return write_at(writer, -1, data, n);
}

tsr_status tsri_base_writer_patch(tsri_file_writer *writer, uint64_t offset, const void *data,
                                  size_t n) {
    return write_at(writer, (int64_t)offset, data, n);
}

char *tsri_base_parent(const char *path) {
    const char *slash = tsri_system_last_slash(path);
    return slash ? tsri_base_copy_text(path, slash == path ? 1 : (size_t)(slash - path))
                 : tsri_base_copy_text(".", 1);
}

/* Makes a rename in the folder of `path` survive a power cut. A file system that does not support
 * this is not a failure. */
static tsr_status sync_folder_of(const char *path) {
    char *folder = tsri_base_parent(path);
    if (!folder)
        return TSR_E_HOST_MEMORY;
    tsr_status status = TSR_OK;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        status = no_access(folder, "sync");
    if (fd >= 0)
        close(fd);
    free(folder);
    return status;
}

tsr_status tsri_base_writer_commit(tsri_file_writer **writer) {
    tsri_file_writer *w = *writer;
    tsr_status status = TSR_OK;
    if (fsync(w->fd) != 0)
        status = no_access(w->path, "sync");
    if (close(w->fd) != 0 && status == TSR_OK)
        status = no_access(w->path, "close");
    w->fd = -1;
    if (status == TSR_OK && w->temporary && rename(w->temporary, w->path) != 0)
        status = no_access(w->path, "rename the finished file to it");
    if (status == TSR_OK)
        status = sync_folder_of(w->path);
    else if (w->temporary)
        unlink(w->temporary);
    writer_free(writer);
    return status;
}

void tsri_base_writer_abandon(tsri_file_writer **writer) {
    if (!*writer)
        return;
    if ((*writer)->temporary)
        unlink((*writer)->temporary);
    writer_free(writer);
}

tsr_status tsri_base_write_whole(const char *path, const void *data, size_t n) {
    tsri_file_writer *writer = NULL;
    TRY(tsri_base_writer_begin(path, &writer));
    const tsr_status status = tsri_base_writer_write(writer, data, n);
    if (status == TSR_OK)
        return tsri_base_writer_commit(&writer);
    tsri_base_writer_abandon(&writer);
    return status;
}

bool tsri_base_is_folder(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool tsri_base_is_file(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

char *tsri_base_join(const char *folder, const char *name) {
    tsri_bytes path = {0};
    if (tsri_base_bytes_printf(&path, "%s/%s", folder, name) != TSR_OK)
        tsri_base_bytes_clear(&path);
    return path.data;
}

tsr_status tsri_base_make_folders(const char *path) {
    char *partial = tsri_base_copy_text(path, strlen(path));
    if (!partial)
        return TSR_E_HOST_MEMORY;
    tsr_status status = TSR_OK;
    for (char *at = partial + 1; status == TSR_OK && *partial; at++) {
        const char here = *at;
        if (here != 0 && !tsri_system_is_slash(here))
            continue;
        *at = 0;
        if (mkdir(partial, 0700) != 0 && !tsri_base_is_folder(partial))
            status = no_access(partial, "make the folder");
        *at = here;
        if (!here)
            break;
    }
    free(partial);
    return status;
}

char *tsri_base_cache_folder(void) {
    const char *own = getenv("TESSERA_CACHE"), *shared = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (own && *own)
        return tsri_base_copy_text(own, strlen(own));
    if (shared && tsri_system_is_absolute(shared)) /* the XDG rule: a relative path is ignored */
        return tsri_base_join(shared, "tessera");
    return home && *home ? tsri_base_join(home, ".cache/tessera") : NULL;
}
