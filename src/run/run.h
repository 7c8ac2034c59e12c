/* run/run.h - puts a graph on devices and runs it: partition, weights, states, plans, copies,
 * profile.
 *
 * A context has what outlives a run: open devices, weights in their layouts, states, the arenas of
 * each device, and the plans made so far. With more than one device the graph is split by layers; so it is
 * with ranks: each has the part of the graph with its layers, and all make the same calls in the same order.
 */
#ifndef TSRI_RUN_RUN_H
#define TSRI_RUN_RUN_H

#include "backend/host.h"
#include "graph/graph.h"
#include "run/peaks.h"
#include "transport/ranks.h"

typedef struct tsri_run_context tsri_run_context;
typedef struct tsri_run_plan
    tsri_run_plan; /* a graph that is ready to run at sizes within bounds; owned by the context */

typedef struct tsri_run_options {
    tsri_backend_device *const
        /* Borrowed until the context is destroyed; the layers are split over them in order */
        *devices;
    size_t n_devices;
    tsri_backend_set *set; /* for the reference device, which is opened when an op needs it */
    const char *kernels;   /* forced kernel variants, or NULL */
    void (*log)(void *data, tsr_log_level level, const char *line); /* may be NULL */
    void *log_data;
    /* Its states are parameters and gradients: where memory is too small, the sentence says what
     * helps in training */
    bool trains;
    tsr_ranks *ranks; /* borrowed: they share the layers; NULL: this process has them all */
} tsri_run_options;
tsr_status tsri_run_create(const tsri_run_options *options, tsri_run_context **out);
void tsri_run_destroy(tsri_run_context **context);
/* How many ranks share the layers; 1: this process has them all. */
uint32_t tsri_run_rank_count(const tsri_run_context *context);
/* How many devices it was created with. */
size_t tsri_run_device_count(const tsri_run_context *context);

/* The highest score of the kernel variants by which a device would serve the op; -1: it has none. */
tsr_status tsri_run_best_score(tsri_run_context *context, size_t device, const tsr_op *op,
                               int32_t *score);
uint32_t tsri_run_device_type(const tsri_run_context *context, size_t device); /* tsr_device_type */
/* Lives as long as the device. */
const char *tsri_run_device_name(const tsri_run_context *context, size_t device);

/* Where weights come from. rows writes `count` plain rows of weight `id`, from row `first` on, to
 * out, in `dtype` (that of the graph's leaf). */
typedef struct tsri_run_source {
    void *data;
    tsr_status (*rows)(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                       void *out);
    bool parallel; /* several threads may call `rows` at once */
    /* Called after each chunk with the bytes stored so far and in all (plain rows, on the host).
     * May be NULL. A result other than TSR_OK ends the load with it. */
    tsr_status (*progress)(void *data, uint64_t done, uint64_t total);
    /* Another context, which outlives this one, and whether weight `id` has the same rows in it: where the
     * device and the layout are the same, too, both use what is stored already. NULL: none. */
    const struct tsri_run_context *base;
    bool (*shared)(void *data, uint32_t id);
} tsri_run_source;

/* Places the graph's nodes, asks each device for a layout of each weight that suits all its uses,
 * checks the memory budget (weights, states and arenas for `bounds`) before it creates a buffer,
 * then streams the weights. Weights that the context already has stay. */
tsr_status tsri_run_load(tsri_run_context *context, const tsri_graph *graph,
                         const tsr_bounds *bounds, const tsri_run_source *source);

/* Makes a plan for runs of this graph within bounds; the same (graph, bounds) gives the same plan.
 * The graph must outlive the plan. States that the context does not have yet are created (zeroed);
 * one whose dimensions have grown is copied to a larger one. */
tsr_status tsri_run_prepare(tsri_run_context *context, const tsri_graph *graph,
                            const tsr_bounds *bounds, tsri_run_plan **out);
/* Tells the devices that prepare is going to be called with this, so that a backend may begin to build
 * kernels while something else goes on. Prepare then has less to do. */
