/* train/step/training.c - creates a training, makes its plans, and runs norm and update. */
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/load/product.h"
#include "tensor/convert.h"
#include "train/step/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making one ---- */

tsr_status tsri_training_products(tsri_training *t, bool *faster) {
    const int64_t width = t->model->spec.width;
    int32_t gain = 0;
    TRY(tsri_model_product_gain(t->run, 0, (const int64_t[]){width, width}, TSR_F32, TSR_KIND_STATE,
                                (tsr_compute)t->options.compute, &gain));
    *faster = gain > 0;
    return TSR_OK;
}

const char *tsri_training_unfit(const tsri_model *model, tsri_training_objective objective) {
    const tsri_model_spec *spec = &model->spec;
    const tsri_model_weights *w = model->weights;
    const bool decoder = spec->decoder.layers, encoder = spec->encoder.layers;
    const bool labels = tsri_model_weight_at(w, TSRI_WEIGHT_LABEL) && !decoder;
    switch (objective) {
    case TSRI_OBJECTIVE_NEXT:
        return decoder && !encoder ? NULL
                                   : "a decoder without an encoder, which predicts the next token";
    case TSRI_OBJECTIVE_TRANSLATE:
        return decoder && encoder ? NULL : "an encoder-decoder, which translates";
    case TSRI_OBJECTIVE_MASKED:
        return tsri_model_weight_at(w, TSRI_WEIGHT_MASKED_DENSE) && !decoder
                   ? NULL
                   : "an encoder with a masked LM head";
    case TSRI_OBJECTIVE_TOKENS:
        return labels && spec->label_tokens && !spec->label_spans
                   ? NULL
                   : "an encoder with a classifier that labels tokens";
    case TSRI_OBJECTIVE_CLASSIFY:
        return labels && !spec->label_tokens && spec->problem == TSRI_PROBLEM_SINGLE
                   ? NULL
                   : "an encoder with a classifier that gives a text one label";
    }
    return NULL;
}

static tsr_status check_objective(const tsri_model *model, const tsri_training_options *options) {
    const tsri_model_spec *spec = &model->spec;
    const char *lacks = tsri_training_unfit(model, options->objective);
    if (!lacks && spec->decoder.layers && !tsri_model_has_output(model->weights))
        lacks = "a model with an output matrix";
    if (!lacks && model->joined)
        lacks = "a model whose matrices are floats; quantised ones are not written";
    if (lacks)
        return tsri_base_fail(TSR_E_STATE, "%s (%s) can't learn this: it is not %s", model->path,
                              spec->family, lacks);
    return TSR_OK;
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
                                  .log_data = opened->log_data,
                                  .trains = true};
    if (opened->n_devices > 1)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "a training runs on one device; name one of them");
    t->opened = opened;
    return tsri_run_create(&run, &t->run);
}

/* The steps of a recurrent decoder are nodes of its graph. So that a graph serves more than one
 * length, lengths are rounded up to a multiple of this. */
enum { STEPS = 8 };

static int32_t steps_of(const tsri_training *t, int32_t T) {
    return t->model->spec.decoder.recurrent ? (T + STEPS - 1) / STEPS * STEPS : 0;
}

tsr_status tsri_training_set_for(tsri_training *t, int32_t T, tsri_training_set **out) {
    const int32_t steps = steps_of(t, T);
    for (size_t i = 0; i < t->n_sets; i++)
        if (t->sets[i]->steps == steps) {
            *out = t->sets[i];
            return TSR_OK;
        }
    TRY(tsri_base_grow(&t->sets, &t->sets_room, t->n_sets + 1, sizeof *t->sets));
    TRY(tsri_base_new(1, sizeof **out, out));
    (*out)->steps = steps;
    t->sets[t->n_sets++] = *out;
    TRY(tsri_training_begin_set(t, *out));
    return t->n_sets == 1 ? tsri_training_build_tree(t) : TSR_OK;
}

