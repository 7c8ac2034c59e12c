/* backends/opencl/driver/cache.h - what was built or measured before, in files that are checked
 * before they are believed.
 *
 * A file is: magic "TSROCL1\n", the key (32 bytes), the payload's length (8 bytes, little-endian),
 * its SHA-256 (32 bytes), the payload. It is written beside and renamed, so it is whole or absent;
 * a damaged one is a miss with a warning.
 */
#ifndef TSRI_OPENCL_DRIVER_CACHE_H
#define TSRI_OPENCL_DRIVER_CACHE_H

#include "backends/opencl/driver/state.h"
#include "base/bytes.h"

typedef struct tsri_opencl_key {
    unsigned char digest[32];
} tsri_opencl_key;

/* Looks `key` up below the host's cache folder. A miss, a damaged file or no folder: *found is
 * false. `kind` is the file's ending: "bin", "test". */
tsr_status tsri_opencl_cache_load(const tsr_state *state, const tsri_opencl_key *key,
                                  const char *kind, tsri_bytes *payload, bool *found);
/* Best effort: a cache that can't be written is a warning. Removes the oldest files above the cap.
 */
void tsri_opencl_cache_save(const tsr_state *state, const tsri_opencl_key *key, const char *kind,
                            const void *payload, size_t n);

/* Removes a folder with all that is in it, as far as that can be. */
void tsri_opencl_remove_folder(const char *folder);

#endif
