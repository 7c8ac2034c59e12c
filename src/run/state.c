/* run/state.c - states, which live from run to run (keys and values): creates them zeroed, and
 * enlarges them by copying. */
#include "base/error.h"
#include "base/memory.h"
#include "run/context.h"
#include "tensor/convert.h"

#include <string.h>

static tsr_status zero(tsri_run_context *context, const tsri_run_kv_state *state) {
    const tsr_transfer fill = {.struct_size = sizeof fill,
                               .kind = TSR_TRANSFER_FILL,
                               .dst = state->buf,
                               .bytes = state->bytes};
    return TSRI_RUN_CALL(&context->slots[state->device], transfer, &fill, NULL, NULL);
}

/* Copies the contents to their places under the larger dims, in whole rows of the last dimension
 * that has grown. */
static tsr_status copy_over(tsri_run_context *context, const tsri_run_kv_state *from,
                            const tsri_run_kv_state *to) {
    uint64_t run = from->item; /* bytes that are contiguous in both */
    int axis = 4;
    do {
        axis--;
        run *= (uint64_t)from->dim[axis];
    } while (axis > 0 && from->dim[axis] == to->dim[axis]);
    int64_t pieces = 1;
    for (int i = 0; i < axis; i++)
        pieces *= from->dim[i];
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t there = 0, left = piece, stride = 1; /* the index of the piece in `to` */
        for (int i = axis - 1; i >= 0; i--) {
            there += left % from->dim[i] * stride;
            left /= from->dim[i];
            stride *= to->dim[i];
        }
        const tsr_transfer copy = {.struct_size = sizeof copy,
                                   .kind = TSR_TRANSFER_COPY,
                                   .dst = to->buf,
                                   .src = from->buf,
                                   .dst_offset = (uint64_t)there *
                                                 (run / (uint64_t)from->dim[axis]) *
                                                 (uint64_t)to->dim[axis],
                                   .src_offset = (uint64_t)piece * run,
                                   .bytes = run};
        TRY(TSRI_RUN_CALL(&context->slots[to->device], transfer, &copy, NULL, NULL));
    }
    return TSR_OK;
}

/* Whether each dimension is at least as large as before. */
static bool grew(const tsri_run_kv_state *old, const tsri_run_kv_state *wanted) {
    bool larger = old->buf && old->device == wanted->device && old->dtype == wanted->dtype;
    for (int i = 0; i < 4; i++)
        larger &= old->dim[i] <= wanted->dim[i] && old->dim[i] > 0;
    return larger;
}

/* A state is one buffer, however large: ops find each key by a stride. */
static tsr_status check_size(const tsri_run_context *context, const tsri_run_kv_state *wanted) {
    const tsr_facts *facts = &context->slots[wanted->device].device->facts;
    const uint64_t most = facts->max_allocation;
    if (!most || wanted->bytes <= most || context->options.trains)
        return TSR_OK;
    const double share = (double)most / (double)wanted->bytes;
    return tsri_base_fail(TSR_E_DEVICE_MEMORY,
                          "keys and values of a layer need %llu MiB in one buffer; %s/%s allows "
                          "%llu MiB: %lld tokens fit (-c)%s%s",
                          (unsigned long long)(wanted->bytes >> 20), facts->platform, facts->name,
                          (unsigned long long)(most >> 20),
                          (long long)(share * (double)wanted->dim[0] * (double)wanted->dim[2]),
                          wanted->dim[0] > 1 ? ", those of all sequences together" : "",
                          wanted->dtype == TSR_F32   ? ", or take halves (--kv-dtype f16)"
                          : wanted->dtype == TSR_F16 ? ", or take bytes (--kv-dtype q8)"
                                                     : "");
}

static tsr_status replace(tsri_run_context *context, tsri_run_kv_state *old,
                          tsri_run_kv_state *wanted) {
    TRY(check_size(context, wanted));
    TRY(tsri_run_buffer(context, wanted->device, TSR_KIND_STATE, wanted->bytes, "keys and values",
                        &wanted->buf));
    tsr_status status = zero(context, wanted);
    if (status == TSR_OK && grew(old, wanted))
        status = copy_over(context, old, wanted);
    if (status != TSR_OK) {
        tsri_run_buffer_drop(context, wanted->device, &wanted->buf);
        return status;
    }
    tsri_run_buffer_drop(context, old->device, &old->buf);
    *old = *wanted;
    context->moved++;
    return TSR_OK;
}