tsr_status tsri_run_announce(tsri_run_context *context, const tsri_graph *graph,
                             const tsr_bounds *bounds);
/* Where the runs of a graph stop for a moment: the states that its ops write are in buckets, and each
 * bucket is whole behind the last op that uses one of its states. */
typedef struct tsri_run_stops {
    size_t n; /* buckets, in the order in which they are told */
    size_t (*bucket_of)(void *data, uint32_t state); /* SIZE_MAX: it is in none */
    /* Called in each run, when the ops that make a bucket whole, and the buckets before it, have been
     * enqueued, and those behind them have not. It may enqueue more. */
    tsr_status (*whole)(void *data, size_t bucket);
    void *data;
} tsri_run_stops;
/* Holds for the plans of the graph that are made from now on, until it is forgotten. */
tsr_status tsri_run_stop(tsri_run_context *context, const tsri_graph *graph,
                         const tsri_run_stops *stops);
/* Destroys the plans of a graph that is about to be destroyed. */
void tsri_run_forget(tsri_run_context *context, const tsri_graph *graph);

typedef struct tsri_run_binding {
    uint32_t id;  /* of the input leaf or output mark */
    void *data;   /* host memory: read for inputs, written for outputs */
    size_t bytes; /* must be exactly what the sizes need; this is checked */
    /* Of an input in place of data: the plan whose output it is, as that plan's last run left it on the
     * device. Only where tsri_run_feeds says so. */
    const tsri_run_plan *from;
    uint32_t output;
} tsri_run_binding;
/* Writes the inputs, runs, and reads the outputs that have a binding (the others stay on the
 * device). It allocates nothing: prepare has done that. */
tsr_status tsri_run_execute(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                            const tsri_run_binding *inputs, size_t n_inputs,
                            const tsri_run_binding *outputs, size_t n_outputs);

enum { TSRI_RUN_READS = 16 };
/* A run under way: its results that are still to come. All 0: none. */
typedef struct tsri_run_reads {
    tsr_ranks *ranks; /* from one of which each result comes; NULL: this process is alone */
    size_t n_shared;
    tsr_exchange *shared[TSRI_RUN_READS];
    size_t n;
    const struct tsri_run_slot *slots[TSRI_RUN_READS];
    tsr_event *events[TSRI_RUN_READS];
} tsri_run_reads;
/* The two halves of tsri_run_execute with at least one output: start enqueues everything and keeps no
 * pointer to the bindings or to what inputs hold; finish waits until the memory of the outputs is
 * written, even where it fails. Two runs of a plan may be under way; where ranks share the layers, any
 * number, so that each rank works on another one. */
tsr_status tsri_run_start(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                          const tsri_run_binding *inputs, size_t n_inputs,
                          const tsri_run_binding *outputs, size_t n_outputs, tsri_run_reads *reads);
tsr_status tsri_run_finish(tsri_run_reads *reads);
/* Whether the plan's next run can take an input from an output of its last one, and gains by it: both
 * lie on one device, which has memory of its own or is otherwise apart from the host's cores. */
bool tsri_run_feeds(const tsri_run_plan *plan, uint32_t output, uint32_t input);

/* Fills a prepared plan's outputs and the arenas of each device with NaN, so that a test sees what a
 * run doesn't write: memory that is used again might hold the right answer. */
tsr_status tsri_run_poison(tsri_run_plan *plan);

/* Gives back the memory of the states with the ids first .. first + n - 1. No plan may use them any more;
 * the next one that does begins with zeros. */
void tsri_run_drop_states(tsri_run_context *context, uint32_t first, uint32_t n);
/* Copies the first bytes of a state from or to host memory; prepare has created the state. */
tsr_status tsri_run_write_state(tsri_run_context *context, uint32_t id, const void *data,
                                uint64_t bytes);
