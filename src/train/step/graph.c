/* train/step/graph.c - builds the graphs of a training: losses and gradients, the gradients' norm,
 * the optimizer. */
#include "base/error.h"
#include "base/memory.h"
#include "graph/gradient.h"
#include "tensor/shape.h"
#include "train/step/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUM_ELEMENTS = 1 << 15,
    MOST_SUMS = 64
}; /* elements of a partial sum of squares; the most partial sums of a parameter */

uint32_t tsri_training_moments(const tsri_training *training) {
    const tsri_training_options *options = &training->options;
    return options->optimizer == TSRI_OPTIMIZER_ADAMW ? 2 : options->momentum > 0 ? 1 : 0;
}

tsr_status tsri_training_graph(const tsri_training *training, tsri_training_pass pass,
                               int32_t steps, tsri_graph **out) {
    return tsri_training_forward(training->model->weights, &training->options, pass, steps, out);
}

static int by_number(const void *a, const void *b) {
    const tsri_training_parameter *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Lists the parameters: the states that the forward pass reads. */
static tsr_status list_parameters(tsri_training *t, const tsri_graph *graph) {
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++) {
        const tsri_graph_value *v = tsri_graph_value_at(graph, (tsri_value)i);
        if (v->tensor.kind != TSR_KIND_STATE || v->storage != (tsri_value)i)
            continue;
        TRY(tsri_base_grow(&t->parameters, &t->parameters_room, t->n_parameters + 1,
                           sizeof *t->parameters));
        tsri_training_parameter *p = &t->parameters[t->n_parameters++];
        *p = (tsri_training_parameter){.number = v->id / TSRI_PARTS,
                                       .rank = v->tensor.rank,
                                       .elements = 1,
                                       .rounded = v->id % TSRI_PARTS == TSRI_PART_ROUNDED};
        snprintf(p->name, sizeof p->name, "%s", v->name);
        for (uint32_t d = 0; d < p->rank; d++) {
            p->dims[d] = v->tensor.dim[d].factor;
            p->elements *= p->dims[d];
        }
    }
    qsort(t->parameters, t->n_parameters, sizeof *t->parameters, by_number);
    for (size_t i = 0; i < t->n_parameters; i++) {
        tsri_training_parameter *p = &t->parameters[i];
        const int64_t parts = (p->elements + SUM_ELEMENTS - 1) / SUM_ELEMENTS;
        p->parts = parts < 1 ? 1 : parts > MOST_SUMS ? MOST_SUMS : (uint32_t)parts;
        p->first_sum = t->n_sums;
        t->n_sums += p->parts;
        p->at = i ? p[-1].at + p[-1].elements : 0;
    }
    if (!t->n_parameters)
        return tsri_base_fail(TSR_E_STATE, "%s: with these settings, none of its weights learns",
                              t->model->path);
    return tsri_base_new(t->n_sums, sizeof *t->sums, &t->sums);
}

/* Whether a state is of this rank's piece of the parameter, not of all of it. */
static bool is_piece(const tsri_training *t, tsri_training_part part) {
    return t->division && (part == TSRI_PART_FIRST || part == TSRI_PART_SECOND ||
                           part == TSRI_PART_OWN || part == TSRI_PART_OWN_GRADIENT);
}

/* A state of a parameter, named like "layers.0.qkv.weight/m". */
tsri_value tsri_training_leaf(const tsri_training *t, tsri_graph *graph,
                              const tsri_training_parameter *p, tsri_training_part part) {
    static const char *const ends[] = {[TSRI_PART_VALUE] = "",
                                       [TSRI_PART_GRADIENT] = "/gradient",
                                       [TSRI_PART_FIRST] = "/m",
                                       [TSRI_PART_SECOND] = "/v",
                                       [TSRI_PART_ROUNDED] = "",
                                       [TSRI_PART_OWN] = "/own",
                                       [TSRI_PART_OWN_GRADIENT] = "/own.gradient"};
    const tsr_dim dims[] = {tsri_tensor_const(p->dims[0]), tsri_tensor_const(p->dims[1])},
                  padded[] = {tsri_tensor_const(p->piece.padded)};
    const bool piece = is_piece(t, part);
    char name[128];
    if (part >= TSRI_PART_SHARDS)
        snprintf(name, sizeof name, "%s/shards.%d", p->name, 1 << (part - TSRI_PART_SHARDS));
    else
        snprintf(name, sizeof name, "%s%s", p->name, ends[part]);
    return tsri_graph_leaf(graph, TSR_KIND_STATE, tsri_training_parameter_state(p->number, part),
                           name, part == TSRI_PART_ROUNDED ? TSR_BF16 : TSR_F32,
                           piece ? 1 : p->rank, piece ? padded : dims);
}

