/* train/step/training_state.h - what the files of a training share. */
#ifndef TSRI_TRAIN_STEP_TRAINING_STATE_H
#define TSRI_TRAIN_STEP_TRAINING_STATE_H

#include "model/model.h"
#include "model/weights/tables.h"
#include "model/weights/taps.h"
#include "train/step/forward.h"
#include "train/step/parameters.h"

enum {
    TSRI_TRAINING_SUMS = 0x7ffffff0
}; /* id of the state that holds the gradients' sums of squares */

/* The elements of a parameter that a rank owns (ranks.h). */
typedef struct tsri_training_piece {
    int64_t first, count;
    int64_t padded;           /* whole stretches: what is behind `count` is 0 */
    uint32_t first_sum, sums; /* its stretches */
} tsri_training_piece;

typedef struct tsri_training_division tsri_training_division;

typedef struct tsri_training_parameter {
    uint32_t number; /* parameters.h */
    char name[96];
    uint32_t rank;
    int64_t dims[2];
    int64_t elements;
    int64_t at;                /* elements of the parameters before it */
    size_t bucket;             /* with several ranks: ranks.h */
    tsri_training_piece piece; /* of this rank; all 0 where there are no others */
    bool rounded;              /* the forward pass reads a bf16 copy */
    uint32_t first_sum, parts; /* number of its first partial sum of squares; how many it has */
} tsri_training_parameter;

/* A graph and its plan for batches up to some size. */
typedef struct tsri_training_plan {
    tsri_graph *graph;
    tsri_run_plan *plan;
    int32_t most[3]; /* B T S that it was made for */
} tsri_training_plan;

/* The graphs that run batches. */
typedef struct tsri_training_set {
    int32_t steps; /* as in tsri_model_learning */
    tsri_training_plan learn, evaluate, logits;
} tsri_training_set;

typedef struct tsri_training_inputs { /* a batch as the graphs read it */
    int32_t *positions, *source_positions, *rows, *targets, *types;
    int32_t *padded[2]; /* ids and targets, padded for a recurrent decoder */
    int32_t *buckets, *own_buckets;
    tsri_model_distance_inputs distances; /* of disentangled attention */
    tsri_model_tap_inputs taps;           /* of a convolution over tokens */
    size_t positions_room, source_room, rows_room, targets_room, types_room, padded_room[2];
    float hard, soft, beta, rates[4];
    float
        frequencies[TSRI_MODEL_MAX_ROTARY / 2]; /* for rotary positions that depend on the length */
    int32_t seed[4];
    float *losses[2];  /* hard, soft: of each row */
    float *no_teacher; /* a row of zeros */
    size_t losses_room[2], no_teacher_room;
} tsri_training_inputs;

struct tsri_training {
    tsri_model *model; /* borrowed */
    tsri_training_options options;
    tsri_run_context *run;
    const tsri_backend_opened_device *opened;
    tsri_training_set **sets; /* one set; for a recurrent decoder, one for each number of steps */
    size_t n_sets, sets_room;
    tsri_training_plan norms, update;
    tsri_training_deal deal;
    tsri_training_plan tree[TSRI_MOST_LEVELS]; /* by the levels that a shard's end adds up */
    /* What the end of a node's last shard adds up: all levels of the node, by their number. With several
     * ranks, of each bucket (ranks.h); else of all parameters. NULL: no node had so many. */
    tsri_training_plan *last[TSRI_MOST_LEVELS];
    tsri_training_parameter *parameters;
    size_t n_parameters, parameters_room;
    tsri_training_division *division; /* NULL: there are no other ranks */
    bool begun;                       /* parameters have their first values */
    uint32_t n_sums;
    float *sums;
    int32_t most[3]; /* B T S of the batches that are learned from */
    tsri_training_inputs in;
};

/* graph.c: makes the set's graph for learning. The first call also lists the parameters and makes
 * the graphs of norm and update. */
tsr_status tsri_training_begin_set(tsri_training *training, tsri_training_set *set);
tsri_value tsri_training_leaf(const tsri_training *training, tsri_graph *graph,
                              const tsri_training_parameter *parameter, tsri_training_part part);
/* plan.c: prepares a plan for batches of at most B, T, S, and N rows; or with `ahead`, announces it. */
tsr_status tsri_training_prepare(tsri_training *training, tsri_training_plan *plan, int64_t B,
                                 int64_t T, int64_t S, int64_t N, bool ahead);
/* The same of a graph without sizes, where there is one, and no plan of it. */
tsr_status tsri_training_prepare_plan(tsri_training *training, tsri_training_plan *plan,
                                      bool ahead);
/* Destroys plan and graph. */
void tsri_training_drop_plan(tsri_training *training, tsri_training_plan *plan);

/* nodes.c: deals the shards, to all ranks as many or nearly so. */
tsr_status tsri_training_deal_equally(tsri_training *training);
/* Node number `i` of this rank's, and how many it has. */
const tsri_training_node *tsri_training_own_node(const tsri_training *training, size_t i);
size_t tsri_training_own_nodes(const tsri_training *training);

/* tree.c: makes the graphs that add up the shards of this rank's nodes, as far as they are not there. */
tsr_status tsri_training_build_tree(tsri_training *training);
/* Makes their plans, or with `ahead` announces them. */
tsr_status tsri_training_prepare_tree(tsri_training *training, bool ahead);
void tsri_training_drop_tree(tsri_training *training);
/* How many levels wait on the device at most. */
uint32_t tsri_training_levels(const tsri_training *training);

/* buckets.c: node number `i` of this rank's is whole on the device, and is not its last: its gradients go
 * to the host. */
tsr_status tsri_training_take_node(tsri_training *training, size_t i);
/* Makes a graph of the forward pass alone. */
tsr_status tsri_training_graph(const tsri_training *training, tsri_training_pass pass,
                               int32_t steps, tsri_graph **out);

/* The graphs for batches of T tokens, and the plan of one pass for batches of B, T, S or less. */
tsr_status tsri_training_set_for(tsri_training *training, int32_t T, tsri_training_set **out);
tsr_status tsri_training_plan_of(tsri_training *training, tsri_training_set *set,
                                 tsri_training_pass pass, const int32_t most[3],
                                 tsri_run_plan **out);
/* The most rows that a masked LM head computes: products of a run's sizes must fit int32. */
int64_t tsri_training_most_rows(int64_t B, int64_t T, int64_t S);

/* Sets a parameter, and the bf16 copy of it that is read. */
tsr_status tsri_training_write_value(tsri_training *training, const tsri_training_parameter *p,
                                     const float *value);

/* The size S of a run: the tokens of the source; of an encoder with disentangled attention, whose scores are
 * an array of T queries and S keys, those of the sequences. */
int32_t tsri_training_keys(const tsri_training *training, int32_t T, int32_t S);

/* How many moments the optimizer keeps of a parameter. */
uint32_t tsri_training_moments(const tsri_training *training);

#endif
