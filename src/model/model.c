/* model/model.c - tessera/model.h: opens a model on a device, and tells what the model is, what it
 * needs and which kernels it runs. */
#include "model/model.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "model/load/caches.h"
#include "model/load/measure.h"
#include "model/load/model_path.h"
#include "tensor/quantize.h"
#include "tensor/shape.h"
#include "tessera/run.h"

#include <stdlib.h>
#include <string.h>

struct tsr_model {
    tsri_model *model;
    tsri_run_context *run;                    /* NULL: opened only for inspection */
    const tsri_backend_opened_device *opened; /* NULL in the same case */
};

tsri_model *tsri_model_of(const tsr_model *model) {
    return model->model;
}

const tsri_backend_opened_device *tsri_model_devices_of(const tsr_model *model) {
    return model->opened;
}

static tsr_status tell_progress(void *data, uint64_t done, uint64_t total) {
    const tsr_model_options *options = data;
    if (options->progress(options->progress_data, done, total))
        return tsri_base_fail(TSR_E_CANCELLED, "the load was cancelled after %llu of %llu bytes",
                              (unsigned long long)done, (unsigned long long)total);
    return TSR_OK;
}

static tsr_status check_options(const tsr_model_options *options) {
    if (options->dtype != TSR_DTYPE_NONE && options->dtype != TSR_F32 &&
        options->dtype != TSR_F16 && options->dtype != TSR_BF16 &&
        !tsri_tensor_is_written_blocks((tsr_dtype)options->dtype))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "weights can be kept as f32, f16, bf16, q8, q4 or as stored; dtype "
                              "%u is not one of them",
                              options->dtype);
    if (options->kv_dtype != TSR_DTYPE_NONE && options->kv_dtype != TSR_F32 &&
        options->kv_dtype != TSR_F16 && options->kv_dtype != TSR_GGML_Q8_0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "keys and values can be kept as f32, f16 or q8; dtype %u is not "
                              "one of them",
                              options->kv_dtype);
    if (options->compute > TSR_MODEL_COMPUTE_BF16)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "products can be formed in f32, f16, bf16 or int8, or as auto "
                              "chooses; %u is none of them",
                              options->compute);
    for (uint32_t i = 0; i < options->n_lora; i++)
        if (!options->lora || !options->lora[i])
            return tsri_base_fail(TSR_E_ARGUMENT, "adapter %u of %u has no name", i,
                                  options->n_lora);
    if (options->vectors > 2)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "vectors is %u; it is 1 for a model of vectors, 2 for one if it is a "
                              "bare decoder, else 0",
                              options->vectors);
    if (options->context < 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a context of %lld tokens was asked for; it must be positive",
                              (long long)options->context);
    return TSR_OK;
}

static tsr_status store(tsr_model *model, tsr_device *device, tsr_ranks *ranks,
                        const tsri_model_options *options) {
    model->opened = tsri_backend_opened(device);
    if (ranks && model->opened->n_devices > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "a rank that shares a model's layers with others has one device; %zu "
                              "are open",
                              model->opened->n_devices);
    const tsri_run_options run = {.devices = model->opened->devices,
                                  .n_devices = model->opened->n_devices,
                                  .set = model->opened->set,
                                  .kernels = model->opened->kernels,
                                  .log = model->opened->log,
                                  .log_data = model->opened->log_data,
                                  .ranks = ranks};
    TRY(tsri_run_create(&run, &model->run));
    return tsri_model_store(model->model, model->run, options);
}

/* Whether a model at `path`, to be opened on `device`, may share the weights of `base`. */
static tsr_status check_base(const tsr_model *base, const char *path, const tsr_device *device) {
    if (!device || base->opened != tsri_backend_opened(device))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s is to share the weights of %s, which was opened %s: open both on "
                              "the same device",
                              path, base->model->path,
                              base->opened ? "on another device" : "without a device");
    if (strcmp(base->model->path, path) != 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s is to share the weights of %s, which is another model: give one "
                              "of the same files as the base",
                              path, base->model->path);
    return TSR_OK;
}

