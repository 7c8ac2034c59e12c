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
    uint32_t deadline_seconds; /**< how long a rank may give no sign of life; 0: 20 */
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
 *         TSR_E_PEER         not all ranks joined within the deadline; or no transport was named, a
 *                            launcher started several ranks, and MPI joins only this one
 */
TSR_API tsr_status tsr_ranks_open(const tsr_ranks_options *options, tsr_ranks **out);

/**
 * Parts from the other ranks, and waits for them to do the same; after a failure it does not wait.
 *
 * owner   *ranks may be NULL, and is NULL afterwards, also where this fails
 * error   TSR_E_PEER  a rank is gone, or did not part within the deadline: what the ranks exchanged
 *                     before has arrived all the same
 */
TSR_API tsr_status tsr_ranks_close(tsr_ranks **ranks);

/**
 * Tells the other ranks that this one is about to end because of an error. What they do together
 * fails then: with TSR_E_DEVICE where `status` is an error of this rank's device
 * (TSR_E_DEVICE_MEMORY, TSR_E_DEVICE or TSR_E_BUILD), otherwise with TSR_E_PEER.
 *
 * ranks     may be NULL
 * sentence  why it ends; the other ranks get it with this rank's number and host before it
 */
TSR_API void tsr_ranks_leave(tsr_ranks *ranks, tsr_status status, const char *sentence);

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

/**
 * Compares what the ranks were asked for. All ranks call it.
 *
 * ranks   NULL: a process that is alone agrees with itself
 * list    lines "what<TAB>value<LF>", for example "--dtype\tq8\n"; values contain no <LF>
 * error   TSR_E_ARGUMENT  the lists are not equal: the sentence names the first line that differs,
 *                         with the values of rank 0 and of a rank that differs (of long ones,
 *                         the parts that differ), and their hosts
 *         TSR_E_PEER      a rank is gone
 */
TSR_API tsr_status tsr_ranks_compare(tsr_ranks *ranks, const char *list);

/* ---- blocks of work ---- */

typedef struct tsr_share tsr_share; /**< work that ranks share */

typedef struct tsr_share_options {
    uint32_t struct_size;
    /** 1: every rank gets every block, for ranks that share a model's layers
     * (tsr_model_options.ranks). Rank 0 takes its own results; those of the others are dropped. */
    uint32_t together;
    /**
     * Rank 0: makes the next block, in bytes that are valid until the next call.
     *
     * wait    0: do not wait for input that has not arrived
     * most    how many items the rank that gets it wants
     * returns 1: a block of *n bytes, n >= 1; 0: there are no more; -1, only where wait is 0: not
     *         yet; -2: cancel
     */
    int (*make)(void *data, int wait, uint64_t most, const void **block, size_t *n);
    /** Rank 0: takes the results, in the order of the blocks. Returns not 0 to cancel. */
    int (*take)(void *data, const void *result, size_t n);
    /** Rank 0, while it waits for others: not 0 cancels. May be NULL. */
    int (*stop)(void *data);
    void *data;
} tsr_share_options;

/**
 * Begins to share work: rank 0 makes blocks, each rank gets the next one when it is free, and rank 0
 * takes the results in order. All ranks call it, then `next` and `give` in turns until `next` gives
 * nothing; rank 0 also calls `poll` often while it works. Meanwhile the ranks are used for nothing
 * else.
 *
 * ranks   NULL: this process makes, does and takes everything
 * options of ranks other than 0: none of the functions is called, and all may be NULL
 * owner   the caller ends *out, before the ranks are closed
 * thread  one thread at a time uses the ranks
 * error   TSR_E_ARGUMENT  rank 0 gives no make or no take
 */
TSR_API tsr_status tsr_share_begin(tsr_ranks *ranks, const tsr_share_options *options,
                                   tsr_share **out);
/**
 * Gives this rank the next block. After the last one, it waits until rank 0 has taken the results of
 * all ranks.
 *
 * most    how many items to make of it: what this rank does in about half a second
 * owner   *block belongs to the share, and is valid until the next call
 * *n      0: there are no more
 * error   TSR_E_PEER       a rank is gone
 *         TSR_E_CANCELLED  make or take asked for it
 */
TSR_API tsr_status tsr_share_next(tsr_share *share, uint64_t most, const void **block, size_t *n);
/**
 * Gives the result of the block that `next` gave; the bytes are copied.
 *
 * error   TSR_E_STATE      there is no such block
 *         TSR_E_PEER, TSR_E_CANCELLED  as tsr_share_next
 */
TSR_API tsr_status tsr_share_give(tsr_share *share, const void *result, size_t n);
/**
 * Rank 0 serves the ranks that are free: to be called from callbacks, some times a second. Other
 * ranks, and NULL: does nothing.
 *
 * error   as tsr_share_next
 */
TSR_API tsr_status tsr_share_poll(tsr_share *share);
/** Ends it. *share may be NULL, and is NULL afterwards. */
TSR_API void tsr_share_end(tsr_share **share);

#ifdef __cplusplus
}
#endif
#endif