/* The state that the optimizer takes for a value or a gradient: with several ranks, its piece. */
static tsri_value stepped(const tsri_training *t, tsri_graph *graph,
                          const tsri_training_parameter *p, tsri_training_part part) {
    const tsri_training_part own = part == TSRI_PART_VALUE ? TSRI_PART_OWN : TSRI_PART_OWN_GRADIENT;
    return tsri_training_leaf(t, graph, p, t->division ? own : part);
}

/* The bf16 copy of a parameter that the optimizer writes. With several ranks, it is made of the
 * values that they send. */
static tsri_value rounded_leaf(const tsri_training *t, tsri_graph *graph,
                               const tsri_training_parameter *p) {
    return p->rounded && !t->division ? tsri_training_leaf(t, graph, p, TSRI_PART_ROUNDED)
                                      : TSRI_GRAPH_NONE;
}

static tsri_value number_leaf(tsri_graph *graph, tsri_model_input id, const char *name, int64_t n) {
    const tsr_dim dims[] = {tsri_tensor_const(n)};
    return tsri_graph_leaf(graph, TSR_KIND_INPUT, id, name, TSR_F32, 1, dims);
}

static tsri_value output_of(const tsri_graph *graph, uint32_t id) {
    for (size_t i = 0; i < tsri_graph_output_count(graph); i++)
        if (tsri_graph_output_at(graph, i)->id == id)
            return tsri_graph_output_at(graph, i)->value;
    return TSRI_GRAPH_NONE;
}

static tsr_status add_gradients(tsri_training *t, tsri_graph *graph) {
    tsri_graph_parameter *parameters = NULL;
    tsri_graph_seed seeds[2];
    tsri_graph_gradients wanted = {
        .n_parameters = t->n_parameters, .seeds = seeds, .recompute = t->options.checkpointing};
    TRY(tsri_base_new(t->n_parameters, sizeof *parameters, &parameters));
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        parameters[i] = (tsri_graph_parameter){
            .leaf =
                tsri_training_leaf(t, graph, p, p->rounded ? TSRI_PART_ROUNDED : TSRI_PART_VALUE),
            .gradient = tsri_training_leaf(t, graph, p, TSRI_PART_GRADIENT)};
    }
    if (t->options.hard > 0)
        seeds[wanted.n_seeds++] = (tsri_graph_seed){output_of(graph, TSRI_OUTPUT_HARD),
                                                    number_leaf(graph, TSRI_INPUT_HARD, "hard", 1)};
    if (t->options.kl > 0)
        seeds[wanted.n_seeds++] = (tsri_graph_seed){output_of(graph, TSRI_OUTPUT_SOFT),
                                                    number_leaf(graph, TSRI_INPUT_SOFT, "soft", 1)};
    wanted.parameters = parameters;
    wanted.beta = number_leaf(graph, TSRI_INPUT_BETA, "beta", 1);
    tsri_graph_add_gradients(graph, &wanted);
    free(parameters);
    return tsri_graph_status(graph);
}