tsr_status tsri_run_read_state(tsri_run_context *context, uint32_t id, void *out, uint64_t bytes);
/* A copy between a state and host memory that is under way; all 0: none. */
typedef struct tsri_run_state_move {
    const tsri_backend_device *device;
    tsr_event *event;
} tsri_run_state_move;
/* Begin what write_state and read_state do: after the runs that are enqueued by now, before later ones. */
tsr_status tsri_run_start_state_write(tsri_run_context *context, uint32_t id, const void *data,
                                      uint64_t bytes, tsri_run_state_move *move);
tsr_status tsri_run_start_state_read(tsri_run_context *context, uint32_t id, void *out,
                                     uint64_t bytes, tsri_run_state_move *move);
/* TSR_E_STATE: the time has passed, and the copy is still under way. UINT64_MAX: no limit. */
tsr_status tsri_run_wait_state_move(tsri_run_state_move *move, uint64_t timeout_ns);
/* Copies, in a state [slots, heads, capacity, size], the first n rows of each head of one slot to another
 * slot. Runs that are enqueued later see them. */
tsr_status tsri_run_copy_slot(tsri_run_context *context, uint32_t id, int64_t from, int64_t to,
                              int64_t n);

/* For explain: each node of the plan in running order, its device, and the kernel variants that
 * were tried. */
typedef struct tsri_run_step {
    const char *label; /* "layers.0.attention" */
    const char *op;    /* "attention" */
    size_t device;     /* index in the context's devices; n_devices: the reference */
    /* "", or why it runs there ("pocl/…: not offered: no kernel variant for tanh; runs on
     * reference") */
    const char *note;
} tsri_run_step;
size_t tsri_run_step_count(const tsri_run_plan *plan);
tsr_status tsri_run_step_at(const tsri_run_plan *plan, size_t i, tsri_run_step *out);
tsr_status tsri_run_step_variants(const tsri_run_plan *plan, size_t i, tsr_variant_visitor visit,
                                  void *data);
/* The launches that a run of the plan has, on all devices. */
tsr_status tsri_run_launches(const tsri_run_plan *plan, uint64_t *out);

/* What one run of a plan computes and reads, according to the costs of its ops. */
typedef struct tsri_run_work {
    /* By tsr_compute; without attention, as the number of its keys is not one of the sizes of a
     * run */
    double flops[TSRI_RUN_COMPUTES];
    uint64_t weight_bytes; /* of the weights that it reads whole, in their storage dtype */
} tsri_run_work;
void tsri_run_work_of(const tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                      tsri_run_work *out);

/* The same of one op. */
typedef struct tsri_run_op_work {
    uint32_t op, compute;  /* tsr_op_id, tsr_compute */
    double flops;          /* 0 for attention */
    uint64_t weight_bytes; /* as above */
    double other_bytes;    /* that it reads and writes besides; of attention, no keys and values */
    double terms; /* how many products of floats each result is the sum of, in order; 0: none */
} tsri_run_op_work;
typedef void tsri_run_op_visitor(void *data, const tsri_run_op_work *work);
void tsri_run_each_op(const tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                      tsri_run_op_visitor *visit, void *data);
/* The tsr_compute of an op's products. */
uint32_t tsri_run_compute_of(const tsri_graph_node *node);

/* The memory of the context over all devices, by contents, in bytes. */
typedef struct tsri_run_memory {
    uint64_t weights, states, arena, inputs;
} tsri_run_memory;
void tsri_run_memory_of(const tsri_run_context *context, tsri_run_memory *out);
/* The layout of weight `id` on a device; NULL where it is not there. */
const tsr_layout *tsri_run_weight_layout(const tsri_run_context *context, uint32_t id,
                                         size_t device);

/* What was measured over all plans, summed by (device, op, kernel). */
typedef struct tsri_run_profile_entry {
    size_t device;
    const char *op, *kernel;
    uint64_t launches, nanoseconds, enqueue_nanoseconds;
} tsri_run_profile_entry;
tsr_status tsri_run_profile(tsri_run_context *context,
                            void (*visit)(void *data, const tsri_run_profile_entry *entry),
                            void *data);

#endif