tsri_training_objective tsri_training_objective_of(const tsri_model *model) {
    if (!model->spec.encoder.layers)
        return TSRI_OBJECTIVE_NEXT;
    if (model->spec.decoder.layers)
        return TSRI_OBJECTIVE_TRANSLATE;
    if (!tsri_model_weight_at(model->weights, TSRI_WEIGHT_LABEL))
        return TSRI_OBJECTIVE_MASKED;
    return model->spec.label_tokens ? TSRI_OBJECTIVE_TOKENS : TSRI_OBJECTIVE_CLASSIFY;
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
    if (status == TSR_OK && spec->encoder.distance_span)
        status = tsri_model_distance_inputs_fill(&spec->encoder, spec->max_positions - 1,
                                                 &t->in.distances);
    tsri_training_set *set = NULL;
    if (status == TSR_OK) /* this reports weights that can't learn */
        status = tsri_training_set_for(t, 1, &set);
    if (status != TSR_OK)
        tsri_training_destroy(&t);
    *out = t;
    return status;
}

void tsri_training_destroy(tsri_training **training) {
    tsri_training *t = *training;
    if (!t)
        return;
    for (size_t i = 0; i < t->n_sets; i++) {
        tsri_training_drop_plan(t, &t->sets[i]->learn);
        tsri_training_drop_plan(t, &t->sets[i]->evaluate);
        tsri_training_drop_plan(t, &t->sets[i]->logits);
        free(t->sets[i]);
    }
    tsri_training_drop_tree(t);
    tsri_training_drop_plan(t, &t->norms);
    tsri_training_drop_plan(t, &t->update);
    tsri_training_divide_end(t);
    tsri_run_destroy(&t->run);
    tsri_training_deal_clear(&t->deal);
    free(t->sets);
    tsri_model_distance_inputs_clear(&t->in.distances);
    tsri_model_tap_inputs_clear(&t->in.taps);
    free(t->in.padded[0]);
    free(t->in.padded[1]);
    void *const owned[] = {
        t->parameters,   t->sums,           t->in.positions,        t->in.rows,
        t->in.targets,   t->in.types,       t->in.buckets,          t->in.losses[0],
        t->in.losses[1], t->in.own_buckets, t->in.source_positions, t->in.no_teacher};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(t);
    *training = NULL;
}

/* ---- plans ---- */

int32_t tsri_training_keys(const tsri_training *t, int32_t T, int32_t S) {
    return t->model->spec.encoder.distance_span ? T : S > 1 ? S : 1;
}

int64_t tsri_training_most_rows(int64_t B, int64_t T, int64_t S) {
    const int64_t tokens = B * T, limit = INT32_MAX / (tokens * S);
    return tokens < limit ? tokens : limit;
}

/* Makes the set's plan for a pass where it has none that is large enough, or announces it. */
static tsr_status fit_plan(tsri_training *t, tsri_training_set *set, tsri_training_pass pass,
                           const int32_t most[3], bool ahead, tsri_run_plan **out) {
    tsri_training_plan *const plans[] = {[TSRI_PASS_LEARN] = &set->learn,
                                         [TSRI_PASS_EVALUATE] = &set->evaluate,
                                         [TSRI_PASS_LOGITS] = &set->logits};
    tsri_training_plan *plan = plans[pass];
    const bool tokens = t->options.objective == TSRI_OBJECTIVE_TOKENS,
               listed = pass == TSRI_PASS_LOGITS || tokens ||
                        t->options.objective == TSRI_OBJECTIVE_MASKED;
    bool fits = plan->plan;
    if (!plan->graph)
        TRY(tsri_training_graph(t, pass, set->steps, &plan->graph));
    tsri_training_plan larger = {.graph = plan->graph};
    for (int i = 0; i < 3; i++) {
        /* A sample grows token by token: make room at once for the longest text of the training. */
        const int32_t wanted = i && most[i] < t->most[i] ? t->most[i] : most[i];
        fits &= wanted <= plan->most[i];
        larger.most[i] = wanted > plan->most[i] ? wanted : plan->most[i];
    }
    const int64_t B = larger.most[0], T = larger.most[1], S = larger.most[2];
    if (!fits) {
        TRY(tsri_training_prepare(t, &larger, B, T, S,
                                  !listed ? 1
                                  : pass == TSRI_PASS_LOGITS && !tokens
                                      ? B
                                      : tsri_training_most_rows(B, T, S),
                                  ahead));
        *plan = larger;
    }
    *out = plan->plan;
    return TSR_OK;
}

