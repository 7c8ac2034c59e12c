/* run/exchange.c - runs plans: where ranks share the layers, the part that this rank has, and exchanges with
 * the other ranks what crosses.
 *
 * All ranks make the same calls. A rank waits for what its part reads, runs, and goes on as soon as what
 * others read is on its way: so with several runs begun, each rank works on another one. The results that
 * a caller asked for come to all ranks from the one that computes them, in the order of the runs. */
#include "base/error.h"
#include "base/memory.h"
#include "run/context.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

/* Waits until what was sent before has arrived. */
static tsr_status wait_sent(tsri_run_plan *plan, size_t crossing) {
    tsr_exchange *x = plan->messages.sent[crossing];
    plan->messages.sent[crossing] = NULL;
    return x ? tsri_ranks_wait(plan->context->options.ranks, x, UINT64_MAX) : TSR_OK;
}

/* The caller's inputs, and what this part reads of others, which is waited for. */
static tsr_status bind_inputs(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                              const tsri_run_binding *inputs, size_t n_inputs, size_t *n) {
    const tsri_run_part_of *part = &plan->placed->part;
    tsr_ranks *ranks = plan->context->options.ranks;
    tsri_run_messages *m = &plan->messages;
    TRY(tsri_base_grow(&m->inputs, &m->inputs_room, n_inputs + part->n_crossings + 1,
                       sizeof *m->inputs));
    memcpy(m->inputs, inputs, n_inputs * sizeof *inputs);
    *n = n_inputs;
    for (size_t i = 0; i < part->n_crossings; i++) {
        const tsri_graph_crossing *c = &part->crossings[i];
        const uint64_t bytes = tsri_tensor_extent(&c->tensor, sizes);
        if (c->to != tsri_ranks_rank(ranks))
            continue;
        TRY(tsri_ranks_receive(ranks, c->from, m->data[i], bytes, NULL));
        m->inputs[(*n)++] = (tsri_run_binding){.id = c->id, .data = m->data[i], .bytes = bytes};
    }
    return TSR_OK;
}

/* The rank that computes an output. */
static tsr_status find_owner(const tsri_run_plan *plan, uint32_t output, uint32_t *rank) {
    const tsri_run_part_of *part = &plan->placed->part;
    for (size_t i = 0; i < part->n_outputs; i++)
        if (part->outputs[i].id == output) {
            *rank = part->outputs[i].rank;
            return TSR_OK;
        }
    return tsri_base_fail(TSR_E_ARGUMENT, "output %u is not one of this graph's", output);
}

/* The outputs that this part computes: the caller's, and what others read. */
static tsr_status bind_outputs(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                               const tsri_run_binding *outputs, size_t n_outputs, size_t *n) {
    const tsri_run_part_of *part = &plan->placed->part;
    const uint32_t own = tsri_ranks_rank(plan->context->options.ranks);
    tsri_run_messages *m = &plan->messages;
    TRY(tsri_base_grow(&m->outputs, &m->outputs_room, n_outputs + part->n_crossings + 1,
                       sizeof *m->outputs));
    *n = 0;
    for (size_t i = 0; i < n_outputs; i++) {
        uint32_t rank = 0;
        TRY(find_owner(plan, outputs[i].id, &rank));
        if (rank == own)
            m->outputs[(*n)++] = outputs[i];
    }
    for (size_t i = 0; i < part->n_crossings; i++) {
        const tsri_graph_crossing *c = &part->crossings[i];
        if (c->from != own)
            continue;
        TRY(wait_sent(plan, i));
        m->outputs[(*n)++] = (tsri_run_binding){
            .id = c->id, .data = m->data[i], .bytes = tsri_tensor_extent(&c->tensor, sizes)};
    }
    return TSR_OK;
}

static tsr_status begin_to_send(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS]) {
    const tsri_run_part_of *part = &plan->placed->part;
    tsr_ranks *ranks = plan->context->options.ranks;
    for (size_t i = 0; i < part->n_crossings; i++)
        if (part->crossings[i].from == tsri_ranks_rank(ranks))
            TRY(tsri_ranks_send(ranks, part->crossings[i].to, plan->messages.data[i],
                                tsri_tensor_extent(&part->crossings[i].tensor, sizes),
                                &plan->messages.sent[i]));
    return TSR_OK;
}

/* All are waited for even after a failure, because they write to the caller's memory. */
static tsr_status finish_part(tsri_run_reads *reads) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < reads->n_shared; i++) {
        const tsr_status own = tsri_ranks_wait(reads->ranks, reads->shared[i], UINT64_MAX);
        status = status == TSR_OK ? own : status;
    }
    reads->n_shared = 0;
    return status;
}

/* Results go out as soon as they are there, so that a rank that waits for one does not wait for what its
 * owner does next. */
static tsr_status begin_to_share(const tsri_run_plan *plan, const tsri_run_binding *outputs,
                                 size_t n, tsri_run_reads *reads) {
    reads->ranks = plan->context->options.ranks;
    for (size_t i = 0; i < n; i++) {
        uint32_t rank = 0;
        if (reads->n_shared == TSRI_RUN_READS)
            TRY(finish_part(reads));
        TRY(find_owner(plan, outputs[i].id, &rank));
        TRY(tsri_ranks_begin_broadcast(reads->ranks, rank, outputs[i].data, outputs[i].bytes,
                                       &reads->shared[reads->n_shared]));
        reads->n_shared++;
    }
    return TSR_OK;
}

static tsr_status start_part(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                             const tsri_run_binding *inputs, size_t n_inputs,
                             const tsri_run_binding *outputs, size_t n_outputs,
                             tsri_run_reads *reads) {
    size_t n_in, n_out;
    TRY(bind_inputs(plan, sizes, inputs, n_inputs, &n_in));
    TRY(bind_outputs(plan, sizes, outputs, n_outputs, &n_out));
    TRY(tsri_run_start_own(plan, sizes, plan->messages.inputs, n_in, plan->messages.outputs, n_out,
                           reads));
    TRY(tsri_run_finish_own(reads));
    if (!n_out)
        TRY(tsri_run_drain(plan));
    TRY(begin_to_send(plan, sizes));
    const tsr_status status = begin_to_share(plan, outputs, n_outputs, reads);
    if (status != TSR_OK)
        (void)!finish_part(reads);
    return status;
}

/* ---- runs ---- */

tsr_status tsri_run_start(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                          const tsri_run_binding *inputs, size_t n_inputs,
                          const tsri_run_binding *outputs, size_t n_outputs,
                          tsri_run_reads *reads) {
    return (plan->context->options.ranks ? start_part : tsri_run_start_own)(
        plan, sizes, inputs, n_inputs, outputs, n_outputs, reads);
}

tsr_status tsri_run_finish(tsri_run_reads *reads) {
    return reads->ranks ? finish_part(reads) : tsri_run_finish_own(reads);
}

tsr_status tsri_run_execute(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                            const tsri_run_binding *inputs, size_t n_inputs,
                            const tsri_run_binding *outputs, size_t n_outputs) {
    tsri_run_reads reads;
    TRY(tsri_run_start(plan, sizes, inputs, n_inputs, outputs, n_outputs, &reads));
    TRY(tsri_run_finish(&reads));
    return n_outputs || reads.ranks ? TSR_OK : tsri_run_drain(plan);
}
