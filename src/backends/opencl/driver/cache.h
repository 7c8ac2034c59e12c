/* backends/opencl/driver/cache.h - results of earlier builds and measurements, in files that are
 * checked before use.
 *
 * A file is: magic "TSROCL1\n", the key (32 bytes), the payload's length (8 bytes, little-endian),
 * the payload's SHA-256 (32 bytes), the payload. It is written under another name and renamed, so
 * it is whole or absent. A damaged file counts as a miss, with a warning. */
#ifndef TSRI_OPENCL_DRIVER_CACHE_H
#define TSRI_OPENCL_DRIVER_CACHE_H

#include "backends/opencl/driver/state.h"
#include "base/bytes.h"

/* Seconds after which a kept failure that may have passed is tried again. */
enum { TSRI_OPENCL_TRIED_AGAIN = 24 * 3600 };

typedef struct tsri_opencl_key {
    unsigned char digest[32];
} tsri_opencl_key;

/* Looks `key` up in the host's cache folder. *found is false for a miss, for a damaged file and
 * where there is no folder. `kind` is the file's ending: "bin", "fail", "test". */
tsr_status tsri_opencl_cache_load(const tsr_state *state, const tsri_opencl_key *key,
                                  const char *kind, tsri_bytes *payload, bool *found);
/* Best effort: a cache that can't be written gives a warning. Removes the oldest files above the
 * limit. */
void tsri_opencl_cache_save(const tsr_state *state, const tsri_opencl_key *key, const char *kind,
                            const void *payload, size_t n);

/* Removes a folder with everything in it, as far as it can be removed. */
void tsri_opencl_remove_folder(const char *folder);

#endif
