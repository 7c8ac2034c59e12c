/* model/training.c - running a training: batches, norm, update. */
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/tables.h"
#include "model/training_state.h"
#include "tensor/convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making one ---- */

static tsr_status check_objective(const tsri_model *model, const tsri_training_options *options) {
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_weights *w = model->weights;
    const bool decoder = spec->decoder.layers, encoder = spec->encoder.layers;
    const char *lacks = NULL;
    switch (options->objective) {
    case TSRI_OBJECTIVE_NEXT:
        lacks = decoder && !encoder ? NULL : "a decoder alone, which predicts the next token";
        break;
    case TSRI_OBJECTIVE_TRANSLATE:
        lacks = decoder && encoder ? NULL : "an encoder and a decoder, which translate";
        break;
    case TSRI_OBJECTIVE_MASKED:
        lacks = tsri_model_weight_at(w, TSRI_WEIGHT_MASKED_DENSE) && !decoder
                    ? NULL
                    : "an encoder with a masked LM head";
        break;
    case TSRI_OBJECTIVE_CLASSIFY:
        lacks = tsri_model_weight_at(w, TSRI_WEIGHT_LABEL) && !decoder && !spec->label_tokens &&
                        spec->problem == TSRI_PROBLEM_SINGLE
                    ? NULL
                    : "an encoder with a classifier that gives a text one label";
        break;
    }
    if (lacks)
        return tsri_base_fail(TSR_E_STATE, "%s (%s) can't learn this: it is not %s", model->path,
                              spec->family, lacks);
    if (spec->decoder.recurrent)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: recurrent stacks don't learn yet",
                              model->path);
    return TSR_OK;
}

static tsr_status give_rows(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                            void *out) {
    return tsri_model_weights_rows(data, id, first, count, dtype, out);
}

static tsr_status make_buckets(const tsri_model_stack *stack, int32_t **out) {
    if (!stack->layers || !stack->relative_buckets)
        return TSR_OK;
    TRY(tsri_base_new(2 * (size_t)stack->relative_distance + 1, sizeof **out, out));
    tsri_model_relative_buckets(stack->relative_buckets, stack->relative_distance, !stack->causal,
                                *out);
    return TSR_OK;
}

static tsr_status open_run(tsri_training *t, tsr_device *device) {
    const tsri_backend_opened_device *opened = tsri_backend_opened(device);
    const tsri_run_options run = {.devices = opened->devices,
                                  .n_devices = opened->n_devices,
                                  .set = opened->set,
                                  .kernels = opened->kernels,
                                  .log = opened->log,
                                  .log_data = opened->log_data};
    if (opened->n_devices > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "a training runs on one device; name one");
    return tsri_run_create(&run, &t->run);
}

tsr_status tsri_training_create(tsr_model *model, tsr_device *device,
                                const tsri_training_options *options, tsri_training **out) {
    tsri_training *t;
    const tsri_model_spec *spec = &tsri_model_of(model)->spec;
    *out = NULL;
    TRY(check_objective(tsri_model_of(model), options));
    TRY(tsri_base_new(1, sizeof *t, &t));
    t->model = tsri_model_of(model);
    t->options = *options;
    if (t->options.hard <= 0 && t->options.kl <= 0)
        t->options.hard = 1;
    tsr_status status = open_run(t, device);
    if (status == TSR_OK)
        status =
            make_buckets(spec->encoder.layers ? &spec->encoder : &spec->decoder, &t->in.buckets);
    if (status == TSR_OK)
        status = make_buckets(&spec->decoder, &t->in.own_buckets);
    if (status == TSR_OK)
        status = tsri_training_graphs(t);
    if (status != TSR_OK)
        tsri_training_destroy(&t);
    *out = t;
    return status;
}

static void drop_plan(tsri_training *t, tsri_training_plan *plan) {
    if (t->run && plan->graph)
        tsri_run_forget(t->run, plan->graph);
    tsri_graph_destroy(&plan->graph);
    plan->plan = NULL;
}

void tsri_training_destroy(tsri_training **training) {
    tsri_training *t = *training;
    if (!t)
        return;
    tsri_training_plan *const plans[] = {&t->learn, &t->evaluate, &t->logits, &t->norms,
                                         &t->update};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        drop_plan(t, plans[i]);
    tsri_run_destroy(&t->run);
    void *const owned[] = {
        t->parameters,   t->sums,           t->in.positions,       t->in.rows,
        t->in.targets,   t->in.types,       t->in.buckets,         t->in.losses[0],
        t->in.losses[1], t->in.own_buckets, t->in.source_positions};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(t);
    *training = NULL;
}

