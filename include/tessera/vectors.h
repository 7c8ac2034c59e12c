/* tessera/vectors.h - rows of numbers in a file: NumPy's .npy of f32 [N, C], which tessera embed
 * writes and other programs read. */
#ifndef TESSERA_VECTORS_H
#define TESSERA_VECTORS_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_vectors tsr_vectors; /**< a file that is open for reading */

/**
 * Opens an .npy file of version 1, 2 or 3 that holds little-endian f32 numbers in row-major order.
 *
 * shape   [N, C]; N may be 0, C from 1 to 2^20
 * dtype   f32, little-endian
 * owner   the caller closes *out
 * thread  any number of threads may read an open file
 * error   TSR_E_IO           the file cannot be opened or read
 *         TSR_E_FORMAT       it is not an .npy file, or its length does not agree with its header
 *         TSR_E_UNSUPPORTED  another dtype, order or rank: the sentence names it
 */
TSR_API tsr_status tsr_vectors_open(const char *path, tsr_vectors **out);
/** Closes a file. *vectors may be NULL, and is NULL afterwards. */
TSR_API void tsr_vectors_close(tsr_vectors **vectors);
/** N, the number of rows. */
TSR_API uint64_t tsr_vectors_rows(const tsr_vectors *vectors);
/** C, how many numbers a row has. */
TSR_API uint32_t tsr_vectors_width(const tsr_vectors *vectors);
/**
 * Reads the rows first .. first + n - 1.
 *
 * shape   out: [n, C]
 * thread  any
 * error   TSR_E_ARGUMENT  the file has no such rows
 *         TSR_E_IO        the file has become shorter, or cannot be read
 */
TSR_API tsr_status tsr_vectors_read(const tsr_vectors *vectors, uint64_t first, size_t n,
                                    float *out);

typedef struct tsr_vectors_writer tsr_vectors_writer; /**< a file that is being written */

/**
 * Begins an .npy file of f32 [N, C] whose N is not known yet. The rows go to a temporary file
 * beside it; tsr_vectors_commit writes N into the header and renames the file, so `path` is whole
 * or as it was before.
 *
 * shape   width: C, from 1 to 2^20
 * owner   the caller commits or abandons *out: both free it
 * thread  one thread at a time for a writer
 * error   TSR_E_ARGUMENT  width is out of its range
 *         TSR_E_IO        there is no such folder, it may not be written, or the disk is full
 */
TSR_API tsr_status tsr_vectors_create(const char *path, uint32_t width, tsr_vectors_writer **out);
/**
 * Appends rows.
 *
 * shape   rows: [n, C]
 * error   TSR_E_IO  the file cannot be written
 */
TSR_API tsr_status tsr_vectors_append(tsr_vectors_writer *writer, const float *rows, size_t n);
/**
 * Finishes the file and puts it in its place.
 *
 * owner   frees *writer, also after a failure, and sets it to NULL
 * error   TSR_E_IO  the file cannot be written: `path` is as it was before
 */
TSR_API tsr_status tsr_vectors_commit(tsr_vectors_writer **writer);
/** Deletes what was written and frees the writer. *writer may be NULL, and is NULL afterwards. */
TSR_API void tsr_vectors_abandon(tsr_vectors_writer **writer);

#ifdef __cplusplus
}
#endif
#endif