tsr_status tsri_run_state_device(const tsri_run_placed *placed, tsri_value state, const char *name,
                                 size_t *device) {
    bool found = false;
    for (size_t i = 0; i < tsri_graph_node_count(placed->graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(placed->graph, i);
        for (uint32_t j = 0; j < node->n_in; j++) {
            if (node->in[j] == TSRI_GRAPH_NONE ||
                tsri_graph_value_at(placed->graph, node->in[j])->storage != state)
                continue;
            if (found && *device != placed->device[i])
                return tsri_base_fail(TSR_E_INTERNAL, "state %s is used on two devices", name);
            *device = placed->device[i];
            found = true;
        }
    }
    return TSR_OK;
}

tsr_status tsri_run_states_for(tsri_run_context *context, const tsri_run_placed *placed) {
    for (size_t i = 0; i < tsri_graph_value_count(placed->graph); i++) {
        const tsri_graph_value *v = tsri_graph_value_at(placed->graph, (tsri_value)i);
        if (v->tensor.kind != TSR_KIND_STATE || v->storage != (tsri_value)i)
            continue;
        tsri_run_kv_state wanted = {
            .id = v->id, .dim = {1, 1, 1, 1}, .dtype = (tsr_dtype)v->tensor.dtype};
        const tsri_tensor_dtype *type = tsri_tensor_dtype_info(wanted.dtype);
        wanted.item = wanted.bytes = (uint64_t)type->bytes;
        if (v->tensor.rank > 4)
            return tsri_base_fail(TSR_E_INTERNAL, "state %s has more than 4 dimensions", v->name);
        for (uint32_t d = 0; d < v->tensor.rank; d++) {
            wanted.dim[d] = v->tensor.dim[d].factor / (d == v->tensor.rank - 1 ? type->block : 1);
            wanted.bytes *= (uint64_t)wanted.dim[d];
        }
        wanted.bytes = (wanted.bytes + 3) / 4 * 4; /* states are filled in words of 4 bytes */
        TRY(tsri_run_state_device(placed, (tsri_value)i, v->name, &wanted.device));
        tsri_run_kv_state *old = (tsri_run_kv_state *)tsri_run_state_find(context, v->id);
        if (old && old->device == wanted.device && old->dtype == wanted.dtype &&
            !memcmp(old->dim, wanted.dim, sizeof old->dim))
            continue;
        if (!old) {
            TRY(tsri_base_grow(&context->states, &context->states_room, context->n_states + 1,
                               sizeof *context->states));
            old = &context->states[context->n_states++];
            *old = (tsri_run_kv_state){.id = v->id, .device = wanted.device};
        }
        TRY(replace(context, old, &wanted));
    }
    return TSR_OK;
}

/* Begins to copy host memory to the first bytes of a state, or from them. */
static tsr_status start(tsri_run_context *context, uint32_t id, tsr_transfer_kind kind, void *data,
                        uint64_t bytes, tsri_run_state_read *out) {
    const tsri_run_kv_state *state = tsri_run_state_find(context, id);
    if (!state || !state->buf || bytes > state->bytes)
        return tsri_base_fail(TSR_E_INTERNAL, "state %u: %llu bytes are asked for; it has %llu", id,
                              (unsigned long long)bytes,
                              (unsigned long long)(state ? state->bytes : 0));
    const bool writes = kind == TSR_TRANSFER_WRITE;
    const tsr_transfer transfer = {.struct_size = sizeof transfer,
                                   .kind = kind,
                                   .dst = writes ? state->buf : NULL,
                                   .src = writes ? NULL : state->buf,
                                   .bytes = bytes,
                                   .host = data};
    const tsri_run_slot *slot = &context->slots[state->device];
    out->device = slot->device;
    return TSRI_RUN_CALL(slot, transfer, &transfer, NULL, &out->event);
}

tsr_status tsri_run_wait_state_read(tsri_run_state_read *read, uint64_t timeout_ns) {
    const tsr_status status = read->device->backend->event_wait(read->event, timeout_ns);
    if (status == TSR_E_STATE)
        return status;
    read->device->backend->event_destroy(read->event);
    *read = (tsri_run_state_read){0};
    return status;
}

static tsr_status move(tsri_run_context *context, uint32_t id, tsr_transfer_kind kind, void *data,
                       uint64_t bytes) {
    tsri_run_state_read moved = {0};
    TRY(start(context, id, kind, data, bytes, &moved));
    return tsri_run_wait_state_read(&moved, UINT64_MAX);
}

tsr_status tsri_run_start_state_read(tsri_run_context *context, uint32_t id, void *out,
                                     uint64_t bytes, tsri_run_state_read *read) {
    return start(context, id, TSR_TRANSFER_READ, out, bytes, read);
}

tsr_status tsri_run_write_state(tsri_run_context *context, uint32_t id, const void *data,
                                uint64_t bytes) {
    return move(context, id, TSR_TRANSFER_WRITE, (void *)(uintptr_t)data, bytes);
}

tsr_status tsri_run_read_state(tsri_run_context *context, uint32_t id, void *out, uint64_t bytes) {
    return move(context, id, TSR_TRANSFER_READ, out, bytes);
}

tsr_status tsri_run_copy_slot(tsri_run_context *context, uint32_t id, int64_t from, int64_t to,
                              int64_t n) {
    const tsri_run_kv_state *state = tsri_run_state_find(context, id);
    if (!state || !state->buf || from == to || from < 0 || to < 0 || from >= state->dim[0] ||
        to >= state->dim[0] || n < 0 || n > state->dim[2])
        return tsri_base_fail(TSR_E_INTERNAL,
                              "state %u: %lld rows of slot %lld are to be copied to slot %lld", id,
                              (long long)n, (long long)from, (long long)to);
    const uint64_t row = state->item * (uint64_t)state->dim[3],
                   head = row * (uint64_t)state->dim[2], slot = head * (uint64_t)state->dim[1];
    for (int64_t h = 0; h < state->dim[1]; h++) {
        const tsr_transfer copy = {.struct_size = sizeof copy,
                                   .kind = TSR_TRANSFER_COPY,
                                   .dst = state->buf,
                                   .src = state->buf,
                                   .dst_offset = (uint64_t)to * slot + (uint64_t)h * head,
                                   .src_offset = (uint64_t)from * slot + (uint64_t)h * head,
                                   .bytes = (uint64_t)n * row};
        TRY(TSRI_RUN_CALL(&context->slots[state->device], transfer, &copy, NULL, NULL));
    }
    return TSR_OK;
}

tsr_status tsri_run_clear_states(tsri_run_context *context) {
    for (size_t i = 0; i < context->n_states; i++)
        if (context->states[i].buf)
            TRY(zero(context, &context->states[i]));
    return TSR_OK;
}