tsr_status tsri_training_plan_of(tsri_training *t, tsri_training_set *set, tsri_training_pass pass,
                                 const int32_t most[3], tsri_run_plan **out) {
    return fit_plan(t, set, pass, most, false, out);
}

/* The initial value of a LoRA parameter: A is small and random, B is zero, so that training starts
 * from the unchanged model. */
static void begin_adapter(const tsri_training *t, const tsri_training_parameter *p, float *out) {
    const uint32_t behind = p->number - t->model->weights->count;
    const float deviation = 1.0f / sqrtf((float)p->dims[1]);
    for (int64_t i = 0; i < p->elements; i++)
        out[i] = behind % TSRI_ADAPTER_PARTS
                     ? 0
                     : deviation * tsri_base_normal(t->options.seed, behind, (uint64_t)i);
}

static tsr_status write_rounded(tsri_training *t, const tsri_training_parameter *p,
                                const float *value) {
    const uint64_t n = (uint64_t)p->elements;
    uint16_t *rounded = NULL;
    TRY(tsri_base_new(n, sizeof *rounded, &rounded));
    tsr_status status = tsri_tensor_convert(TSR_BF16, rounded, TSR_F32, value, n);
    if (status == TSR_OK)
        status = tsri_run_write_state(
            t->run, tsri_training_parameter_state(p->number, TSRI_PART_ROUNDED), rounded, n * 2);
    free(rounded);
    return status;
}

tsr_status tsri_training_write_value(tsri_training *t, const tsri_training_parameter *p,
                                     const float *value) {
    const uint64_t bytes = (uint64_t)p->elements * sizeof *value;
    float *kept = tsri_training_kept_values(t, p);
    if (!kept)
        TRY(tsri_run_write_state(t->run, tsri_training_parameter_state(p->number, TSRI_PART_VALUE),
                                 value, bytes));
    else if (kept != value)
        memcpy(kept, value, bytes);
    return p->rounded ? write_rounded(t, p, value) : TSR_OK;
}

/* Sets the parameters to the weights of the files. */
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
            status = tsri_training_write_value(t, p, value);
        if (status == TSR_OK)
            status = tsri_training_write_piece(t, p, TSRI_PART_OWN, value + p->piece.first);
        free(value);
    }
    return status;
}

void tsri_training_memory_of(const tsri_training *t, tsri_training_memory *out) {
    tsri_run_memory memory;
    tsri_run_memory_of(t->run, &memory);
    *out = (tsri_training_memory){
        .weights = memory.weights, .activations = memory.arena, .inputs = memory.inputs};
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        const uint64_t n = (uint64_t)p->elements, own = (uint64_t)p->piece.padded;
        const bool kept = t->division && p->rounded; /* values are on the host */
        out->parameters += n * (kept ? 2 : p->rounded ? 6 : 4) + own * 4;
        out->gradients += n * 4 * (1 + (uint64_t)tsri_training_levels(t)) + own * 4;
        out->optimizer += (t->division ? own : n) * 4 * tsri_training_moments(t);
    }
}

static tsr_status make_learning_plans(tsri_training *t, bool ahead) {
    tsri_training_set *set = NULL;
    tsri_run_plan *plan = NULL;
    TRY(tsri_training_set_for(t, t->most[1], &set));
    TRY(fit_plan(t, set, TSRI_PASS_LEARN, t->most, ahead, &plan));
    TRY(tsri_training_prepare_tree(t, ahead));
    TRY(tsri_training_prepare_plan(t, &t->norms, ahead));
    return tsri_training_prepare_plan(t, &t->update, ahead);
}

