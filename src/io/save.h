/* io/save.h - writes safetensors files, whole or not at all. */
#ifndef TSRI_IO_SAVE_H
#define TSRI_IO_SAVE_H

#include "tessera/tensor.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tsri_io_entry {
    const char *name; /* UTF-8, not empty, not "__metadata__", at most 1024 bytes */
    tsr_dtype dtype;  /* not a block type */
    int rank;
    int64_t dims[8];
    const void *data; /* the bytes for tsri_io_save; otherwise at the caller's disposal */
} tsri_io_entry;

typedef struct tsri_io_saver tsri_io_saver;

/* Sorts entries into the order of the official writer: by dtype, the widest first, then by name. So
 * each array is aligned to its items. */
void tsri_io_save_order(tsri_io_entry *entries, size_t n);

/* Sorts `entries` (tsri_io_save_order), and writes the header. The bytes of the arrays follow
 * in that order, in pieces of any size; where their number is not that in the header, commit fails
 * and removes the temporary file.
 * `metadata` is 2*n_metadata strings: key, value, key, value, ...
 *
 * owner   the caller commits or abandons *out. Everything else is borrowed for the call
 * error   TSR_E_ARGUMENT  a rule above is broken, or a name occurs twice
 *         TSR_E_IO        the file cannot be created
 */
tsr_status tsri_io_save_begin(const char *path, tsri_io_entry *entries, size_t n,
                              const char *const *metadata, size_t n_metadata, tsri_io_saver **out);
tsr_status tsri_io_save_write(tsri_io_saver *saver, const void *data, size_t bytes);
tsr_status tsri_io_save_commit(tsri_io_saver **saver); /* frees, also after a failure */
void tsri_io_save_abandon(tsri_io_saver **saver);

/* Begins, calls `write` for each entry in that order, and commits; after a failure nothing is left
 * behind. */
typedef tsr_status (*tsri_io_write)(void *data, const tsri_io_entry *entry, tsri_io_saver *saver);
tsr_status tsri_io_save_each(const char *path, tsri_io_entry *entries, size_t n,
                             const char *const *metadata, size_t n_metadata, tsri_io_write write,
                             void *data);

/* Writes all at once, from each entry's data. */
tsr_status tsri_io_save(const char *path, tsri_io_entry *entries, size_t n,
                        const char *const *metadata, size_t n_metadata);

/* ---- a file that several processes write ----
 *
 * One process makes it; when that is done, each opens it, with the same entries, and writes bytes that no
 * other writes. It is whole when all have committed. Then it has the bytes that tsri_io_save gives. It has
 * no temporary name: the folder that it lies in is what appears whole or not at all. */
typedef struct tsri_io_slices tsri_io_slices;

/* Writes the header, and gives the file its size. Arguments and errors are those of tsri_io_save_begin. */
tsr_status tsri_io_slices_make(const char *path, tsri_io_entry *entries, size_t n,
                               const char *const *metadata, size_t n_metadata);
/* Opens the file for writing alone. `entries` are sorted, and their places then are the numbers of the
 * arrays. The caller commits or abandons *out. */
tsr_status tsri_io_slices_open(const char *path, tsri_io_entry *entries, size_t n,
                               const char *const *metadata, size_t n_metadata,
                               tsri_io_slices **out);
/* Bytes of array `i` that are in a rank's share, where each of `size` ranks writes as many bytes of the
 * file as the others; they begin at byte *first of the array. 0: there are no such bytes. */
uint64_t tsri_io_slices_share(const tsri_io_slices *slices, size_t i, uint32_t rank, uint32_t size,
                              uint64_t *first);
/* Writes bytes of array `i`, from its byte `first` on.
 * error   TSR_E_ARGUMENT  the array has fewer
 *         TSR_E_IO        they can't be written */
tsr_status tsri_io_slices_write(tsri_io_slices *slices, size_t i, uint64_t first, const void *data,
                                uint64_t bytes);
tsr_status tsri_io_slices_commit(tsri_io_slices **slices); /* frees, also after a failure */
/* Frees, and leaves the file where it is; *slices may be NULL. */
void tsri_io_slices_abandon(tsri_io_slices **slices);

#endif
