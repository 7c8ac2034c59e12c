/* run/budget.c - the memory that a model needs, compared with what the devices have. */
#include "base/bytes.h"
#include "base/error.h"
#include "graph/ops.h"
#include "run/context.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

#include <stdio.h>

static const char *states_of(const tsri_run_options *options) {
    return options->trains ? "parameters and gradients" : "keys and values";
}

/* How weights of so many bits a number can be made smaller: "" where they have 4 or so. */
static const char *smaller_than(double bits) {
    static const struct {
        double above;
        const char *remedy;
    } rows[] = {{16, "smaller weights (--dtype f16)"},
                {9, "smaller weights (--dtype q8)"},
                {6, "smaller weights (--dtype q4)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (bits > rows[i].above)
            return rows[i].remedy;
    return "";
}

/* Without what fills the last panel of a layout. */
static double bits_of(const tsr_layout *layout) {
    const tsri_tensor_dtype *dtype = tsri_tensor_dtype_info((tsr_dtype)layout->dtype);
    return 8.0 * dtype->bytes / dtype->block;
}

static void say_remedy(const tsri_run_options *options, const char *smaller, char text[256]) {
    if (options->trains)
        snprintf(
            text, 256,
            "use smaller batches (per_device_train_batch_size, with gradient_accumulation_steps "
            "to make up for it), a smaller block_size, --gradient-checkpointing, or LoRA "
            "(lora_rank=8)");
    else
        snprintf(
            text, 256,
            "use a shorter context (-c), %s%sor split over devices (--device A,B) or over ranks "
            "(--split-layers)",
            smaller, *smaller ? ", " : "");
}

/* The bytes of the states that are used on a device. */
static tsr_status state_bytes(const tsri_run_placed *placed, const tsr_bounds *bounds,
                              size_t device, uint64_t *bytes) {
    for (size_t i = 0; i < tsri_graph_value_count(placed->graph); i++) {
        const tsri_graph_value *v = tsri_graph_value_at(placed->graph, (tsri_value)i);
        size_t on = 0;
        if (v->tensor.kind != TSR_KIND_STATE || v->storage != (tsri_value)i)
            continue;
        TRY(tsri_run_state_device(placed, (tsri_value)i, v->name, &on));
        *bytes += on == device ? tsri_tensor_extent(&v->tensor, bounds->highest) : 0;
    }
    return TSR_OK;
}

/* ", enough for 20 of 32 layers", where a model has layers that another device could take. */
static tsr_status say_held(const tsri_run_context *context, const tsri_run_placed *placed,
                           const tsr_bounds *bounds, char *text, size_t size) {
    int held = 0, layers = 0;
    text[0] = 0;
    if (context->options.n_devices > 1 || context->options.ranks || context->options.trains)
        return TSR_OK;
    TRY(tsri_run_layers_held(context, placed->source, bounds, &held, &layers));
    if (layers > 1)
        snprintf(text, size, ", enough for %d of %d layers", held, layers);
    return TSR_OK;
}

static tsr_status fail_result(const tsri_run_context *context, const tsri_graph_node *node,
                              const tsr_facts *facts, uint64_t bytes) {
    char remedy[256] = "use smaller batches, shorter texts or another device";
    if (context->options.trains)
        say_remedy(&context->options, "", remedy);
    return tsri_base_fail(
        TSR_E_DEVICE_MEMORY,
        "%s: a result of %s needs %llu MiB in one buffer; %s/%s allows %llu MiB: %s", node->label,
        tsri_graph_op_find(node->id)->name, (unsigned long long)(bytes >> 20), facts->platform,
        facts->name, (unsigned long long)(facts->max_allocation >> 20), remedy);
}

tsr_status tsri_run_check_results(const tsri_run_context *context, const tsri_run_placed *placed,
                                  const tsr_bounds *bounds) {
    const tsri_graph *graph = placed->graph;
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        const tsr_facts *facts = &context->slots[placed->device[i]].device->facts;
        for (uint32_t j = 0; facts->max_allocation && j < node->n_in + node->n_out; j++) {
            const tsri_value value = j < node->n_in ? node->in[j] : node->out[j - node->n_in];
            if (value == TSRI_GRAPH_NONE || tsri_graph_value_at(graph, value)->producer < 0)
                continue;
            const tsri_graph_value *v =
                tsri_graph_value_at(graph, tsri_graph_value_at(graph, value)->storage);
            const uint64_t bytes = tsri_tensor_extent(&v->tensor, bounds->highest);
            if (bytes > facts->max_allocation)
                return fail_result(context, tsri_graph_node_at(graph, (size_t)v->producer), facts,
                                   bytes);
        }
    }
    return TSR_OK;
}

/* What a model needs on a device, or on all that share the host's memory. */
typedef struct need {
    uint64_t weights, missing, states, arena; /* in bytes; missing: weights without a buffer */
    double numbers, bits;                     /* of the weights */
    tsri_bytes on;                            /* "PLATFORM/NAME + PLATFORM/NAME" */
} need;

static tsr_status add_weights(const tsri_run_context *context, size_t device, need *all) {
    const tsr_facts *facts = &context->slots[device].device->facts;
    for (size_t i = 0; i < context->n_weights; i++) {
        const tsri_run_weight *w = &context->weights[i];
        if (w->device != device)
            continue;
        const double elements = (double)w->layout.rows * (double)w->layout.columns,
                     bits_each = bits_of(&w->layout);
        all->weights += w->layout.bytes;
        all->numbers += elements;
        all->bits += elements * bits_each;
        all->missing += w->buf ? 0 : w->layout.bytes;
        /* with q4, too, embeddings are kept as q8 */
        const char *smaller = bits_each > 9 ? smaller_than(bits_each) : "";
        if (facts->max_allocation && w->layout.bytes > facts->max_allocation)
            return tsri_base_fail(
                TSR_E_DEVICE_MEMORY,
                "weight %s needs %llu MiB in one buffer; %s/%s allows %llu "
                "MiB: use %s%sanother device",
                w->name, (unsigned long long)(w->layout.bytes >> 20), facts->platform, facts->name,
                (unsigned long long)(facts->max_allocation >> 20), smaller, *smaller ? " or " : "");
    }
    return TSR_OK;
}

static uint64_t sum_of(const need *n) {
    return n->weights + n->states + n->arena;
}

static tsr_status fail_short(const tsri_run_context *context, const tsri_run_placed *placed,
                             const tsr_bounds *bounds, tsr_status code, const need *all,
                             uint64_t available) {
    char enough[64], remedy[256];
    say_remedy(&context->options, smaller_than(all->numbers > 0 ? all->bits / all->numbers : 0),
               remedy);
    TRY(say_held(context, placed, bounds, enough, sizeof enough));
    return tsri_base_fail(
        code,
        "%s: weights need %llu MiB, %s %llu MiB, activations %llu MiB; %llu MiB are "
        "available%s: %s",
        all->on.data, (unsigned long long)(all->weights >> 20), states_of(&context->options),
        (unsigned long long)(all->states >> 20), (unsigned long long)(all->arena >> 20),
        (unsigned long long)(available >> 20), enough, remedy);
}

/* Adds what one more device needs to what those before it need. */
static tsr_status join(const need *own, need *all) {
    all->weights += own->weights;
    all->missing += own->missing;
    all->states += own->states;
    all->arena += own->arena;
    all->numbers += own->numbers;
    all->bits += own->bits;
    return sum_of(own)
               ? tsri_base_bytes_printf(&all->on, "%s%s", all->on.size ? " + " : "", own->on.data)
               : TSR_OK;
}

/* Compares what a device needs with its own memory, and adds it to `shared` if that is the host's. */
static tsr_status check_device(tsri_run_context *context, const tsri_run_placed *placed,
                               const tsr_bounds *bounds, size_t device, need *shared) {
    const tsr_facts *facts = &context->slots[device].device->facts;
    need own = {0};
    tsr_status status = tsri_base_bytes_printf(&own.on, "%s/%s", facts->platform, facts->name);
    if (status == TSR_OK)
        status = add_weights(context, device, &own);
    if (status == TSR_OK)
        status = state_bytes(placed, bounds, device, &own.states);
    if (status == TSR_OK)
        status = tsri_run_arena_bytes(context, placed, bounds, device, &own.arena);
    if (status == TSR_OK && facts->memory && sum_of(&own) > facts->memory)
        status = fail_short(context, placed, bounds, TSR_E_DEVICE_MEMORY, &own, facts->memory);
    if (status == TSR_OK && facts->unified_memory)
        status = join(&own, shared);
    tsri_base_bytes_clear(&own.on);
    return status;
}

tsr_status tsri_run_check_budget(tsri_run_context *context, const tsri_run_placed *placed,
                                 const tsr_bounds *bounds) {
    const tsr_facts sharing = {.unified_memory = 1};
    need shared = {0};
    tsr_status status = TSR_OK;
    for (size_t d = 0; d <= context->options.n_devices && status == TSR_OK; d++)
        if (context->slots[d].device)
            status = check_device(context, placed, bounds, d, &shared);
    if (status == TSR_OK && sum_of(&shared)) {
        const uint64_t host = tsri_run_host_memory(&sharing);
        if (shared.missing + shared.states + shared.arena > host)
            status = fail_short(context, placed, bounds, TSR_E_HOST_MEMORY, &shared, host);
    }
    tsri_base_bytes_clear(&shared.on);
    TRY(status);
    /* what does not train may run at sizes far below these */
    return context->options.trains ? tsri_run_check_results(context, placed, bounds) : TSR_OK;
}