/* ---- plans ---- */

/* Rows that a masked LM head computes at the most: the products of a run's sizes are int32. */
static int64_t most_rows(int64_t B, int64_t T, int64_t S) {
    const int64_t tokens = B * T, limit = INT32_MAX / (tokens * S);
    return tokens < limit ? tokens : limit;
}

static tsr_status prepare(tsri_training *t, tsri_training_plan *plan) {
    const bool listed = plan == &t->logits || t->options.objective == TSRI_OBJECTIVE_MASKED,
               sized = plan != &t->norms && plan != &t->update;
    const int64_t B = t->most[0], T = t->most[1], S = t->most[2];
    tsr_bounds bounds = {
        .struct_size = sizeof bounds, .lowest = {1, 1, 1, 1, 1}, .highest = {1, 1, 1, 1, 1}};
    if (sized) {
        bounds.highest[0] = B;
        bounds.highest[1] = T;
        bounds.highest[2] = S;
        bounds.highest[4] = !listed ? 1 : plan == &t->logits ? B : most_rows(B, T, S);
    }
    const tsri_run_source source = {.data = t->model->weights, .rows = give_rows};
    TRY(tsri_run_load(t->run, plan->graph, &bounds, &source));
    return tsri_run_prepare(t->run, plan->graph, &bounds, &plan->plan);
}

/* The first value of a LoRA parameter: A small and random, B zero, so that the start is the model.
 */
static void begin_adapter(const tsri_training *t, const tsri_training_parameter *p, float *out) {
    const uint32_t behind = p->number - t->model->weights->count;
    const float deviation = 1.0f / sqrtf((float)p->dims[1]);
    for (int64_t i = 0; i < p->elements; i++)
        out[i] = behind % TSRI_ADAPTER_PARTS
                     ? 0
                     : deviation * tsri_base_normal(t->options.seed, behind, (uint64_t)i);
}

static tsr_status write_value(tsri_training *t, const tsri_training_parameter *p,
                              const float *value) {
    const uint64_t n = (uint64_t)p->elements;
    uint16_t *rounded = NULL;
    if (!p->rounded)
        return tsri_run_write_state(t->run, tsri_model_parameter_state(p->number, TSRI_PART_VALUE),
                                    value, n * 4);
    TRY(tsri_run_write_state(t->run, tsri_model_parameter_state(p->number, TSRI_PART_VALUE), value,
                             n * 4));
    TRY(tsri_base_new(n, sizeof *rounded, &rounded));
    tsr_status status = tsri_tensor_convert(TSR_BF16, rounded, TSR_F32, value, n);
    if (status == TSR_OK)
        status = tsri_run_write_state(
            t->run, tsri_model_parameter_state(p->number, TSRI_PART_ROUNDED), rounded, n * 2);
    free(rounded);
    return status;
}

/* The weights as the files have them. */
static tsr_status begin_parameters(tsri_training *t) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < t->n_parameters && status == TSR_OK; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        float *value = NULL;
        status = tsri_base_new((size_t)p->elements, sizeof *value, &value);
        if (status == TSR_OK && p->number >= t->model->weights->count)
            begin_adapter(t, p, value);
        else if (status == TSR_OK)
            status = tsri_model_weights_rows(t->model->weights, p->number, 0, p->dims[0], TSR_F32,
                                             value);
        if (status == TSR_OK)
            status = write_value(t, p, value);
        free(value);
    }
    return status;
}

static void count_memory(const tsri_training *t, tsri_training_memory *out) {
    tsri_run_memory memory;
    tsri_run_memory_of(t->run, &memory);
    *out = (tsri_training_memory){
        .weights = memory.weights, .activations = memory.arena, .inputs = memory.inputs};
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        const uint64_t n = (uint64_t)p->elements;
        out->parameters += n * (p->rounded ? 6 : 4);
        out->gradients += n * 4;
        out->optimizer += n * 4 * tsri_training_moments(t);
    }
}

