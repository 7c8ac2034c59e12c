/* tessera/vectors.h - rows of numbers in a file: NumPy's .npy of f32 [N, C], as tessera embed
 * writes it and any other program reads it. */
#ifndef TESSERA_VECTORS_H
#define TESSERA_VECTORS_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_vectors tsr_vectors; /**< a file opened for reading */

/**
 * Opens an .npy file of version 1, 2 or 3 that holds little-endian f32 numbers in row-major order.
 *
 * shape   [N, C]; N may be 0, C from 1 to 2^20
 * owner   the caller closes *out
 * thread  an opened file is read-only: any number of threads may read it
 * error   TSR_E_IO           it cannot be opened or read
 *         TSR_E_FORMAT       it is no .npy file, or its length is not what its header says
 *         TSR_E_UNSUPPORTED  other numbers, another order or another rank: the sentence names them
 */
TSR_API tsr_status tsr_vectors_open(const char *path, tsr_vectors **out);
TSR_API void tsr_vectors_close(tsr_vectors **vectors); /**< takes NULL content; leaves NULL */
TSR_API uint64_t tsr_vectors_rows(const tsr_vectors *vectors);
TSR_API uint32_t tsr_vectors_width(const tsr_vectors *vectors);
/** Rows first .. first + n - 1 into out [n, C].  error  TSR_E_ARGUMENT  past the last row
 * TSR_E_IO  the file shrank */
TSR_API tsr_status tsr_vectors_read(const tsr_vectors *vectors, uint64_t first, size_t n,
                                    float *out);

typedef struct tsr_vectors_writer tsr_vectors_writer;

/**
 * Begins an .npy file of f32 [N, C] whose N is not yet known. The rows go to a temporary file
 * beside it; commit writes N into the header and renames it: `path` is then whole, or as it was.
 *
 * owner   the caller commits or abandons; both free *writer and leave NULL
 * error   TSR_E_ARGUMENT  width is not from 1 to 2^20
 *         TSR_E_IO        no such folder, no rights, disk full
 */
TSR_API tsr_status tsr_vectors_create(const char *path, uint32_t width, tsr_vectors_writer **out);
/** Appends rows [n, C]. */
TSR_API tsr_status tsr_vectors_append(tsr_vectors_writer *writer, const float *rows, size_t n);
TSR_API tsr_status tsr_vectors_commit(tsr_vectors_writer **writer);
TSR_API void tsr_vectors_abandon(tsr_vectors_writer **writer); /**< takes NULL content */

#ifdef __cplusplus
}
#endif
#endif
