/* base/files.h - reading files with checks, and writing that never leaves half a file. */
#ifndef TSRI_BASE_FILES_H
#define TSRI_BASE_FILES_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* A regular file that is open for reading at offsets. `size` is the size that it had when it was
 * opened. If the file becomes shorter later, the read that needs the missing bytes fails; there is
 * never a fault. */
typedef struct tsri_file {
    int fd;
    char *path;
    uint64_t size;
    int64_t modified; /* modification time when it was opened, in nanoseconds */
} tsri_file;

/* TSR_E_IO where it cannot be opened; TSR_E_FORMAT where it is not a regular file (a folder, FIFO
 * or device). Symbolic links are followed. */
tsr_status tsri_base_file_open(const char *path, tsri_file **out);
/* Reads exactly n bytes from `offset`, or fails: TSR_E_IO where the file has fewer ("shrank while
 * it was read"). */
tsr_status tsri_base_file_read(const tsri_file *file, uint64_t offset, void *out, size_t n);
/* Whether the file was written since it was opened. It does not tell whether its name now belongs
 * to another file. */
bool tsri_base_file_changed(const tsri_file *file);
/* Tells the system that these bytes will not be read again. */
void tsri_base_file_forget(const tsri_file *file, uint64_t offset, uint64_t n);
void tsri_base_file_close(tsri_file **file);

/* Reads the whole file; TSR_E_FORMAT where it is larger than `limit` bytes. */
tsr_status tsri_base_read_whole(const char *path, size_t limit, tsri_bytes *out);

/* Writes a temporary file (O_EXCL) in the same folder, then fsync, rename, and fsync of the folder:
 * `path` is the old file or the new one, whole. Where it is a link, this is done to the file that it leads
 * to; a file that is replaced keeps its permissions. */
tsr_status tsri_base_write_whole(const char *path, const void *data, size_t n);
/* The same in several steps: begin, any number of writes, then commit (renames the file) or abandon
 * (removes it); both free the writer. */
typedef struct tsri_file_writer tsri_file_writer;
tsr_status tsri_base_writer_begin(const char *path, tsri_file_writer **out);
tsr_status tsri_base_writer_write(tsri_file_writer *writer, const void *data, size_t n);
/* Writes to a file that exists, and that other processes may write to as well, by tsri_base_writer_patch
 * alone. Commit syncs it; neither commit nor abandon renames or removes it.
 * It is open for writing alone: then a client of NFS sends the bytes that were written and no others. */
tsr_status tsri_base_writer_join(const char *path, tsri_file_writer **out);
/* Writes n bytes at `offset`, over what was written before or behind it; later writes still append. */
tsr_status tsri_base_writer_patch(tsri_file_writer *writer, uint64_t offset, const void *data,
                                  size_t n);
tsr_status tsri_base_writer_commit(tsri_file_writer **writer);
void tsri_base_writer_abandon(tsri_file_writer **writer);

bool tsri_base_is_folder(const char *path);
bool tsri_base_is_file(const char *path); /* a regular file; links are followed */
/* folder + "/" + name in new memory; NULL, with the error reported, where there is too little
 * memory. */
char *tsri_base_join(const char *folder, const char *name);
/* The folder that holds `path`, likewise: "." for a bare name. */
char *tsri_base_parent(const char *path);
/* As mkdir -p; new folders get mode 0700. */
tsr_status tsri_base_make_folders(const char *path);
/* The cache folder, in new memory: TESSERA_CACHE, else $XDG_CACHE_HOME/tessera, else
 * ~/.cache/tessera, else NULL (no home). */
char *tsri_base_cache_folder(void);

#endif