tsr_status tsri_training_reserve(tsri_training *t, int32_t B, int32_t T, int32_t S,
                                 tsri_training_memory *out) {
    const bool begins = !t->update.plan;
    const int32_t wanted[] = {B, T, S};
    bool grows = begins;
    for (int i = 0; i < 3; i++) {
        const int32_t n = wanted[i] > 1 ? wanted[i] : 1;
        grows |= n > t->most[i];
        t->most[i] = n > t->most[i] ? n : t->most[i];
    }
    if (grows) {
        t->evaluate.plan = t->logits.plan = NULL;
        TRY(prepare(t, &t->learn));
    }
    if (begins) {
        TRY(prepare(t, &t->norms));
        TRY(prepare(t, &t->update));
        TRY(begin_parameters(t));
    }
    if (out)
        count_memory(t, out);
    return TSR_OK;
}

static tsr_status plan_of(tsri_training *t, tsri_training_plan *plan, tsri_model_pass pass) {
    if (!plan->graph)
        TRY(tsri_training_graph(t, pass, &plan->graph));
    return plan->plan ? TSR_OK : prepare(t, plan);
}

/* ---- a batch ---- */

static tsr_status fill_positions(int32_t **positions, size_t *room, int64_t B, int64_t T) {
    TRY(tsri_base_grow(positions, room, (size_t)(B * T), sizeof **positions));
    for (int64_t i = 0; i < B * T; i++)
        (*positions)[i] = (int32_t)(i % T);
    return TSR_OK;
}

/* Rows with a target, and their targets. */
static tsr_status list_masked(tsri_training *t, const tsri_training_batch *batch, int64_t *n) {
    const int64_t tokens = (int64_t)batch->B * batch->T;
    TRY(tsri_base_grow(&t->in.rows, &t->in.rows_room, (size_t)tokens, sizeof *t->in.rows));
    TRY(tsri_base_grow(&t->in.targets, &t->in.targets_room, (size_t)tokens, sizeof *t->in.targets));
    *n = 0;
    for (int64_t i = 0; i < tokens; i++)
        if (batch->targets[i] != TSRI_TRAINING_IGNORE) {
            t->in.rows[*n] = (int32_t)i;
            t->in.targets[(*n)++] = batch->targets[i];
        }
    if (!*n) { /* the head runs for one row that counts nothing */
        t->in.rows[0] = 0;
        t->in.targets[(*n)++] = TSRI_TRAINING_IGNORE;
    }
    if (*n > most_rows(t->most[0], t->most[1], t->most[2]))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a batch with %" PRId64 " masked tokens; one of this size holds at "
                              "most %" PRId64 ": use smaller batches",
                              *n, most_rows(t->most[0], t->most[1], t->most[2]));
    return TSR_OK;
}

static tsr_status check_ids(const char *what, const int32_t *ids, const int32_t *len, int64_t B,
                            int64_t T, int32_t vocab) {
    for (int64_t b = 0; b < B; b++) {
        if (len[b] < 1 || len[b] > T)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s %" PRId64 " of a batch has %d tokens; 1 to %" PRId64
                                  " are wanted",
                                  what, b, len[b], T);
        for (int64_t i = b * T; i < b * T + T; i++)
            if (ids[i] < 0 || ids[i] >= vocab)
                return tsri_base_fail(TSR_E_ARGUMENT,
                                      "%s %" PRId64 " of a batch has the id %d at place %" PRId64
                                      "; the model has ids 0 to %d",
                                      what, b, ids[i], i - b * T, vocab - 1);
    }
    return TSR_OK;
}

static int64_t target_count(const tsri_training *t, const tsri_training_batch *batch) {
    return t->options.objective == TSRI_OBJECTIVE_CLASSIFY ? batch->B
                                                           : (int64_t)batch->B * batch->T;
}

/* Outputs of the objective's head. */
static int64_t head_outputs(const tsri_training *t) {
    const tsri_model_weight *label = tsri_model_weight_at(t->model->weights, TSRI_WEIGHT_LABEL);
    return t->options.objective == TSRI_OBJECTIVE_CLASSIFY ? label->dims[0] : t->model->spec.vocab;
}

