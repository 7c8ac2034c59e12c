/* model/load/store.c - stores a model's weights on devices, with a graph of every use of them. */
#include "base/error.h"
#include "model/load/load.h"
#include "model/load/product.h"
#include "run/context.h"
#include "tensor/dtype.h"

/* What the run's callbacks get. */
typedef struct source {
    tsri_model_weights *weights;
    const tsri_model_options *options;
} source;

static tsr_status give_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                            void *out) {
    return tsri_model_weights_rows(((source *)data)->weights, id, first, count, dtype, out);
}

static tsr_status tell_progress(void *data, uint64_t done, uint64_t total) {
    const tsri_model_options *options = ((source *)data)->options;
    return options->progress ? options->progress(options->progress_data, done, total) : TSR_OK;
}

/* Whether a weight is read from arrays that no adapter changes. */
static bool is_unchanged(const tsri_model_weights *weights, const tsri_model_weight *weight) {
    bool unchanged = weight && weight->n_parts;
    for (int i = 0; unchanged && i < weight->n_parts; i++)
        unchanged = !tsri_model_adapters_change(weights->adapters, weight->parts[i].array);
    return unchanged;
}

static bool is_shared(void *data, uint32_t id) {
    const source *s = data;
    const tsri_model *base = s->options->base;
    const tsri_model_weight *own = tsri_model_weight_at(s->weights, id),
                            *other = tsri_model_weight_at(base->weights, id);
    const tsri_model_keeping *keeping = &s->weights->keeping, *like = &base->weights->keeping;
    if (base->spec.decoder.layers != s->weights->spec->decoder.layers) /* one is of vectors */
        return false;
    return is_unchanged(s->weights, own) && is_unchanged(base->weights, other) &&
           own->dtype == other->dtype && keeping->dtype == like->dtype &&
           keeping->stored_blocks == like->stored_blocks;
}

/* The shape of a graph with every use of the weights. `shared`: by ranks that share the layers. */
static tsri_model_shape whole_shape(const tsri_model *model, int32_t slots, int64_t context,
                                    bool shared) {
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_weights *w = model->weights;
    const bool decoder = spec->decoder.layers, encoder = spec->encoder.layers,
               writes = decoder && tsri_model_has_output(w), apart = shared && spec->decoder.cross;
    return (tsri_model_shape){
        .sides = (decoder ? TSRI_SIDES_DECODER : 0) | (encoder ? TSRI_SIDES_ENCODER : 0) |
                 (apart ? TSRI_SIDES_SOURCE : 0),
        .encoded = apart,
        .slots = slots,
        .sources = slots,
        .capacity = context,
        .source_capacity = spec->source_context < 2048 ? spec->source_context : 2048,
        .kv_dtype = model->kv_dtype,
        .logits = writes || tsri_model_has_masked(w),
        .argmax = writes,
        .hidden = decoder && !writes,
        .vectors = !decoder,
        .labels = tsri_model_weight_at(w, TSRI_WEIGHT_LABEL),
        .next = tsri_model_weight_at(w, TSRI_WEIGHT_NEXT),
        .pooled = tsri_model_weight_at(w, TSRI_WEIGHT_POOLER)};
}

/* Whether the model's layers may be split as the run wants it. */
static tsr_status check_split(const tsri_model *model, const tsri_run_context *run) {
    const tsri_model_stack *decoder = &model->spec.decoder;
    if (decoder->cross && tsri_run_device_count(run) > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is an encoder-decoder, whose two stacks share the memory of a "
                              "device, so it runs on one device only: name one",
                              model->path);
    if (decoder->cross && decoder->recurrent && tsri_run_rank_count(run) > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s is an encoder-decoder of recurrent units, whose two layers share "
                              "their states, so it runs on one rank only: run it without "
                              "--split-layers",
                              model->path);
    return TSR_OK;
}

/* ---- what the log says ---- */

typedef struct widened {
    unsigned matrices;
    uint64_t bytes, stored;
} widened;

