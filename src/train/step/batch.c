/* train/step/batch.c - prepares a batch for the graphs, and runs them on it. */
#include "base/error.h"
#include "base/memory.h"
#include "train/step/training_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tsr_status fill_positions(int32_t **positions, size_t *room, int64_t B, int64_t T) {
    TRY(tsri_base_grow(positions, room, (size_t)(B * T), sizeof **positions));
    for (int64_t i = 0; i < B * T; i++)
        (*positions)[i] = (int32_t)(i % T);
    return TSR_OK;
}

/* Whether only some tokens have targets, and the head reads their rows alone. */
static bool lists_rows(const tsri_training *t) {
    return t->options.objective == TSRI_OBJECTIVE_MASKED ||
           t->options.objective == TSRI_OBJECTIVE_TOKENS;
}

/* Lists the rows that have a target, and their targets. */
static tsr_status list_rows(tsri_training *t, const tsri_training_batch *batch, int64_t *n) {
    const int64_t tokens = (int64_t)batch->B * batch->T;
    TRY(tsri_base_grow(&t->in.rows, &t->in.rows_room, (size_t)tokens, sizeof *t->in.rows));
    TRY(tsri_base_grow(&t->in.targets, &t->in.targets_room, (size_t)tokens, sizeof *t->in.targets));
    *n = 0;
    for (int64_t i = 0; i < tokens; i++)
        if (batch->targets[i] != TSRI_TRAINING_IGNORE) {
            t->in.rows[*n] = (int32_t)i;
            t->in.targets[(*n)++] = batch->targets[i];
        }
    if (!*n) { /* the head needs a row: one without a target, which adds nothing to the loss */
        t->in.rows[0] = 0;
        t->in.targets[(*n)++] = TSRI_TRAINING_IGNORE;
    }
    const int64_t most =
        tsri_training_most_rows(batch->B, batch->T, tsri_training_keys(t, batch->T, 1));
    if (*n > most)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "a batch has %" PRId64
                              " tokens with targets; one of this size may have at "
                              "most %" PRId64 ": use smaller batches",
                              *n, most);
    return TSR_OK;
}

static tsr_status check_ids(const char *what, const int32_t *ids, const int32_t *len, int64_t B,
                            int64_t T, int32_t vocab) {
    for (int64_t b = 0; b < B; b++) {
        if (len[b] < 1 || len[b] > T)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "%s %" PRId64
                                  " of a batch has %d tokens; it must have 1 to %" PRId64,
                                  what, b, len[b], T);
        for (int64_t i = b * T; i < b * T + T; i++)
            if (ids[i] < 0 || ids[i] >= vocab)
                return tsri_base_fail(TSR_E_ARGUMENT,
                                      "%s %" PRId64 " of a batch has the id %d at position %" PRId64
                                      "; the model has ids 0 to %d",
                                      what, b, ids[i], i - b * T, vocab - 1);
    }
    return TSR_OK;
}

static tsr_status check_types(const tsri_model_spec *spec, const tsri_training_batch *batch) {
    const int32_t *types = batch->types;
    for (int64_t i = 0; types && i < (int64_t)batch->B * batch->T; i++)
        if (types[i] < 0 || (types[i] > 0 && types[i] >= spec->token_types))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "sequence %" PRId64
                                  " of a batch has the segment %d at position %" PRId64
                                  "; the model has %d segments",
                                  i / batch->T, types[i], i % batch->T, spec->token_types);
    return TSR_OK;
}

static int64_t target_count(const tsri_training *t, const tsri_training_batch *batch) {
    return t->options.objective == TSRI_OBJECTIVE_CLASSIFY ? batch->B
                                                           : (int64_t)batch->B * batch->T;
}

/* Number of outputs of the objective's head. */
static int64_t head_outputs(const tsri_training *t) {
    const tsri_model_weight *label = tsri_model_weight_at(t->model->weights, TSRI_WEIGHT_LABEL);
    return t->options.objective == TSRI_OBJECTIVE_CLASSIFY ||
                   t->options.objective == TSRI_OBJECTIVE_TOKENS
               ? label->dims[0]
               : t->model->spec.vocab;
}