tsr_status tsr_model_open(const char *name, tsr_device *device, const tsr_model_options *options,
                          tsr_model **out) {
    tsr_model_options known;
    char *path = NULL;
    tsr_model *model = NULL;
    if (!out)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "tsr_model_open: out is NULL; it must say where the model goes");
    *out = NULL;
    TRY(tsri_base_adopt("tsr_model_options", options, &known, sizeof known));
    TRY(check_options(&known));
    tsri_model_options inner = {.dtype = (tsr_dtype)known.dtype,
                                .compute = (tsr_model_compute)known.compute,
                                .float_blocks = tsri_model_float_blocks(name),
                                .context = known.context,
                                .kv_dtype = (tsr_dtype)known.kv_dtype,
                                .lora = known.lora,
                                .n_lora = known.n_lora,
                                .base = known.base ? known.base->model : NULL,
                                .tokenizer_only = known.tokenizer_only && !device,
                                .vectors = known.vectors == 1,
                                .bare_vectors = known.vectors == 2,
                                .task = known.task};
    if (known.progress) {
        inner.progress = tell_progress;
        inner.progress_data = &known;
    }
    TRY(inner.tokenizer_only ? tsri_model_locate_tokenizer(name, &path)
                             : tsri_model_locate(name, &path));
    tsr_status status = known.base ? check_base(known.base, path, device) : TSR_OK;
    if (status == TSR_OK)
        status = tsri_base_new(1, sizeof *model, &model);
    if (status == TSR_OK)
        status = tsri_model_tell_download(tsri_model_open(path, &inner, &model->model), name);
    if (status == TSR_OK && known.context > model->model->spec.context)
        status = tsri_base_fail(
            TSR_E_ARGUMENT, "a context of %lld tokens was asked for; %s reads at most %lld",
            (long long)known.context, path, (long long)model->model->spec.context);
    if (status == TSR_OK && device)
        status = store(model, device, known.ranks, &inner);
    free(path);
    if (status != TSR_OK)
        tsr_model_close(&model);
    *out = model;
    return status;
}

void tsr_model_close(tsr_model **model) {
    tsr_model *m = model ? *model : NULL;
    if (!m)
        return;
    tsri_model_close(&m->model);
    tsri_run_destroy(&m->run);
    free(m);
    *model = NULL;
}

tsr_status tsr_model_info_get(const tsr_model *model, tsr_model_info *out) {
    TRY(NEED(model));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_model_info", out));
    const tsri_model *inner = model->model;
    const tsri_model_stack *stack = tsri_model_main_stack(&inner->spec);
    const tsri_model_spec *spec = &inner->spec;
    const tsri_model_weight *label =
        inner->weights ? tsri_model_weight_at(inner->weights, TSRI_WEIGHT_LABEL) : NULL;
    tsri_model_measures figures;
    tsri_model_measure(inner, &figures);
    const tsr_model_info info = {.struct_size = sizeof info,
                                 .has_tokenizer = inner->tokenizer != NULL,
                                 .path = inner->path,
                                 .format = inner->format,
                                 .family = inner->spec.family,
                                 .stored = inner->stored,
                                 .tokenizer_why = inner->tokenizer_why ? inner->tokenizer_why : "",
                                 .layers = stack->layers,
                                 .width = inner->spec.width,
                                 .heads = stack->heads,
                                 .kv_heads = stack->kv_heads,
                                 .head_size = stack->head_size,
                                 .ffn = stack->ffn,
                                 .vocab = inner->spec.vocab,
                                 .context = inner->spec.context,
                                 .parameters = figures.parameters,
                                 .weight_bytes = figures.weight_bytes,
                                 .kv_bytes_per_token = figures.kv_bytes_per_token,
                                 .kv_dtype = tsri_tensor_dtype_name(model->model->kv_dtype),
                                 .flops_per_token = figures.flops_per_token,
                                 .flops_per_past_token = figures.flops_per_past_token,
                                 .bos = inner->spec.bos,
                                 .pad = inner->spec.pad,
                                 .n_eos = (uint32_t)inner->spec.n_eos,
                                 .eos = inner->spec.eos,
                                 .kept = figures.kept,
                                 .compute = figures.compute,
                                 .stored_bytes = figures.stored_bytes,
                                 .kind = !spec->encoder.layers   ? "decoder"
                                         : !spec->decoder.layers ? "encoder"
                                                                 : "encoder-decoder",
                                 .encoder_layers = spec->encoder.layers,
                                 .source_vocab = spec->source_vocab,
                                 .source_context = spec->source_context,
                                 .labels = label ? label->dims[0] : 0,
                                 .experts = stack->experts,
                                 .experts_used = stack->experts_used,
                                 .active_parameters = figures.active_parameters,
                                 .flops_at_context = figures.flops_at_context};
    tsri_base_give(&info, sizeof info, out);
    return TSR_OK;
}

tsr_status tsr_model_memory_get(const tsr_model *model, tsr_model_memory *out) {
    TRY(NEED(model));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_model_memory", out));
    tsri_run_memory memory = {0};
    if (model->run)
        tsri_run_memory_of(model->run, &memory);
    const tsr_model_memory all = {.struct_size = sizeof all,
                                  .weights = memory.weights,
                                  .states = memory.states,
                                  .activations = memory.arena,
                                  .inputs = memory.inputs};
    tsri_base_give(&all, sizeof all, out);
    return TSR_OK;
}

tsr_status tsr_model_bundled(void (*visit)(void *data, const char *name, const char *path),
                             void *data) {
    TRY(NEED(visit));
    return tsri_model_bundled(visit, data);
}

/* ---- explain and profile ---- */

static const char *device_name(const tsri_backend_opened_device *opened, size_t device) {
    return device < opened->n_devices ? opened->devices[device]->facts.name : "reference";
}

