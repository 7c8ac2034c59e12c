/* task/bench/peer.h - another engine, in a process of its own, that runs rows of the suite in turn
 * with Tessera: on the same weights, and only where its results are right. */
#ifndef TSRI_TASK_BENCH_PEER_H
#define TSRI_TASK_BENCH_PEER_H

#include "base/bytes.h"
#include "base/json.h"
#include "base/system/child.h"
#include "task/bench/bench.h"

/* The process answers each line of JSON by a line of JSON; bench/workers/suite_peer.py says which. */
struct tsri_task_peer {
    const char *const *command; /* [n_command], borrowed */
    size_t n_command;
    bool broken;             /* the process has ended, or what it says makes no sense */
    tsri_system_child child; /* its input and output are piped */
    tsri_bytes heard;
    char engine[96];
    char *folder; /* temporary: the weights of `wrote`, and what the engine makes of them; owned */
    char wrote[256]; /* the model that the folder is about; "": none */
    uint64_t memory; /* its largest resident set */
    int64_t tokens;  /* of the request that it runs */
    double *first,
        *each;         /* [MOST_REQUESTS] seconds to a request's first token, and of each one after
                             it; owned */
    uint32_t requests; /* of the row; 0: the engine does not tell them */
    uint32_t status;   /* of the model: TSR_BENCH_OK, or that of all rows */
    char failed[512];  /* why */
    char note[256];    /* what its rows are to say; "": nothing */
    tsr_bench_quality quality;
    bool has_quality;
};

/* ---- peer_process.c ---- */

/* Starts it, and waits for its first line. The command is borrowed until its end. */
tsr_status tsri_task_peer_start(const char *const *command, size_t n, tsri_task_peer **out);
/* Starts it again where it is broken. */
tsr_status tsri_task_peer_revive(tsri_task_peer *peer);
/* Sends a request, which it takes over, and waits for the answer. TSR_E_UNSUPPORTED, or TSR_E_DEVICE,
 * with the peer's sentence where it fails. The caller releases *answer. */
tsr_status tsri_task_peer_ask(tsri_task_peer *peer, json_t *request, json_t **answer);
/* Ends it, and removes its folder. */
void tsri_task_peer_end(tsri_task_peer **peer);

/* ---- peer.c ---- */

/* Whether peers have rows of such a job: prompts, generation, requests and vectors. */
bool tsri_task_peer_serves(const tsri_task_job *job);
/* Has the peer open the model that `model` is, and passes it through the gate. `f32`: the logits or
 * the vector [width] of the gate's prompt in f32; NULL: they are not known. `why`: why Tessera has no model,
 * where `model` is NULL. What goes wrong is told by the rows. */
tsr_status tsri_task_peer_open(tsri_task_bench *b, tsr_model *model,
                               const tsri_task_identity *identity, const float *f32,
                               const char *why);
/* Makes the peer's row of a job; it is not given what the model can't read, because some engines end
 * then. model: as above. held_by: what holds Tessera's row back (tsr_bench_bound), because the job is the
 * same. */
tsr_status tsri_task_peer_row(tsri_task_bench *b, tsr_model *model,
                              const tsri_task_identity *identity, const tsri_task_job *job,
                              uint32_t held_by);

#endif
