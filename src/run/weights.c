/* run/weights.c - one layout for each weight on each device, and the streaming of rows. */
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "run/context.h"
#include "run/parts.h"
#include "tensor/convert.h"
#include "tensor/parallel.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4 << 20 }; /* rows read at a time */

const tsr_layout *tsri_run_weight_layout(const tsri_run_context *context, uint32_t id,
                                         size_t device) {
    const tsri_run_weight *weight = tsri_run_weight_find(context, id, device);
    return weight ? &weight->layout : NULL;
}

/* The ops of this device that read the weight. */
typedef struct use_list {
    tsr_weight_use *uses;
    tsri_graph_op_store *stores;
    tsr_op *ops;
    const tsr_weight_use **pointers;
    tsri_run_part *parts; /* the same ops over a part of the weight */
    size_t n, room;
    bool plain; /* the weight stays in plain rows */
} use_list;

static void drop_uses(use_list *list) {
    free(list->uses);
    free(list->stores);
    free(list->ops);
    free(list->pointers);
    free(list->parts);
}

static tsr_status collect_uses(const tsri_run_placed *placed, tsri_value leaf, size_t device,
                               const tsr_bounds *bounds, use_list *list) {
    const tsri_graph *graph = placed->graph;
    const size_t most = tsri_graph_node_count(graph) * TSRI_GRAPH_MAX_OPERANDS;
    TRY(tsri_base_new(most, sizeof *list->uses, &list->uses));
    TRY(tsri_base_new(tsri_graph_node_count(graph), sizeof *list->stores, &list->stores));
    TRY(tsri_base_new(most, sizeof *list->ops, &list->ops));
    TRY(tsri_base_new(most, sizeof *list->pointers, &list->pointers));
    TRY(tsri_base_new(most, sizeof *list->parts, &list->parts));
    list->plain = tsri_run_stays_plain(graph, leaf);
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        if (placed->device[i] != device)
            continue;
        for (uint32_t j = 0; j < node->n_in; j++) {
            if (node->in[j] == TSRI_GRAPH_NONE ||
                tsri_graph_value_at(graph, node->in[j])->storage != leaf)
                continue;
            list->ops[list->n] = *tsri_graph_as_op(graph, node, &list->stores[i]);
            list->ops[list->n].bounds = bounds;
            list->uses[list->n] = (tsr_weight_use){
                .struct_size = sizeof *list->uses, .operand = j, .op = &list->ops[list->n]};
            list->pointers[list->n] = &list->uses[list->n];
            list->n++;
        }
    }
    return TSR_OK;
}

/* Plans rows first .. first + count - 1 of a weight, for its uses; first -1: the whole weight. */
static tsr_status plan_rows(tsri_run_context *context, const tsri_graph_value *v, size_t device,
                            int64_t first, int64_t count, use_list *list) {
    const tsri_run_slot *slot = &context->slots[device];
    tsri_run_weight weight = {.id = v->id, .device = device, .first = first > 0 ? first : 0};
    tsr_tensor tensor = v->tensor;
    if (first >= 0) {
        tensor.dim[0] = tsri_tensor_const(count);
        for (size_t i = 0; i < list->n; i++) {
            tsri_run_part_make(&list->ops[i], first, count, &list->parts[i]);
            list->uses[i].op = &list->parts[i].op;
        }
    }
    tsri_run_plain_layout(&tensor, &weight.layout);
    if (slot->device->backend->weight_layout && !list->plain)
        TRY(TSRI_RUN_CALL(slot, weight_layout, list->pointers, list->n, context->options.kernels,
                          &weight.layout));
    TRY(tsri_base_grow(&context->weights, &context->weights_room, context->n_weights + 1,
                       sizeof *context->weights));
    snprintf(weight.name, sizeof weight.name, "%s", v->name);
    context->weights[context->n_weights++] = weight;
    return TSR_OK;
}