typedef struct row_list {
    tsr_explained_variant *variants;
    size_t n, room;
    tsr_status status;
} row_list;

static void collect_row(void *data, const tsr_variant *variant) {
    row_list *list = data;
    if (list->status == TSR_OK)
        list->status =
            tsri_base_grow(&list->variants, &list->room, list->n + 1, sizeof *list->variants);
    if (list->status != TSR_OK)
        return;
    /* The backend's strings may be gone after the visit, so they are copied. */
    list->variants[list->n++] =
        (tsr_explained_variant){.name = strdup(variant->name ? variant->name : ""),
                                .why = strdup(variant->why ? variant->why : ""),
                                .tunables = strdup(variant->tunables ? variant->tunables : ""),
                                .chosen = variant->chosen,
                                .fits = variant->fits,
                                .batch_variant = variant->batch_variant,
                                .score = variant->score};
    const tsr_explained_variant *last = &list->variants[list->n - 1];
    if (!last->name || !last->why || !last->tunables)
        list->status =
            tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory while a plan was explained");
}

static void clear_rows(row_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        free((void *)list->variants[i].name);
        free((void *)list->variants[i].why);
        free((void *)list->variants[i].tunables);
    }
    list->n = 0;
}

static tsr_status explain(tsr_model *model, int64_t tokens, bool encoder,
                          void (*visit)(void *data, const tsr_explained *op), void *data) {
    tsri_session *session = NULL;
    tsri_run_plan *plan = NULL;
    row_list list = {0};
    if (!model->run)
        return tsri_base_fail(
            TSR_E_STATE, "%s was opened without a device; it runs nothing that could be explained",
            model->model->path);
    if (tokens < 1)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a plan of %lld tokens was asked for; at least one is needed",
                              (long long)tokens);
    TRY(tsri_session_create(model->model, 1, 0, &session));
    tsr_status status = encoder ? tsri_session_encode_plan(session, tokens, &plan)
                                : tsri_session_plan(session, tokens, &plan);
    for (size_t i = 0; status == TSR_OK && i < tsri_run_step_count(plan); i++) {
        tsri_run_step step = {0};
        status = tsri_run_step_at(plan, i, &step);
        if (status == TSR_OK)
            status = tsri_run_step_variants(plan, i, collect_row, &list);
        if (status == TSR_OK)
            status = list.status;
        const tsr_explained op = {.struct_size = sizeof op,
                                  .n_rows = (uint32_t)list.n,
                                  .label = step.label,
                                  .op = step.op,
                                  .device = device_name(model->opened, step.device),
                                  .note = step.note,
                                  .variants = list.variants,
                                  .tokens =
                                      encoder ? tokens : tsri_session_plan_tokens(session, tokens)};
        if (status == TSR_OK)
            visit(data, &op);
        clear_rows(&list);
    }
    free(list.variants);
    tsri_session_destroy(&session);
    return status;
}

tsr_status tsr_explain(tsr_model *model, int64_t tokens,
                       void (*visit)(void *data, const tsr_explained *op), void *data) {
    TRY(NEED(model));
    TRY(NEED(visit));
    return explain(model, tokens, false, visit, data);
}

tsr_status tsr_explain_encoder(tsr_model *model, int64_t tokens,
                               void (*visit)(void *data, const tsr_explained *op), void *data) {
    TRY(NEED(model));
    TRY(NEED(visit));
    return explain(model, tokens, true, visit, data);
}

typedef struct profile_visit {
    const tsri_backend_opened_device *opened;
    void (*visit)(void *data, const tsr_profiled *entry);
    void *data;
} profile_visit;

static void pass_entry(void *data, const tsri_run_profile_entry *entry) {
    const profile_visit *to = data;
    const tsr_profiled profiled = {.struct_size = sizeof profiled,
                                   .device = device_name(to->opened, entry->device),
                                   .op = entry->op,
                                   .kernel = entry->kernel,
                                   .launches = entry->launches,
                                   .nanoseconds = entry->nanoseconds,
                                   .enqueue_nanoseconds = entry->enqueue_nanoseconds};
    to->visit(to->data, &profiled);
}

tsr_status tsri_model_profile(tsri_run_context *run, const tsri_backend_opened_device *opened,
                              void (*visit)(void *data, const tsr_profiled *entry), void *data) {
    profile_visit to = {.opened = opened, .visit = visit, .data = data};
    return tsri_run_profile(run, pass_entry, &to);
}

tsr_status tsr_profile(tsr_model *model, void (*visit)(void *data, const tsr_profiled *entry),
                       void *data) {
    TRY(NEED(model));
    TRY(NEED(visit));
    if (!model->run)
        return tsri_base_fail(TSR_E_STATE, "%s was opened without a device; nothing ran",
                              model->model->path);
    return tsri_model_profile(model->run, model->opened, visit, data);
}
