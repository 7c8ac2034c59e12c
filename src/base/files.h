/* base/files.h - whole files, checked; writing that never leaves half a file. */
#ifndef TSRI_BASE_FILES_H
#define TSRI_BASE_FILES_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* A regular file opened for reading at offsets. `size` is what it had when it was opened: a later
 * shrink or replacement is an error of the read that meets it, never a fault. */
typedef struct tsri_file {
    int fd;
    char *path;
    uint64_t size;
    int64_t modified; /* when it was opened: nanoseconds */
} tsri_file;

/* TSR_E_IO where it cannot be opened, TSR_E_FORMAT where it is no regular file (a folder, FIFO or
 * device). Symbolic links are followed. */
tsr_status tsri_base_file_open(const char *path, tsri_file **out);
/* Exactly n bytes from `offset`, or an error: short is TSR_E_IO ("shrank while it was read"). */
tsr_status tsri_base_file_read(const tsri_file *file, uint64_t offset, void *out, size_t n);
/* Whether it was written since it was opened; not whether its name stands for another file now. */
bool tsri_base_file_changed(const tsri_file *file);
/* Tells the system that these source pages will not be read again. */
void tsri_base_file_forget(const tsri_file *file, uint64_t offset, uint64_t n);
void tsri_base_file_close(tsri_file **file);

/* The whole file; larger than `limit` bytes is TSR_E_FORMAT. */
tsr_status tsri_base_read_whole(const char *path, size_t limit, tsri_bytes *out);

/* Writes to an O_EXCL temporary in the same folder, fsync, rename, fsync of the folder: the old
 * file or the new one. */
tsr_status tsri_base_write_whole(const char *path, const void *data, size_t n);
/* The same in pieces: begin, any writes, then commit (renames) or abandon (removes). commit and
 * abandon free. */
typedef struct tsri_file_writer tsri_file_writer;
tsr_status tsri_base_writer_begin(const char *path, tsri_file_writer **out);
tsr_status tsri_base_writer_write(tsri_file_writer *writer, const void *data, size_t n);
/* Overwrites n bytes at `offset`, all of them written before; what follows is still appended. */
tsr_status tsri_base_writer_patch(tsri_file_writer *writer, uint64_t offset, const void *data,
                                  size_t n);
tsr_status tsri_base_writer_commit(tsri_file_writer **writer);
void tsri_base_writer_abandon(tsri_file_writer **writer);

bool tsri_base_is_folder(const char *path);
bool tsri_base_is_file(const char *path); /* regular, links followed */
/* folder + "/" + name in new memory; NULL with the error said when memory is out. */
char *tsri_base_join(const char *folder, const char *name);
/* mkdir -p with mode 0700 for what is made. */
tsr_status tsri_base_make_folders(const char *path);
/* $XDG_CACHE_HOME/tessera, else ~/.cache/tessera, else NULL (no home); new memory. TESSERA_CACHE
 * overrides. */
char *tsri_base_cache_folder(void);

#endif