/* `mixed`: those whose parts have blocks of different types, else the others. */
static widened count_widened(const tsri_model_weights *weights, bool mixed) {
    widened all = {0};
    for (uint32_t id = 0; id < weights->count; id++) {
        if (!tsri_model_weight_is_widened(weights, id))
            continue;
        const tsri_model_weight *w = &weights->items[id];
        uint64_t stored = 0, bytes = 0;
        bool differ = false;
        for (int i = 0; i < w->n_parts; i++) {
            const tsri_model_part *part = &w->parts[i];
            tsri_tensor_bytes(part->array->dtype, (uint64_t)part->rows * (uint64_t)w->dims[1],
                              &bytes);
            stored += bytes;
            differ |= part->array->dtype != w->parts[0].array->dtype;
        }
        if (differ != mixed)
            continue;
        all.matrices++;
        all.stored += stored;
        all.bytes += tsri_model_weight_elements(w) * sizeof(float);
    }
    return all;
}

static void tell_widened(const tsri_model *model, tsri_run_context *run) {
    static const char *const why[] = {
        "the device has no fast products with blocks of their type",
        "their parts (such as gate and up) have blocks of different types"};
    for (int mixed = 0; mixed < 2; mixed++) {
        const widened w = count_widened(model->weights, mixed);
        if (w.matrices)
            tsri_run_log(run, TSR_LOG_WARNING,
                         "%s: %u %s f32, %.1f MiB in place of %.1f MiB, because %s; with --dtype "
                         "q8 they are smaller",
                         model->path, w.matrices,
                         w.matrices == 1 ? "matrix becomes" : "matrices become",
                         (double)w.bytes / (1 << 20), (double)w.stored / (1 << 20), why[mixed]);
    }
}

tsr_status tsri_model_store(tsri_model *model, tsri_run_context *run,
                            const tsri_model_options *options) {
    const int32_t slots = options->slots ? options->slots : 1;
    const int64_t reads = model->spec.context, most = options->context ? options->context : 2048,
                  context = most < reads ? most : reads;
    const tsri_model_shape shape = whole_shape(model, slots, context, tsri_run_rank_count(run) > 1);
    const tsr_bounds bounds = tsri_model_bounds(slots, 1, context < 512 ? context : 512,
                                                context < 512 ? context : 512, false);
    source data = {.weights = model->weights, .options = options};
    const tsri_run_source source = {.data = &data,
                                    .rows = give_rows,
                                    .parallel = true,
                                    .progress = tell_progress,
                                    .base = options->base ? options->base->run : NULL,
                                    .shared = is_shared};
    TRY(check_split(model, run));
    TRY(tsri_model_settle_compute(model->weights, run));
    TRY(tsri_model_build(model->weights, &shape, &model->graph));
    const tsr_status status = tsri_run_load(run, model->graph, &bounds, &source);
    if (status != TSR_OK)
        return status;
    model->run = run;
    if (model->coded.title) {
        char text[TSRI_CODED_TEXT];
        tsri_model_coded_tell(&model->coded, text);
        tsri_run_log(run, TSR_LOG_INFO, "%s: %s", model->path, text);
    }
    if (model->weights->untied)
        tsri_run_log(
            run, TSR_LOG_WARNING,
            "%s: \"tie_word_embeddings\" says that the output matrix is the embedding, but "
            "tensor \"%s\" holds other numbers; these are used",
            model->path, model->weights->untied);
    if (model->family_by)
        tsri_run_log(run, TSR_LOG_WARNING,
                     "%s: \"model_type\" is missing; by %s it is a model of the family %s",
                     model->config_name, model->family_by, model->arch->name);
    if (model->weights->left_out.size)
        tsri_run_log(run, TSR_LOG_WARNING,
                     "%s: no part that is served reads the tensors of %s; what is computed is "
                     "computed without them",
                     model->path, model->weights->left_out.data);
    tell_widened(model, run);
    return TSR_OK;
}