static tsr_status plan_weight(tsri_run_context *context, const tsri_run_placed *placed,
                              tsri_value leaf, size_t device, const tsr_bounds *bounds) {
    const tsri_graph_value *v = tsri_graph_value_at(placed->graph, leaf);
    const tsri_run_slot *slot = &context->slots[device];
    use_list list = {0};
    if (tsri_run_weight_find(context, v->id, device))
        return TSR_OK;
    tsr_status status = collect_uses(placed, leaf, device, bounds, &list);
    tsr_layout plain;
    tsri_run_plain_layout(&v->tensor, &plain);
    const int64_t unit =
        list.n ? tsri_run_part_unit((tsr_op_id)list.ops[0].id, list.ops[0].in[list.uses[0].operand])
               : 1;
    const int64_t part = tsri_run_part_rows(&slot->device->facts, &v->tensor, unit),
                  rows = part ? part : plain.rows;
    int64_t first = 0;
    do { /* a weight without rows is planned, too */
        const int64_t left = plain.rows - first;
        if (status == TSR_OK && list.n)
            status =
                plan_rows(context, v, device, part ? first : -1, left < rows ? left : rows, &list);
        first += rows;
    } while (first < plain.rows);
    drop_uses(&list);
    return status;
}

/* Rows that are read into memory, by several threads. */
typedef struct reading {
    const tsri_run_source *source;
    uint32_t id;
    int64_t first; /* the row of the weight that becomes row 0 of `data` */
    tsr_dtype dtype;
    uint64_t row_bytes;
    char *data;
} reading;

static tsr_status read_part(void *data, int64_t first, int64_t end) {
    const reading *r = data;
    return r->source->rows(r->source->data, r->id, r->first + first, end - first, r->dtype,
                           r->data + (uint64_t)first * r->row_bytes);
}

/* How many threads read rows; one for sources that serve one thread. */
static unsigned readers(const tsri_backend_device *device, const tsri_run_source *source,
                        uint64_t bytes) {
    const bool cpu = device->facts.type == TSR_DEVICE_CPU;
    return source->parallel ? tsri_tensor_threads(cpu ? device->facts.compute_units : 0, bytes) : 1;
}

/* How many rows of the weight are read at a time, and the bytes of one. */
static int64_t rows_at_a_time(const tsr_layout *layout, tsr_dtype dtype, uint64_t *row_bytes) {
    int64_t block = layout->row_block < 1 ? 1 : layout->row_block;
    *row_bytes = 0;
    tsri_tensor_bytes(dtype, (uint64_t)layout->columns, row_bytes);
    if (*row_bytes && block < BLOCK_BYTES / (int64_t)*row_bytes)
        block = BLOCK_BYTES / (int64_t)*row_bytes / block * block;
    return block < layout->rows ? block : layout->rows;
}

static tsr_status stream(tsri_run_context *context, tsri_run_weight *weight,
                         const tsri_run_source *source, tsr_dtype dtype, void *data, uint64_t *done,
                         uint64_t total) {
    const tsri_run_slot *slot = &context->slots[weight->device];
    const tsr_layout *layout = &weight->layout;
    uint64_t row_bytes;
    const int64_t block = rows_at_a_time(layout, dtype, &row_bytes);
    TRY(tsri_run_buffer(context, weight->device, TSR_KIND_WEIGHT, layout->bytes, weight->name,
                        &weight->buf));
    tsr_status status = TSR_OK;
    for (int64_t first = 0; first < layout->rows && status == TSR_OK; first += block) {
        const int64_t count = first + block < layout->rows ? block : layout->rows - first;
        const tsr_rows rows = {.struct_size = sizeof rows,
                               .dtype = dtype,
                               .first = first,
                               .count = count,
                               .columns = layout->columns,
                               .data = data};
        reading part = {source, weight->id, weight->first + first, dtype, row_bytes, data};
        status = tsri_tensor_parallel(readers(slot->device, source, (uint64_t)count * row_bytes),
                                      count, 1, read_part, &part);
        if (status == TSR_OK)
            status = TSRI_RUN_CALL(slot, weight_store, layout, &rows, weight->buf);
        *done += (uint64_t)count * row_bytes;
        if (status == TSR_OK && source->progress)
            status = source->progress(source->data, *done, total);
    }
    if (status != TSR_OK)
        tsri_run_buffer_drop(context, weight->device, &weight->buf);
    return status;
}

