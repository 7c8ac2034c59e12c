/* model/load/measure.c - counts a model's parameters, bytes and multiply-adds, and its
 * matrices by dtype. */
#include "model/load/measure.h"

#include "tensor/convert.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"

#include <math.h>

const char *tsri_model_compute_name(tsr_compute compute) {
    static const char *const names[] = {"f32", "f16", "int8", "bf16"};
    return names[compute];
}

/* Whether linear ops read the weight: tables are only looked up. */
static bool is_multiplied(const tsri_model_weights *weights, uint32_t id) {
    const tsri_model_spec *spec = weights->spec;
    const tsri_model_stack *const stacks[] = {&spec->decoder, &spec->encoder};
    if (weights->own && id >= weights->own)
        return true;
    for (int i = 0; i < 2; i++)
        if (id == tsri_model_stack_weight(stacks[i], TSRI_STACK_POSITION) ||
            id == tsri_model_stack_weight(stacks[i], TSRI_STACK_EMBED))
            return false;
    return !tsri_model_weight_is_relative(spec, id) && id != TSRI_WEIGHT_TYPES &&
           (id != TSRI_WEIGHT_EMBED || spec->tied);
}

size_t tsri_model_tally_matrices(const tsri_model_weights *weights,
                                 tsri_model_tally kinds[TSRI_MODEL_MAX_TALLIES]) {
    size_t n = 0;
    for (uint32_t id = 0; id < weights->count; id++) {
        const tsri_model_weight *w = tsri_model_weight_at(weights, id);
        uint64_t bytes = 0;
        size_t i = 0;
        if (!w || w->rank != 2)
            continue;
        while (i < n && kinds[i].dtype != w->dtype)
            i++;
        if (i == TSRI_MODEL_MAX_TALLIES)
            continue;
        if (i == n)
            kinds[n++] =
                (tsri_model_tally){w->dtype, tsri_model_weight_compute(weights, w), 0, 0, 0};
        tsri_tensor_bytes(w->dtype, (uint64_t)w->dims[0] * (uint64_t)w->dims[1], &bytes);
        kinds[i].bytes += bytes;
        kinds[i].matrices++;
        kinds[i].multiplied += is_multiplied(weights, id);
    }
    return n;
}

static void measure_keeping(const tsri_model *model, tsri_model_measures *out) {
    tsri_model_tally kinds[TSRI_MODEL_MAX_TALLIES];
    const size_t n = tsri_model_tally_matrices(model->weights, kinds);
    size_t most = 0;
    for (size_t i = 1; i < n; i++)
        most = kinds[i].bytes > kinds[most].bytes ? i : most;
    out->kept = tsri_tensor_dtype_name(kinds[most].dtype);
    out->compute = tsri_model_compute_name(kinds[most].compute);
    for (size_t i = 0; i < model->archive->n_arrays; i++) {
        const tsri_io_array *array = &model->archive->arrays[i];
        out->stored_bytes += array->made ? array->made->stored : array->bytes;
    }
}

/* Whether each token that goes through the stack is multiplied with the weight: keys and values of
 * the encoder's output are computed once for each text. */
static bool is_read_by_token(const tsri_model_spec *spec, const tsri_model_stack *stack,
                             uint32_t id) {
    const uint32_t first = tsri_model_layer_weight(spec, stack, 0, 0),
                   count = (uint32_t)tsri_model_stack_groups(stack) * TSRI_WEIGHT_PER_LAYER;
    return id >= first && id < first + count && !tsri_model_weight_is_relative(spec, id) &&
           tsri_model_weight_role(id) != TSRI_ROLE_CROSS_KV;
}

double tsri_model_flops_per_seen(const tsri_model_stack *stack) {
    const double per_key = (double)stack->head_size + stack->value_size;
    return 2.0 * tsri_model_attention_layers(stack) * stack->heads * per_key;
}

/* The average over the layers of what `of` says of one whose window, never longer than the sequence, is
 * so many tokens to a side, the own one included. */
static double by_layers(const tsri_model_stack *stack, int64_t past, int64_t n,
                        double (*of)(double window, double past, double n)) {
    double all = 0;
    for (int32_t i = 0; i < stack->layers; i++) {
        const int64_t own = tsri_model_layer_window(stack, i),
                      window = own && own < past + n ? own : past + n;
        all += of((double)window, (double)past, (double)n);
    }
    return stack->layers ? all / stack->layers : 0;
}

/* Up to `most` earlier tokens: the first `growing` tokens see one more each, the others all of these. */
static double seen(double window, double past, double n) {
    const double most = window - 1, growing = fmin(n, fmax(0, most - past));
    return growing * past + growing * (growing - 1) / 2 + (n - growing) * most;
}

/* Of all pairs, those are left out that are a window or more apart. */
static double seen_text(double window, double past, double n) {
    (void)past;
    return n * n - (n - window) * (n - window + 1);
}

static double read_at_once(double window, double past, double n) {
    return n + fmin(past, window - 1);
}

double tsri_model_seen(const tsri_model_stack *stack, int64_t past, int64_t n) {
    return by_layers(stack, past, n, seen);
}

double tsri_model_seen_text(const tsri_model_stack *stack, int64_t n) {
    return by_layers(stack, 0, n, seen_text);
}

double tsri_model_read(const tsri_model_stack *stack, int64_t past, int64_t n) {
    return by_layers(stack, past, n, read_at_once);
}

/* Of a token that ends a full context; of an encoder, the mean over its tokens. */
static double flops_at_context(const tsri_model_stack *stack, int64_t context) {
    const double tokens = stack->side == TSRI_SIDE_ENCODER
                              ? tsri_model_seen_text(stack, context) / (double)context
                              : tsri_model_seen(stack, context, 1);
    return tsri_model_flops_per_seen(stack) * tokens;
}

void tsri_model_measure(const tsri_model *model, tsri_model_measures *out) {
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_stack *stack = tsri_model_main_stack(spec);
    *out = (tsri_model_measures){.kept = "", .compute = ""};
    if (!model->weights) /* a tokenizer alone */
        return;
    out->weight_bytes = tsri_model_weights_bytes(model->weights);
    measure_keeping(model, out);
    for (uint32_t id = 0; id < model->weights->count; id++) {
        const tsri_model_weight *weight = tsri_model_weight_at(model->weights, id);
        if (!weight || !weight->n_parts)
            continue;
        const double active = tsri_model_weight_active(model->weights, id);
        out->parameters += tsri_model_weight_elements(weight);
        out->active_parameters += (uint64_t)active;
        if (weight->rank == 2 && is_read_by_token(spec, stack, id))
            out->flops_per_token += 2 * active;
    }
    out->flops_per_past_token = tsri_model_flops_per_seen(stack);
    out->flops_at_context = flops_at_context(stack, spec->context);
    if (stack->side == TSRI_SIDE_ENCODER)
        return;
    out->flops_per_token += 2.0 * spec->vocab * tsri_model_head_width(spec);
    const tsri_tensor_dtype *kept = tsri_tensor_dtype_info(model->kv_dtype);
    out->kv_bytes_per_token = stack->recurrent
                                  ? (uint64_t)stack->recurrent * sizeof(float)
                                  : (uint64_t)stack->layers * (uint64_t)stack->kv_heads *
                                        (uint64_t)(stack->head_size + stack->value_size) /
                                        (uint64_t)kept->block * (uint64_t)kept->bytes;
}