static tsr_status check_batch(const tsri_training *t, const tsri_training_batch *batch) {
    const tsri_model_spec *spec = &t->model->spec;
    const int64_t outputs = head_outputs(t);
    if (batch->B < 1 || batch->T < 1 || (batch->source && batch->S < 1))
        return tsri_base_fail(TSR_E_ARGUMENT, "a batch of %d sequences of %d tokens", batch->B,
                              batch->T);
    if (batch->T > spec->context || (batch->source && batch->S > spec->source_context))
        return tsri_base_fail(
            TSR_E_ARGUMENT, "sequences of %d tokens; the model reads at most %" PRId64,
            batch->source && batch->S > spec->source_context ? batch->S : batch->T,
            batch->T > spec->context ? spec->context : spec->source_context);
    TRY(check_ids("sequence", batch->ids, batch->len, batch->B, batch->T, spec->vocab));
    if (t->options.objective == TSRI_OBJECTIVE_TRANSLATE) {
        if (!batch->source)
            return tsri_base_fail(TSR_E_ARGUMENT, "a batch without what the encoder reads");
        TRY(check_ids("source", batch->source, batch->source_len, batch->B, batch->S,
                      spec->source_vocab));
    }
    for (int64_t i = 0; batch->targets && i < target_count(t, batch); i++)
        if (batch->targets[i] != TSRI_TRAINING_IGNORE &&
            (batch->targets[i] < 0 || batch->targets[i] >= outputs))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "target %d at place %" PRId64 "; 0 to %" PRId64 " are wanted",
                                  batch->targets[i], i, outputs - 1);
    return TSR_OK;
}

typedef struct batch_run {
    const tsri_training_batch *batch;
    int64_t sizes[TSR_SYMBOLS]; /* B T S U N */
    int64_t rows;               /* of the losses */
    tsri_run_binding inputs[TSRI_INPUT_COUNT];
    size_t n_inputs;
} batch_run;

static void bind(batch_run *run, tsri_model_input id, const void *data, int64_t elements) {
    run->inputs[run->n_inputs++] = (tsri_run_binding){
        .id = id, .data = (void *)(uintptr_t)data, .bytes = (size_t)elements * 4};
}

static tsr_status bind_tokens(tsri_training *t, batch_run *run) {
    const tsri_training_batch *batch = run->batch;
    const int64_t B = batch->B, T = batch->T, S = run->sizes[2];
    TRY(fill_positions(&t->in.positions, &t->in.positions_room, B, T));
    bind(run, TSRI_INPUT_IDS, batch->ids, B * T);
    bind(run, TSRI_INPUT_POSITIONS, t->in.positions, B * T);
    bind(run, TSRI_INPUT_LEN, batch->len, B);
    if (t->model->spec.token_types) {
        const int32_t *types = batch->types;
        if (!types) {
            TRY(tsri_base_grow(&t->in.types, &t->in.types_room, (size_t)(B * T),
                               sizeof *t->in.types));
            memset(t->in.types, 0, (size_t)(B * T) * sizeof *t->in.types);
            types = t->in.types;
        }
        bind(run, TSRI_INPUT_TYPES, types, B * T);
    }
    if (!batch->source)
        return TSR_OK;
    TRY(fill_positions(&t->in.source_positions, &t->in.source_room, B, S));
    bind(run, TSRI_INPUT_SOURCE_IDS, batch->source, B * S);
    bind(run, TSRI_INPUT_SOURCE_POSITIONS, t->in.source_positions, B * S);
    bind(run, TSRI_INPUT_SOURCE_LEN, batch->source_len, B);
    return TSR_OK;
}

static tsr_status bind_targets(tsri_training *t, batch_run *run) {
    const tsri_training_batch *batch = run->batch;
    const int32_t *targets = batch->targets;
    run->rows = target_count(t, batch);
    if (t->options.objective == TSRI_OBJECTIVE_MASKED) {
        TRY(list_masked(t, batch, &run->rows));
        run->sizes[4] = run->rows;
        bind(run, TSRI_INPUT_ROWS, t->in.rows, run->rows);
        targets = t->in.targets;
    }
    bind(run, TSRI_INPUT_TARGETS, targets, run->rows);
    if (batch->teacher)
        bind(run, TSRI_INPUT_TEACHER, batch->teacher, run->rows * head_outputs(t));
    return TSR_OK;
}

static tsr_status begin_batch(tsri_training *t, const tsri_training_batch *batch, batch_run *run) {
    const tsri_model_spec *spec = &t->model->spec;
    const tsri_model_stack *stack = spec->encoder.layers ? &spec->encoder : &spec->decoder;
    TRY(check_batch(t, batch));
    TRY(tsri_training_reserve(t, batch->B, batch->T, batch->source ? batch->S : 1, NULL));
    *run = (batch_run){.batch = batch,
                       .sizes = {batch->B, batch->T, batch->source ? batch->S : 1, 1, 1}};
    TRY(bind_tokens(t, run));
    bind(run, TSRI_INPUT_BUCKETS, t->in.buckets, 2 * (int64_t)stack->relative_distance + 1);
    bind(run, TSRI_INPUT_OWN_BUCKETS, t->in.own_buckets,
         2 * (int64_t)spec->decoder.relative_distance + 1);
    return TSR_OK;
}

