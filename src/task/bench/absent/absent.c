/* task/bench/absent/absent.c - what measures other processes, in a build for a system on which Tessera
 * starts none. */
#include "task/bench/peer.h"

#include "base/error.h"

static tsr_status no_processes(void) {
    return tsri_base_fail(TSR_E_UNSUPPORTED, "this Tessera starts no other programs: it was built "
                                             "for Windows");
}

tsr_status tsri_task_bench_starts(tsri_task_bench *b, const char *const *command, size_t n,
                                  const char *model) {
    (void)command;
    (void)n;
    (void)model;
    for (int cold = 1; cold >= 0; cold--) {
        tsri_task_draft draft;
        tsri_task_draft_begin(&draft, TSR_BENCH_START, "s", "%s start", cold ? "cold" : "warm");
        draft.row.scenario = TSR_BENCH_SINGLE_STREAM;
        TRY(tsri_task_bench_finish(b, &draft, no_processes(), ""));
    }
    return TSR_OK;
}

tsr_status tsri_task_peer_start(const char *const *command, size_t n, tsri_task_peer **out) {
    (void)command;
    (void)n;
    *out = NULL;
    return no_processes();
}

tsr_status tsri_task_peer_ask(tsri_task_peer *peer, json_t *request, json_t **answer) {
    (void)peer;
    (void)answer;
    json_decref(request);
    return no_processes();
}

tsr_status tsri_task_peer_revive(tsri_task_peer *peer) {
    (void)peer;
    return no_processes();
}

void tsri_task_peer_end(tsri_task_peer **peer) {
    *peer = NULL;
}
