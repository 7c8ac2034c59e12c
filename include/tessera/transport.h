/* tessera/transport.h - the plugin interface between processes that share a work: all that a
 * transport needs, and nothing of Tessera's internals.
 *
 * A transport is a shared library that exports one symbol,
 *
 *     const tsr_transport *tsr_transport_get(uint32_t abi);
 *
 * which returns its table, or NULL where it can't serve a host of that ABI. The processes of a run
 * are its ranks, numbered from 0.
 *
 * Rules for every struct and call below
 *   - Structs are passed by pointer and start with struct_size, which is set by the side that fills
 *     the struct. They grow at the end, and zero is the default.
 *   - Arguments are borrowed for the call; memory that is sent or received, until the exchange has
 *     ended.
 *   - All ranks make the same exchanges in the same order, except send and receive, where two ranks
 *     agree.
 *   - Where `done` is not NULL, an exchange is only begun, and *done becomes its handle, which one
 *     `wait` must end. Where it is NULL, the call waits.
 *   - Every wait ends. While it lasts, the transport watches the other ranks, also those that
 *     compute and call nothing: a rank that gives no sign of life for the deadline of `open`, that
 *     ended without `close`, or that called `leave`, makes every exchange of every rank fail, now and
 *     from then on: with TSR_E_PEER, or with the status that `leave` was given. The sentence names
 *     the rank and its host.
 *   - No call aborts, exits or prints. A call that fails reports one sentence to host->report and
 *     returns a status. A `wait` whose time runs out has not failed, and reports nothing.
 *   - One thread at a time makes calls.
 */
#ifndef TESSERA_TRANSPORT_H
#define TESSERA_TRANSPORT_H

#include "tessera/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** major << 16 | minor. A host loads a plugin of its own major and any minor. */
#define TSR_TRANSPORT_ABI ((1u << 16) | 0u)

typedef struct tsr_link tsr_link;         /**< a transport in use; belongs to the transport */
typedef struct tsr_exchange tsr_exchange; /**< an exchange that was begun */

/** What the host gives a transport. It lives until close returns. */
typedef struct tsr_transport_host {
    uint32_t struct_size, abi;
    void *data;
    /** Says, in one sentence, why the call that is about to fail fails. From the thread of a call. */
    void (*report)(void *data, tsr_status status, const char *sentence);
} tsr_transport_host;

typedef struct tsr_transport_options {
    uint32_t struct_size;
    uint32_t deadline_ms; /**< how long a rank may give no sign of life; >= 1000 */
} tsr_transport_options;

typedef struct tsr_transport_facts {
    uint32_t struct_size;
    uint32_t rank, size;
    uint32_t local_rank; /**< among the ranks of its host, from 0 */
} tsr_transport_facts;

/** Memory of `size` ranks: data[r], of bytes[r] bytes, which may be 0. */
typedef struct tsr_parts {
    uint32_t struct_size, reserved;
    void *const *data;
    const uint64_t *bytes;
} tsr_parts;

/** The functions of a transport. */
typedef struct tsr_transport {
    uint32_t struct_size, abi;
    const char *name; /**< lower case, one word: "mpi" */
    const char *version, *description;

    /** Joins the ranks that the launcher started; a process that was started alone is rank 0 of 1.
     * TSR_E_UNSUPPORTED: there is nothing here that it can serve. TSR_E_PEER: not all of them joined
     * within the deadline. A process opens one link, once. */
    tsr_status (*open)(const tsr_transport_host *host, const tsr_transport_options *options,
                       tsr_link **out);
    /** Ends the link. Waits for the other ranks, at most for the deadline, and not after a failure. If
     * they don't come, it reports a sentence, and what it can't free then stays. */
    void (*close)(tsr_link *link);
    /** Tells the other ranks that this one ends, and why: their exchanges fail with this status.
     * Takes at most a second. */
    void (*leave)(tsr_link *link, tsr_status status, const char *sentence);

    /** Fills at most facts->struct_size bytes. */
    tsr_status (*facts)(tsr_link *link, tsr_transport_facts *facts);
    /** The name of the host of a rank; valid until close. NULL: there is no such rank. */
    const char *(*host_of)(tsr_link *link, uint32_t rank);

    /** Ends when every rank has begun it. */
    tsr_status (*barrier)(tsr_link *link, tsr_exchange **done);
    /** Every rank's data becomes that of rank `root`. */
    tsr_status (*broadcast)(tsr_link *link, uint32_t root, void *data, uint64_t bytes,
                            tsr_exchange **done);
    /** What rank r sends to q (send->data[q]) arrives in receive->data[r] of rank q. Both sides give
     * the same number of bytes. Sent and received memory do not overlap. */
    tsr_status (*all_to_all)(tsr_link *link, const tsr_parts *send, const tsr_parts *receive,
                             tsr_exchange **done);
    /** Every rank's parts->data[r] becomes that of rank r. All ranks give the same numbers of
     * bytes. */
    tsr_status (*all_gather)(tsr_link *link, const tsr_parts *parts, tsr_exchange **done);
    /** Messages between two ranks arrive in the order in which they were sent. */
    tsr_status (*send)(tsr_link *link, uint32_t to, const void *data, uint64_t bytes,
                       tsr_exchange **done);
    tsr_status (*receive)(tsr_link *link, uint32_t from, void *data, uint64_t bytes,
                          tsr_exchange **done);
    /** Waits until the exchange has ended, or the timeout has passed (TSR_E_STATE; the exchange goes
     * on). UINT64_MAX: no limit but the deadline of `open`. Except after TSR_E_STATE, the handle is
     * gone. */
    tsr_status (*wait)(tsr_link *link, tsr_exchange *exchange, uint64_t timeout_ns);
} tsr_transport;

/** The type of the function that a plugin exports. */
typedef const tsr_transport *(*tsr_transport_get_fn)(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