static tsr_status check_batch(const tsri_training *t, const tsri_training_batch *batch) {
    const tsri_model_spec *spec = &t->model->spec;
    const int64_t outputs = head_outputs(t);
    if (batch->B < 1 || batch->T < 1 || (batch->source && batch->S < 1))
        return tsri_base_fail(TSR_E_ARGUMENT, "a batch of %d sequences of %d tokens can't be run",
                              batch->B, batch->T);
    if (batch->T > spec->context || (batch->source && batch->S > spec->source_context))
        return tsri_base_fail(
            TSR_E_ARGUMENT, "a batch has sequences of %d tokens; the model reads at most %" PRId64,
            batch->source && batch->S > spec->source_context ? batch->S : batch->T,
            batch->T > spec->context ? spec->context : spec->source_context);
    TRY(check_ids("sequence", batch->ids, batch->len, batch->B, batch->T, spec->vocab));
    TRY(check_types(spec, batch));
    if (t->options.objective == TSRI_OBJECTIVE_TRANSLATE) {
        if (!batch->source)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "a batch lacks the source, which the encoder reads");
        TRY(check_ids("source", batch->source, batch->source_len, batch->B, batch->S,
                      spec->source_vocab));
    }
    for (int64_t i = 0; batch->targets && i < target_count(t, batch); i++)
        if (batch->targets[i] != TSRI_TRAINING_IGNORE &&
            (batch->targets[i] < 0 || batch->targets[i] >= outputs))
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "target %d at position %" PRId64 "; it must be 0 to %" PRId64,
                                  batch->targets[i], i, outputs - 1);
    return TSR_OK;
}

typedef struct batch_run {
    tsri_training_batch batch;
    tsri_training_set *set;
    int32_t most[3];
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
    const tsri_training_batch *batch = &run->batch;
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
    const tsri_model_stack *stack = tsri_model_main_stack(&t->model->spec);
    if (stack->positions == TSRI_POSITIONS_ROTARY && tsri_model_rope_is_given(&stack->rope)) {
        tsri_model_rope_frequencies(&stack->rope, t->model->spec.max_positions, T,
                                    t->in.frequencies);
        bind(run, TSRI_INPUT_FREQUENCIES, t->in.frequencies, stack->rope.rotary / 2);
    }
    if (!batch->source)
        return TSR_OK;
    TRY(fill_positions(&t->in.source_positions, &t->in.source_room, B, S));
    bind(run, TSRI_INPUT_SOURCE_IDS, batch->source, B * S);
    bind(run, TSRI_INPUT_SOURCE_POSITIONS, t->in.source_positions, B * S);
    bind(run, TSRI_INPUT_SOURCE_LEN, batch->source_len, B);
    return TSR_OK;
}

/* Where no token has a target, the head still reads one row: zeros, not a row of the teacher. */
static tsr_status bind_teacher(tsri_training *t, batch_run *run) {
    const int64_t outputs = head_outputs(t);
    const float *teacher = run->batch.teacher;
    if (lists_rows(t) && t->in.targets[0] == TSRI_TRAINING_IGNORE) {
        TRY(tsri_base_grow(&t->in.no_teacher, &t->in.no_teacher_room, (size_t)outputs,
                           sizeof *t->in.no_teacher));
        memset(t->in.no_teacher, 0, (size_t)outputs * sizeof *t->in.no_teacher);
        teacher = t->in.no_teacher;
    }
    bind(run, TSRI_INPUT_TEACHER, teacher, run->rows * outputs);
    return TSR_OK;
}

static tsr_status bind_targets(tsri_training *t, batch_run *run) {
    const tsri_training_batch *batch = &run->batch;
    const int32_t *targets = batch->targets;
    run->rows = target_count(t, batch);
    if (lists_rows(t)) {
        TRY(list_rows(t, batch, &run->rows));
        run->sizes[4] = run->rows;
        bind(run, TSRI_INPUT_ROWS, t->in.rows, run->rows);
        targets = t->in.targets;
    }
    bind(run, TSRI_INPUT_TARGETS, targets, run->rows);
    return batch->teacher ? bind_teacher(t, run) : TSR_OK;
}

