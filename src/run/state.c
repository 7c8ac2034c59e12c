/* run/state.c - states, which live from run to run (keys and values): creates them zeroed, and
 * changes their size by copying. */
#include "base/error.h"
#include "base/memory.h"
#include "run/context.h"
#include "tensor/convert.h"

#include <stdlib.h>
#include <string.h>

/* Of the pieces that two sizes of a state have in common, the place of one among all those of `state`.
 * A piece is an index of the first `axes` dimensions. */
static uint64_t place_of(const tsri_run_kv_state *state, const int64_t common[4], int axes,
                         int64_t piece) {
    int64_t place = 0, stride = 1;
    for (int i = axes - 1; i >= 0; i--) {
        place += piece % common[i] * stride;
        piece /= common[i];
        stride *= state->dim[i];
    }
    return (uint64_t)place;
}

/* Carries what two sizes of a state have in common from one to the other, in pieces that are contiguous
 * in both: by copies on the device; or out to `host`, where they lie without gaps, or in from there. */
static tsr_status carry(tsri_run_context *context, const tsri_run_kv_state *from,
                        const tsri_run_kv_state *to, tsr_transfer_kind kind, unsigned char *host) {
    const tsri_run_slot *slot = &context->slots[to->device];
    int64_t common[4], pieces = 1;
    uint64_t run = from->item; /* bytes of a piece */
    int axis = 4;
    for (int i = 0; i < 4; i++)
        common[i] = from->dim[i] < to->dim[i] ? from->dim[i] : to->dim[i];
    do {
        axis--;
        run *= (uint64_t)common[axis];
    } while (axis > 0 && from->dim[axis] == to->dim[axis]);
    for (int i = 0; i < axis; i++)
        pieces *= common[i];
    const uint64_t row = run / (uint64_t)common[axis], from_rows = row * (uint64_t)from->dim[axis],
                   to_rows = row * (uint64_t)to->dim[axis];
    for (int64_t piece = 0; piece < pieces; piece++) {
        const tsr_transfer transfer = {.struct_size = sizeof transfer,
                                       .kind = kind,
                                       .dst = kind == TSR_TRANSFER_READ ? NULL : to->buf,
                                       .src = kind == TSR_TRANSFER_WRITE ? NULL : from->buf,
                                       .dst_offset = place_of(to, common, axis, piece) * to_rows,
                                       .src_offset =
                                           place_of(from, common, axis, piece) * from_rows,
                                       .host = host ? host + (uint64_t)piece * run : NULL,
                                       .bytes = run};
        tsri_run_state_move done = {.device = slot->device};
        TRY(TSRI_RUN_CALL(slot, transfer, &transfer, NULL, host ? &done.event : NULL));
        if (host)
            TRY(tsri_run_wait_state_move(&done, UINT64_MAX));
    }
    return TSR_OK;
}

/* Whether contents of the one have a place in the other. */
static bool alike(const tsri_run_kv_state *old, const tsri_run_kv_state *wanted) {
    bool yes = old->buf && old->device == wanted->device && old->dtype == wanted->dtype;
    for (int i = 0; i < 4; i++)
        yes &= old->dim[i] > 0 && wanted->dim[i] > 0;
    return yes;
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

/* Makes the buffer of a state, zeroed. */
static tsr_status make(tsri_run_context *context, tsri_run_kv_state *state) {
    return tsri_run_buffer(context, state->device, TSR_KIND_STATE, state->bytes, "keys and values",
                           &state->buf);
}

/* Where a device has no room for a smaller state beside the larger one, the contents wait on the host. */
static tsr_status make_in_place(tsri_run_context *context, tsri_run_kv_state *old,
                                tsri_run_kv_state *wanted) {
    unsigned char *host = NULL;
    TRY(tsri_base_new((size_t)wanted->bytes, 1, &host));
    tsr_status status = carry(context, old, wanted, TSR_TRANSFER_READ, host);
    if (status == TSR_OK) {
        tsri_run_buffer_drop(context, old->device, &old->buf);
        status = make(context, wanted);
        if (status == TSR_OK)
            status = carry(context, old, wanted, TSR_TRANSFER_WRITE, host);
        if (status != TSR_OK)
            tsri_run_buffer_drop(context, wanted->device, &wanted->buf);
    }
    free(host);
    return status;
}

static tsr_status replace(tsri_run_context *context, tsri_run_kv_state *old,
                          tsri_run_kv_state *wanted) {
    const bool keeps = alike(old, wanted);
    if (!old->buf && old->bytes)
        return tsri_base_fail(TSR_E_DEVICE_MEMORY,
                              "keys and values were lost when the device had no memory for them; "
                              "begin anew, with a new session");
    TRY(check_size(context, wanted));
    tsr_status status = make(context, wanted);
    if (status == TSR_E_DEVICE_MEMORY && keeps && wanted->bytes <= old->bytes)
        status = make_in_place(context, old, wanted);
    else if (status == TSR_OK && keeps)
        status = carry(context, old, wanted, TSR_TRANSFER_COPY, NULL);
    if (status != TSR_OK) {
        tsri_run_buffer_drop(context, wanted->device, &wanted->buf);
        return status;
    }
    tsri_run_buffer_drop(context, old->device, &old->buf);
    *old = *wanted;
    context->moved++;
    return TSR_OK;
}

void tsri_run_drop_states(tsri_run_context *context, uint32_t first, uint32_t n) {
    for (size_t i = 0; i < context->n_states; i++) {
        tsri_run_kv_state *state = &context->states[i];
        if (state->id - first >= n) /* also below first */
            continue;
        tsri_run_buffer_drop(context, state->device, &state->buf);
        *state = (tsri_run_kv_state){.id = state->id, .device = state->device};
    }
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
        if (old && old->buf && old->device == wanted.device && old->dtype == wanted.dtype &&
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
                        uint64_t bytes, tsri_run_state_move *out) {
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

tsr_status tsri_run_wait_state_move(tsri_run_state_move *move, uint64_t timeout_ns) {
    const tsr_status status = move->device->backend->event_wait(move->event, timeout_ns);
    if (status == TSR_E_STATE)
        return status;
    move->device->backend->event_destroy(move->event);
    *move = (tsri_run_state_move){0};
    return status;
}

tsr_status tsri_run_start_state_write(tsri_run_context *context, uint32_t id, const void *data,
                                      uint64_t bytes, tsri_run_state_move *move) {
    return start(context, id, TSR_TRANSFER_WRITE, (void *)(uintptr_t)data, bytes, move);
}

tsr_status tsri_run_start_state_read(tsri_run_context *context, uint32_t id, void *out,
                                     uint64_t bytes, tsri_run_state_move *move) {
    return start(context, id, TSR_TRANSFER_READ, out, bytes, move);
}

tsr_status tsri_run_write_state(tsri_run_context *context, uint32_t id, const void *data,
                                uint64_t bytes) {
    tsri_run_state_move move = {0};
    TRY(tsri_run_start_state_write(context, id, data, bytes, &move));
    return tsri_run_wait_state_move(&move, UINT64_MAX);
}

tsr_status tsri_run_read_state(tsri_run_context *context, uint32_t id, void *out, uint64_t bytes) {
    tsri_run_state_move move = {0};
    TRY(tsri_run_start_state_read(context, id, out, bytes, &move));
    return tsri_run_wait_state_move(&move, UINT64_MAX);
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