static double mean(const float *losses, int64_t rows, int64_t counted) {
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += losses[i];
    return counted ? sum / (double)counted : 0;
}

/* Runs the plan and reads the losses; `soft`: the divergence, too. */
static tsr_status run_losses(tsri_training *t, tsri_run_plan *plan, batch_run *run, bool soft,
                             tsri_training_loss *out) {
    const size_t bytes = (size_t)run->rows * sizeof(float);
    tsri_run_binding outputs[2];
    for (int i = 0; i < 2; i++) {
        TRY(tsri_base_grow(&t->in.losses[i], &t->in.losses_room[i], (size_t)run->rows,
                           sizeof(float)));
        outputs[i] = (tsri_run_binding){
            .id = TSRI_OUTPUT_HARD + (uint32_t)i, .data = t->in.losses[i], .bytes = bytes};
    }
    TRY(tsri_run_execute(plan, run->sizes, run->inputs, run->n_inputs, outputs, soft ? 2 : 1));
    out->hard = mean(t->in.losses[0], run->rows, out->counted);
    out->kl = soft ? mean(t->in.losses[1], run->rows, out->counted) : 0;
    out->loss = (double)t->options.hard * out->hard + (double)t->options.kl * out->kl;
    return TSR_OK;
}

static int64_t count_targets(const tsri_training *t, const tsri_training_batch *batch) {
    int64_t counted = 0;
    for (int64_t i = 0; i < target_count(t, batch); i++)
        counted += batch->targets[i] != TSRI_TRAINING_IGNORE;
    return counted;
}

tsr_status tsri_training_gradients(tsri_training *t, const tsri_training_batch *batch, bool first,
                                   double share, uint64_t draw, tsri_training_loss *out) {
    batch_run run;
    TRY(begin_batch(t, batch, &run));
    if (t->options.teacher && !batch->teacher)
        return tsri_base_fail(TSR_E_ARGUMENT, "a batch without the teacher's logits");
    TRY(bind_targets(t, &run));
    *out = (tsri_training_loss){.counted = count_targets(t, batch)};
    const double row = out->counted ? share / (double)out->counted : 0;
    t->in.hard = (float)(row * (double)t->options.hard);
    t->in.soft = (float)(row * (double)t->options.kl);
    t->in.beta = first ? 0 : 1;
    t->in.seed[0] = (int32_t)(uint32_t)t->options.seed;
    t->in.seed[1] = (int32_t)(uint32_t)(t->options.seed >> 32);
    t->in.seed[2] = (int32_t)(uint32_t)draw;
    t->in.seed[3] = (int32_t)(uint32_t)(draw >> 32);
    bind(&run, TSRI_INPUT_HARD, &t->in.hard, 1);
    bind(&run, TSRI_INPUT_SOFT, &t->in.soft, 1);
    bind(&run, TSRI_INPUT_BETA, &t->in.beta, 1);
    bind(&run, TSRI_INPUT_SEED, t->in.seed, 4);
    return run_losses(t, t->learn.plan, &run, t->options.kl > 0, out);
}

tsr_status tsri_training_evaluate(tsri_training *t, const tsri_training_batch *batch,
                                  tsri_training_loss *out) {
    batch_run run;
    TRY(begin_batch(t, batch, &run));
    TRY(plan_of(t, &t->evaluate, TSRI_PASS_EVALUATE));
    TRY(bind_targets(t, &run));
    *out = (tsri_training_loss){.counted = count_targets(t, batch)};
    TRY(run_losses(t, t->evaluate.plan, &run, t->options.kl > 0 && !t->options.teacher, out));
    out->loss = out->hard;
    return TSR_OK;
}