/* Pads the rows from T to `steps` tokens. */
static tsr_status pad(tsri_training *t, int32_t steps, tsri_training_batch *batch) {
    const int32_t *const rows[] = {batch->ids, batch->targets}, fill[] = {0, TSRI_TRAINING_IGNORE};
    const int32_t T = batch->T;
    for (int i = 0; i < 2; i++) {
        TRY(tsri_base_grow(&t->in.padded[i], &t->in.padded_room[i],
                           (size_t)batch->B * (size_t)steps, sizeof **t->in.padded));
        for (int32_t k = 0; rows[i] && k < batch->B * steps; k++)
            t->in.padded[i][k] = k % steps < T ? rows[i][k / steps * T + k % steps] : fill[i];
    }
    batch->ids = t->in.padded[0];
    batch->targets = batch->targets ? t->in.padded[1] : NULL;
    batch->T = steps;
    return TSR_OK;
}

static tsr_status begin_batch(tsri_training *t, const tsri_training_batch *batch, batch_run *run) {
    const tsri_model_spec *spec = &t->model->spec;
    const tsri_model_stack *stack = spec->encoder.layers ? &spec->encoder : &spec->decoder;
    TRY(check_batch(t, batch));
    if (batch->teacher && spec->decoder.recurrent)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "a recurrent decoder can't learn from a teacher's logits");
    if (!t->begun)
        TRY(tsri_training_reserve(t, batch->B, batch->T, batch->source ? batch->S : 1));
    *run =
        (batch_run){.batch = *batch,
                    .sizes = {batch->B, batch->T,
                              tsri_training_keys(t, batch->T, batch->source ? batch->S : 1), 1, 1}};
    for (int i = 0; i < 3; i++)
        run->most[i] = (int32_t)run->sizes[i];
    TRY(tsri_training_set_for(t, batch->T, &run->set));
    if (run->set->steps && run->set->steps != batch->T)
        TRY(pad(t, run->set->steps, &run->batch));
    TRY(bind_tokens(t, run));
    bind(run, TSRI_INPUT_BUCKETS, t->in.buckets, 2 * (int64_t)stack->relative_distance + 1);
    bind(run, TSRI_INPUT_OWN_BUCKETS, t->in.own_buckets,
         2 * (int64_t)spec->decoder.relative_distance + 1);
    bind(run, TSRI_INPUT_DISTANCES, t->in.distances.rows, t->in.distances.distances.rows);
    bind(run, TSRI_INPUT_PLACES, t->in.distances.places,
         2 * (int64_t)t->in.distances.distances.reach + 1);
    TRY(tsri_model_tap_inputs_fill(&spec->encoder, batch->len, batch->B, batch->T, &t->in.taps));
    bind(run, TSRI_INPUT_TAPS, t->in.taps.rows, (int64_t)t->in.taps.count);
    bind(run, TSRI_INPUT_TAP_MASK, t->in.taps.mask, (int64_t)t->in.taps.count);
    return TSR_OK;
}

static double mean(const float *losses, int64_t rows, int64_t counted) {
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += losses[i];
    return counted ? sum / (double)counted : 0;
}

/* Runs the plan and reads the losses; `soft`: also the divergence from the teacher. */
static tsr_status run_losses(tsri_training *t, tsri_training_pass pass, batch_run *run, bool soft,
                             int64_t counted, tsri_training_loss *out) {
    tsri_run_plan *plan = NULL;
    const size_t bytes = (size_t)run->rows * sizeof(float);
    tsri_run_binding outputs[2];
    for (int i = 0; i < 2; i++) {
        TRY(tsri_base_grow(&t->in.losses[i], &t->in.losses_room[i], (size_t)run->rows,
                           sizeof(float)));
        outputs[i] = (tsri_run_binding){
            .id = TSRI_OUTPUT_HARD + (uint32_t)i, .data = t->in.losses[i], .bytes = bytes};
    }
    TRY(tsri_training_plan_of(t, run->set, pass, run->most, &plan));
    TRY(tsri_run_execute(plan, run->sizes, run->inputs, run->n_inputs, outputs, soft ? 2 : 1));
    out->hard = mean(t->in.losses[0], run->rows, counted);
    out->kl = soft ? mean(t->in.losses[1], run->rows, counted) : 0;
    out->loss = (double)t->options.hard * out->hard + (double)t->options.kl * out->kl;
    return TSR_OK;
}

