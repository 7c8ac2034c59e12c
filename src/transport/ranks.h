/* transport/ranks.h - what the library's own parts do with ranks. NULL is a process that is alone:
 * it is rank 0 of 1, and every exchange succeeds at once. */
#ifndef TSRI_TRANSPORT_RANKS_H
#define TSRI_TRANSPORT_RANKS_H

#include "tessera/ranks.h"

uint32_t tsri_ranks_rank(const tsr_ranks *ranks);
uint32_t tsri_ranks_size(const tsr_ranks *ranks);
const char *tsri_ranks_host(const tsr_ranks *ranks, uint32_t rank);

/* How long exchanges have kept this rank so far, in ns: the time of the transfers, and of waiting for
 * ranks that came to them later. */
uint64_t tsri_ranks_waited_ns(const tsr_ranks *ranks);

/* As in tessera/transport.h; each waits. */
tsr_status tsri_ranks_barrier(tsr_ranks *ranks);
tsr_status tsri_ranks_broadcast(tsr_ranks *ranks, uint32_t root, void *data, uint64_t bytes);
tsr_status tsri_ranks_all_to_all(tsr_ranks *ranks, const tsr_parts *send, const tsr_parts *receive);
tsr_status tsri_ranks_all_gather(tsr_ranks *ranks, const tsr_parts *parts);
/* These wait where `done` is NULL, and otherwise only begin. */
tsr_status tsri_ranks_begin_broadcast(tsr_ranks *ranks, uint32_t root, void *data, uint64_t bytes,
                                      tsr_exchange **done);
tsr_status tsri_ranks_begin_all_to_all(tsr_ranks *ranks, const tsr_parts *send,
                                       const tsr_parts *receive, tsr_exchange **done);
tsr_status tsri_ranks_begin_all_gather(tsr_ranks *ranks, const tsr_parts *parts,
                                       tsr_exchange **done);
tsr_status tsri_ranks_send(tsr_ranks *ranks, uint32_t to, const void *data, uint64_t bytes,
                           tsr_exchange **done);
tsr_status tsri_ranks_receive(tsr_ranks *ranks, uint32_t from, void *data, uint64_t bytes,
                              tsr_exchange **done);
tsr_status tsri_ranks_wait(tsr_ranks *ranks, tsr_exchange *exchange, uint64_t timeout_ns);

/* All ranks give `bytes` bytes in `own`; all[r * bytes ..] becomes what rank r gave. */
tsr_status tsri_ranks_gather_equal(tsr_ranks *ranks, const void *own, void *all, uint64_t bytes);

#endif