static tsr_status build_norms(tsri_training *t) {
    TRY(tsri_graph_create(&t->norms.graph));
    tsri_graph *graph = t->norms.graph;
    const tsr_dim dims[] = {tsri_tensor_const(t->n_sums)};
    const tsri_value sums =
        tsri_graph_leaf(graph, TSR_KIND_STATE, TSRI_TRAINING_SUMS, "sums", TSR_F32, 1, dims);
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        const tsr_sumsq_attrs attrs = {.struct_size = sizeof attrs,
                                       .first = t->division ? p->piece.first_sum : p->first_sum,
                                       .parts = t->division ? p->piece.sums : p->parts};
        tsri_value none = TSRI_GRAPH_NONE;
        if (!attrs.parts)
            continue;
        tsri_graph_scope(graph, 0, p->name);
        tsri_graph_op(graph, TSR_OP_SUMSQ, &attrs,
                      (tsri_value[]){sums, stepped(t, graph, p, TSRI_PART_GRADIENT)}, 2, 0, &none);
    }
    return tsri_graph_status(graph);
}

static void add_adamw(const tsri_training *t, tsri_graph *graph, const tsri_training_parameter *p,
                      tsri_value rates) {
    const tsri_training_options *options = &t->options;
    const tsr_adamw_attrs attrs = {.struct_size = sizeof attrs,
                                   .beta1 = options->beta1,
                                   .beta2 = options->beta2,
                                   .eps = options->eps,
                                   .decay = p->rank >= 2 ? options->decay : 0.0f};
    const tsri_value in[] = {stepped(t, graph, p, TSRI_PART_VALUE),
                             tsri_training_leaf(t, graph, p, TSRI_PART_FIRST),
                             tsri_training_leaf(t, graph, p, TSRI_PART_SECOND),
                             stepped(t, graph, p, TSRI_PART_GRADIENT),
                             rates,
                             rounded_leaf(t, graph, p)};
    tsri_value none = TSRI_GRAPH_NONE;
    tsri_graph_op(graph, TSR_OP_ADAMW, &attrs, in, 6, 0, &none);
}

static void add_sgd(const tsri_training *t, tsri_graph *graph, const tsri_training_parameter *p,
                    tsri_value rates) {
    const tsri_training_options *options = &t->options;
    const tsr_sgd_attrs attrs = {.struct_size = sizeof attrs,
                                 .nesterov = options->nesterov,
                                 .momentum = options->momentum,
                                 .decay = p->rank >= 2 ? options->decay : 0.0f};
    const tsri_value in[] = {
        stepped(t, graph, p, TSRI_PART_VALUE),
        options->momentum > 0 ? tsri_training_leaf(t, graph, p, TSRI_PART_FIRST) : TSRI_GRAPH_NONE,
        stepped(t, graph, p, TSRI_PART_GRADIENT), rates, rounded_leaf(t, graph, p)};
    tsri_value none = TSRI_GRAPH_NONE;
    tsri_graph_op(graph, TSR_OP_SGD, &attrs, in, 5, 0, &none);
}

static tsr_status build_update(tsri_training *t) {
    TRY(tsri_graph_create(&t->update.graph));
    tsri_graph *graph = t->update.graph;
    const tsri_value rates = number_leaf(graph, TSRI_INPUT_RATES, "rates", 4);
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        if (t->division && !p->piece.sums)
            continue;
        tsri_graph_scope(graph, 0, p->name);
        if (t->options.optimizer == TSRI_OPTIMIZER_SGD)
            add_sgd(t, graph, p, rates);
        else
            add_adamw(t, graph, p, rates);
    }
    return tsri_graph_status(graph);
}

tsr_status tsri_training_begin_set(tsri_training *t, tsri_training_set *set) {
    const bool first = !t->n_parameters;
    TRY(tsri_training_graph(t, TSRI_PASS_LEARN, set->steps, &set->learn.graph));
    if (first)
        TRY(list_parameters(t, set->learn.graph));
    TRY(add_gradients(t, set->learn.graph));
    if (first) {
        TRY(tsri_training_deal_equally(t));
        TRY(tsri_training_divide(t, set->learn.graph));
    }
    TRY(tsri_training_stop(t, set->learn.graph, tsri_training_bucket_whole));
    if (!first)
        return TSR_OK;
    if (!tsri_training_owns(t))
        return TSR_OK;
    TRY(build_norms(t));
    return build_update(t);
}
