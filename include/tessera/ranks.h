/* tessera/ranks.h - the processes that a launcher such as mpirun started to share one work. */
#ifndef TESSERA_RANKS_H
#define TESSERA_RANKS_H

#include "tessera/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_ranks tsr_ranks; /**< this process and those that it works with */

typedef struct tsr_ranks_options {
    uint32_t struct_size;
    uint32_t deadline_seconds; /**< how long a rank may give no sign of life; 0: 30 */
    /** The name of a transport ("mpi"), or "none". NULL: "mpi" where the environment says that a
     * launcher started several ranks, otherwise "none". */
    const char *transport;
} tsr_ranks_options;

/**
 * Joins the ranks of this work. Without a launcher, or with "none", *out is NULL: the process is
 * alone, and every function that takes ranks takes NULL for that.
 *
 * Transports are plugins, in the folders of TESSERA_TRANSPORT_PATH (':'-separated, absolute) and
 * beside the library (tessera/transports).
 *
 * options may be NULL
 * owner   the caller closes *out
 * thread  a process joins once. One thread at a time uses the ranks
 * error   TSR_E_ARGUMENT     there is no transport of that name: the sentence lists those found
 *         TSR_E_UNSUPPORTED  the transport can't be used: the sentence says why
 */
TSR_API tsr_status tsr_ranks_open(const tsr_ranks_options *options, tsr_ranks **out);

/** Parts from the other ranks, and waits for them to do the same; after a failure it does not wait.
 * *ranks may be NULL, and is NULL afterwards. */
TSR_API void tsr_ranks_close(tsr_ranks **ranks);

/** Tells the other ranks that this one is about to end because of an error, in one sentence. What
 * they do together fails with TSR_E_PEER then. `ranks` may be NULL. */
TSR_API void tsr_ranks_leave(tsr_ranks *ranks, const char *sentence);

typedef struct tsr_ranks_info {
    uint32_t struct_size;
    uint32_t rank, size;
    uint32_t local_rank;   /**< among the ranks of this host, from 0 */
    const char *transport; /**< its name; "none" for a process that is alone */
    const char *host;      /**< the name of this rank's host; "" for a process that is alone */
} tsr_ranks_info;

/**
 * Tells which rank this process is.
 *
 * ranks   NULL: rank 0 of 1
 * owner   strings belong to the ranks
 * error   TSR_E_ARGUMENT  out->struct_size is too small
 */
TSR_API tsr_status tsr_ranks_info_get(const tsr_ranks *ranks, tsr_ranks_info *out);

#ifdef __cplusplus
}
#endif
#endif