int64_t tsri_training_count_targets(const tsri_training *t, const tsri_training_batch *batch) {
    int64_t counted = 0;
    for (int64_t i = 0; i < target_count(t, batch); i++)
        counted += batch->targets[i] != TSRI_TRAINING_IGNORE;
    return counted;
}

tsri_training_batch tsri_training_part_of(const tsri_training *t, const tsri_training_batch *all,
                                          int32_t first, int32_t n) {
    tsri_training_batch part = *all;
    const int64_t at = (int64_t)first * all->T, s = (int64_t)first * all->S;
    part.B = n;
    part.ids += at;
    part.len += first;
    part.targets += t->options.objective == TSRI_OBJECTIVE_CLASSIFY ? first : at;
    part.types = all->types ? all->types + at : NULL;
    part.source = all->S ? all->source + s : NULL;
    part.source_len = all->S ? all->source_len + first : NULL;
    return part;
}

tsr_status tsri_training_gradients(tsri_training *t, const tsri_training_batch *batch, bool first,
                                   double share, uint64_t draw, tsri_training_loss *out) {
    batch_run run;
    TRY(begin_batch(t, batch, &run));
    if (t->options.teacher && !batch->teacher)
        return tsri_base_fail(TSR_E_ARGUMENT, "a batch lacks the teacher's logits");
    TRY(bind_targets(t, &run));
    *out = (tsri_training_loss){.counted = tsri_training_count_targets(t, batch)};
    const int64_t counted = batch->counted ? batch->counted : out->counted;
    const double row = counted ? share / (double)counted : 0;
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
    return run_losses(t, TSRI_PASS_LEARN, &run, t->options.kl > 0, counted, out);
}

tsr_status tsri_training_evaluate(tsri_training *t, const tsri_training_batch *batch,
                                  tsri_training_loss *out) {
    batch_run run;
    TRY(begin_batch(t, batch, &run));
    TRY(bind_targets(t, &run));
    *out = (tsri_training_loss){.counted = tsri_training_count_targets(t, batch)};
    TRY(run_losses(t, TSRI_PASS_EVALUATE, &run, t->options.kl > 0 && !t->options.teacher,
                   out->counted, out));
    out->loss = out->hard;
    return TSR_OK;
}

tsr_status tsri_training_logits(tsri_training *t, const tsri_training_batch *batch,
                                const int32_t *at, float *logits) {
    batch_run run;
    int64_t rows = batch->B;
    tsri_run_binding output = {.id = TSRI_OUTPUT_LOGITS, .data = logits};
    tsri_run_plan *plan = NULL;
    TRY(begin_batch(t, batch, &run));
    TRY(tsri_training_plan_of(t, run.set, TSRI_PASS_LOGITS, run.most, &plan));
    if (!at && t->options.objective == TSRI_OBJECTIVE_TOKENS) {
        TRY(list_rows(t, batch, &rows));
    } else if (t->options.objective != TSRI_OBJECTIVE_CLASSIFY) {
        TRY(tsri_base_grow(&t->in.rows, &t->in.rows_room, (size_t)batch->B, sizeof *t->in.rows));
        for (int32_t b = 0; b < batch->B; b++) {
            if (at[b] < 0 || at[b] >= batch->len[b])
                return tsri_base_fail(TSR_E_ARGUMENT,
                                      "logits of token %d were asked for; the sequence has %d",
                                      at[b], batch->len[b]);
            t->in.rows[b] = b * run.batch.T + at[b];
        }
    }
    if (t->options.objective != TSRI_OBJECTIVE_CLASSIFY) {
        run.sizes[4] = rows;
        bind(&run, TSRI_INPUT_ROWS, t->in.rows, rows);
    }
    output.bytes = (size_t)(rows * head_outputs(t)) * sizeof(float);
    return tsri_run_execute(plan, run.sizes, run.inputs, run.n_inputs, &output, 1);
}