tsr_status tsri_training_logits(tsri_training *t, const tsri_training_batch *batch,
                                const int32_t *at, float *logits) {
    batch_run run;
    const tsri_run_binding output = {.id = TSRI_OUTPUT_LOGITS,
                                     .data = logits,
                                     .bytes = (size_t)(batch->B * head_outputs(t)) * sizeof(float)};
    TRY(begin_batch(t, batch, &run));
    TRY(plan_of(t, &t->logits, TSRI_PASS_LOGITS));
    if (t->options.objective != TSRI_OBJECTIVE_CLASSIFY) {
        TRY(tsri_base_grow(&t->in.rows, &t->in.rows_room, (size_t)batch->B, sizeof *t->in.rows));
        for (int32_t b = 0; b < batch->B; b++) {
            if (at[b] < 0 || at[b] >= batch->len[b])
                return tsri_base_fail(TSR_E_ARGUMENT, "the logits of token %d of %d", at[b],
                                      batch->len[b]);
            t->in.rows[b] = b * batch->T + at[b];
        }
        run.sizes[4] = batch->B;
        bind(&run, TSRI_INPUT_ROWS, t->in.rows, batch->B);
    }
    return tsri_run_execute(t->logits.plan, run.sizes, run.inputs, run.n_inputs, &output, 1);
}

/* ---- norm and update ---- */

static const int64_t ones[TSR_SYMBOLS] = {1, 1, 1, 1, 1};

tsr_status tsri_training_norm(tsri_training *t, double *norm, const char **culprit) {
    double all = 0;
    *culprit = NULL;
    TRY(tsri_run_execute(t->norms.plan, ones, NULL, 0, NULL, 0));
    TRY(tsri_run_read_state(t->run, TSRI_TRAINING_SUMS, t->sums, t->n_sums * sizeof *t->sums));
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        double sum = 0;
        for (uint32_t j = 0; j < p->parts; j++)
            sum += t->sums[p->first_sum + j];
        if (!isfinite(sum) && !*culprit)
            *culprit = p->name;
        all += sum;
    }
    *norm = sqrt(all);
    return TSR_OK;
}

tsr_status tsri_training_update(tsri_training *t, uint64_t step, double rate, double factor) {
    const double n = (double)step + 1;
    const tsri_run_binding input = {
        .id = TSRI_INPUT_RATES, .data = t->in.rates, .bytes = sizeof t->in.rates};
    t->in.rates[0] = (float)rate;
    t->in.rates[1] = (float)(1 - pow((double)t->options.beta1, n));
    t->in.rates[2] = (float)(1 - pow((double)t->options.beta2, n));
    t->in.rates[3] = (float)factor;
    return tsri_run_execute(t->update.plan, ones, &input, 1, NULL, 0);
}

/* ---- what a checkpoint keeps ---- */

size_t tsri_training_array_count(const tsri_training *t) {
    return t->n_parameters * (1 + tsri_training_moments(t));
}

static tsri_model_parameter_part part_of(const tsri_training *t, size_t i) {
    static const tsri_model_parameter_part parts[] = {TSRI_PART_VALUE, TSRI_PART_FIRST,
                                                      TSRI_PART_SECOND};
    return parts[i % (1 + tsri_training_moments(t))];
}

static const tsri_training_parameter *parameter_at(const tsri_training *t, size_t i) {
    return &t->parameters[i / (1 + tsri_training_moments(t))];
}

void tsri_training_array_at(const tsri_training *t, size_t i, tsri_training_array *out) {
    const tsri_training_parameter *p = parameter_at(t, i);
    const tsri_model_parameter_part part = part_of(t, i);
    *out = (tsri_training_array){.rank = (int)p->rank, .dims = {p->dims[0], p->dims[1]}};
    snprintf(out->name, sizeof out->name, "%.90s%s", p->name,
             part == TSRI_PART_FIRST    ? "/m"
             : part == TSRI_PART_SECOND ? "/v"
                                        : "");
}

tsr_status tsri_training_array_read(tsri_training *t, size_t i, float *out) {
    const tsri_training_parameter *p = parameter_at(t, i);
    return tsri_run_read_state(t->run, tsri_model_parameter_state(p->number, part_of(t, i)), out,
                               (uint64_t)p->elements * 4);
}

tsr_status tsri_training_array_write(tsri_training *t, size_t i, const float *data) {
    const tsri_training_parameter *p = parameter_at(t, i);
    const tsri_model_parameter_part part = part_of(t, i);
    if (part == TSRI_PART_VALUE)
        return write_value(t, p, data);
    return tsri_run_write_state(t->run, tsri_model_parameter_state(p->number, part), data,
                                (uint64_t)p->elements * 4);
}

int64_t tsri_training_parameter_count(const tsri_training *t) {
    int64_t n = 0;
    for (size_t i = 0; i < t->n_parameters; i++)
        n += t->parameters[i].elements;
    return n;
}