/* The dtype of a weight's leaf, in which its rows are asked for. */
static tsr_dtype leaf_dtype(const tsri_graph *graph, uint32_t id) {
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++) {
        const tsri_graph_value *v = tsri_graph_value_at(graph, (tsri_value)i);
        if (v->tensor.kind == TSR_KIND_WEIGHT && v->storage == (tsri_value)i && v->id == id)
            return (tsr_dtype)v->tensor.dtype;
    }
    return TSR_DTYPE_NONE;
}

static uint64_t plain_bytes(const tsri_run_weight *weight, tsr_dtype dtype) {
    uint64_t bytes = 0;
    tsri_tensor_bytes(dtype, (uint64_t)weight->layout.rows * (uint64_t)weight->layout.columns,
                      &bytes);
    return bytes;
}

/* Forgets weights that were planned but not filled, so that a failed load leaves the context as it
 * was. */
static void drop_unfilled(tsri_run_context *context) {
    size_t kept = 0;
    for (size_t i = 0; i < context->n_weights; i++)
        if (context->weights[i].buf)
            context->weights[kept++] = context->weights[i];
    context->n_weights = kept;
}

static bool same_layout(const tsr_layout *a, const tsr_layout *b) {
    return a->id == b->id && a->dtype == b->dtype && a->row_block == b->row_block &&
           a->rows == b->rows && a->columns == b->columns && a->bytes == b->bytes &&
           !strcmp(a->name, b->name);
}

/* Takes what the source's base has stored. */
static void borrow(tsri_run_context *context, const tsri_run_source *source) {
    const tsri_run_context *base = source->base;
    for (size_t i = 0; base && i < context->n_weights; i++) {
        tsri_run_weight *w = &context->weights[i];
        if (w->buf || !source->shared(source->data, w->id))
            continue;
        for (size_t j = 0; j < base->n_weights && !w->buf; j++) {
            const tsri_run_weight *held = &base->weights[j];
            if (held->id == w->id && held->first == w->first &&
                base->slots[held->device].device == context->slots[w->device].device &&
                same_layout(&held->layout, &w->layout))
                w->buf = held->buf;
        }
        w->borrowed = w->buf != NULL;
    }
}

/* All weights are read into one piece of memory: one for each, between what stays, left holes of up to
 * 170 MiB in the heap. */
static tsr_status fill(tsri_run_context *context, const tsri_run_placed *placed,
                       const tsri_run_source *source) {
    uint64_t total = 0, done = 0, most = 0, row_bytes;
    void *data = NULL;
    for (size_t i = 0; i < context->n_weights; i++) {
        const tsri_run_weight *weight = &context->weights[i];
        if (weight->buf)
            continue;
        const tsr_dtype dtype = leaf_dtype(placed->graph, weight->id);
        const int64_t rows = rows_at_a_time(&weight->layout, dtype, &row_bytes);
        total += plain_bytes(weight, dtype);
        most = (uint64_t)rows * row_bytes > most ? (uint64_t)rows * row_bytes : most;
    }
    tsr_status status = tsri_base_new_aligned((size_t)most, &data);
    for (size_t i = 0; i < context->n_weights && status == TSR_OK; i++)
        if (!context->weights[i].buf)
            status = stream(context, &context->weights[i], source,
                            leaf_dtype(placed->graph, context->weights[i].id), data, &done, total);
    tsri_system_free_aligned(data);
    return status;
}

tsr_status tsri_run_load(tsri_run_context *context, const tsri_graph *graph,
                         const tsr_bounds *bounds, const tsri_run_source *source) {
    tsri_run_placed *placed;
    TRY(tsri_run_placed_for(context, graph, bounds, &placed));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < tsri_graph_value_count(placed->graph) && status == TSR_OK; i++) {
        const tsri_graph_value *v = tsri_graph_value_at(placed->graph, (tsri_value)i);
        if (v->tensor.kind != TSR_KIND_WEIGHT || v->storage != (tsri_value)i)
            continue;
        for (size_t d = 0; d <= context->options.n_devices && status == TSR_OK; d++)
            if (context->slots[d].device)
                status = plan_weight(context, placed, (tsri_value)i, d, bounds);
    }
    if (status == TSR_OK)
        borrow(context, source);
    if (status == TSR_OK)
        status = tsri_run_check_budget(context, placed, bounds);
    if (status == TSR_OK)
        status = fill(context, placed, source);
    drop_unfilled(context);
    return status;
}