static tsr_status make_validation_plans(tsri_training *t, const int32_t sizes[3], bool ahead) {
    const int32_t T = sizes[1], S = tsri_training_keys(t, T, sizes[2]);
    tsri_training_set *set = NULL;
    tsri_run_plan *plan = NULL;
    TRY(tsri_training_set_for(t, T, &set));
    TRY(fit_plan(t, set, TSRI_PASS_EVALUATE, (const int32_t[]){sizes[0], T, S}, ahead, &plan));
    return fit_plan(t, set, TSRI_PASS_LOGITS, (const int32_t[]){1, T, S}, ahead, &plan);
}

/* After a failure the training has room for what it had room for before. */
static tsr_status make_room_for(tsri_training *t, int32_t B, int32_t T, int32_t S, bool ahead) {
    const int32_t wanted[] = {B, T, tsri_training_keys(t, T, S)};
    int32_t before[3];
    memcpy(before, t->most, sizeof before);
    for (int i = 0; i < 3; i++) {
        const int32_t n = wanted[i] > 1 ? wanted[i] : 1;
        t->most[i] = n > t->most[i] ? n : t->most[i];
    }
    const tsr_status status = make_learning_plans(t, ahead);
    if (status != TSR_OK)
        memcpy(t->most, before, sizeof before);
    return status;
}

/* The step's chain takes longest to build, so it is announced first. */
tsr_status tsri_training_announce(tsri_training *t, int32_t B, int32_t T, int32_t S,
                                  const int32_t validation[3]) {
    TRY(make_room_for(t, B, T, S, true));
    return validation ? make_validation_plans(t, validation, true) : TSR_OK;
}

tsr_status tsri_training_reserve(tsri_training *t, int32_t B, int32_t T, int32_t S) {
    TRY(make_room_for(t, B, T, S, false));
    if (t->begun)
        return TSR_OK;
    TRY(begin_parameters(t));
    t->begun = true;
    return TSR_OK;
}

tsr_status tsri_training_reserve_validation(tsri_training *t, int32_t B, int32_t T, int32_t S) {
    return make_validation_plans(t, (const int32_t[]){B, T, S}, false);
}

/* ---- norm and update ---- */

static const int64_t ones[TSR_SYMBOLS] = {1, 1, 1, 1, 1};

tsr_status tsri_training_norm(tsri_training *t, double *norm, const char **culprit) {
    double all = 0;
    *culprit = NULL;
    if (t->norms.plan) {
        TRY(tsri_run_execute(t->norms.plan, ones, NULL, 0, NULL, 0));
        TRY(tsri_run_read_state(t->run, TSRI_TRAINING_SUMS, t->sums, t->n_sums * sizeof *t->sums));
    }
    TRY(tsri_training_gather_sums(t));
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
    if (t->update.plan)
        TRY(tsri_run_execute(t->update.plan, ones, &input, 1, NULL, 0));
    return t->division ? tsri_training_gather_values(t) : TSR_OK;
}

tsr_status tsri_training_each_plan(tsri_training *t,
                                   tsr_status (*visit)(void *data, const tsri_run_plan *plan),
                                   void *data) {
    tsri_training_set *set = NULL;
    TRY(tsri_training_set_for(t, t->most[1], &set));
    const tsri_run_plan *const plans[] = {set->learn.plan, t->norms.plan, t->update.plan};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (plans[i])
            TRY(visit(data, plans[i]));
    return TSR_OK;
}

tsr_status tsri_training_profile(tsri_training *t,
                                 void (*visit)(void *data, const tsr_profiled *entry), void *data) {
    return tsri_model_profile(t->run, t->opened, visit, data);
}
