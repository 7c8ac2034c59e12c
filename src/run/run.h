/* run/run.h - puts a graph on devices and runs it: partition, weights, states, plans, copies,
 * profile.
 *
 * A context holds what outlives a run: open devices, weights in their layouts, states, one arena a
 * device, and the plans made so far. A device list of more than one splits the graph by layer.
 */
#ifndef TSRI_RUN_RUN_H
#define TSRI_RUN_RUN_H

#include "backend/host.h"
#include "graph/graph.h"

typedef struct tsri_run_context tsri_run_context;
typedef struct tsri_run_plan
    tsri_run_plan; /* a graph made ready for sizes within bounds; the context's */

typedef struct tsri_run_options {
    tsri_backend_device *const
        *devices; /* borrowed for the context's life; the layers are split over them in order */
    size_t n_devices;
    tsri_backend_set *set; /* for the reference device, opened when an op needs it */
    const char *kernels;   /* forced rows, or NULL */
    void (*log)(void *data, tsr_log_level level, const char *line); /* may be NULL */
    void *log_data;
    bool trains; /* its states are what learns: a refusal for lack of memory says what helps then */
} tsri_run_options;
tsr_status tsri_run_create(const tsri_run_options *options, tsri_run_context **out);
void tsri_run_destroy(tsri_run_context **context);
/* The devices that it was created with. */
size_t tsri_run_device_count(const tsri_run_context *context);

/* Gives `count` plain rows of weight `id` from `first`, in `dtype` (that of the graph's leaf), into
 * out. */
typedef struct tsri_run_source {
    void *data;
    tsr_status (*rows)(void *data, uint32_t id, int64_t first, int64_t count, tsr_dtype dtype,
                       void *out);
    /* After each block: bytes stored so far and in all (host side, plain). May be NULL. Not TSR_OK:
     * stop with it. */
    tsr_status (*progress)(void *data, uint64_t done, uint64_t total);
} tsri_run_source;

/* Places the graph's nodes, asks each device for the layout of each weight given all its uses,
 * checks the memory budget (weights, states and an arena for `bounds`) before the first buffer,
 * then streams the weights. Weights that the context already has are kept. */
tsr_status tsri_run_load(tsri_run_context *context, const tsri_graph *graph,
                         const tsr_bounds *bounds, const tsri_run_source *source);

/* A plan for runs of this graph within bounds; the same (graph, bounds) gives the same plan. The
 * graph outlives it. States that the context lacks are made (zeroed); one that grew in its second
 * dimension (capacity) is copied over. */
tsr_status tsri_run_prepare(tsri_run_context *context, const tsri_graph *graph,
                            const tsr_bounds *bounds, tsri_run_plan **out);
/* Drops the plans of a graph that is about to be destroyed. */
void tsri_run_forget(tsri_run_context *context, const tsri_graph *graph);

typedef struct tsri_run_binding {
    uint32_t id;  /* of the input leaf or output mark */
    void *data;   /* host memory: read for inputs, written for outputs */
    size_t bytes; /* exactly what the sizes need: checked */
} tsri_run_binding;
/* Writes inputs, runs, reads the outputs asked for (others stay on the device). After prepare this
 * allocates nothing. */
tsr_status tsri_run_execute(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                            const tsri_run_binding *inputs, size_t n_inputs,
                            const tsri_run_binding *outputs, size_t n_outputs);

/* Fills a prepared plan's outputs and the arena of each device with NaN, so that what a run doesn't
 * write is seen: memory that is used again may hold the right answer. */
tsr_status tsri_run_poison(tsri_run_plan *plan);

/* Fills a state with zeros (a new conversation). */
tsr_status tsri_run_clear_states(tsri_run_context *context);
/* The first bytes of a state, from and to host memory; prepare made it. */
tsr_status tsri_run_write_state(tsri_run_context *context, uint32_t id, const void *data,
                                uint64_t bytes);
tsr_status tsri_run_read_state(tsri_run_context *context, uint32_t id, void *out, uint64_t bytes);

/* For explain: each node of the plan in the order it runs, on which device, and the rows tried. */
typedef struct tsri_run_step {
    const char *label; /* "layers.0.attention" */
    const char *op;    /* "attention" */
    size_t device;     /* index in the context's devices; n_devices: the reference fallback */
    const char *note;  /* "", or why it runs there ("pocl/…: not offered: no row for tanh; runs on
                          reference") */
} tsri_run_step;
size_t tsri_run_step_count(const tsri_run_plan *plan);
tsr_status tsri_run_step_at(const tsri_run_plan *plan, size_t i, tsri_run_step *out);
tsr_status tsri_run_step_rows(const tsri_run_plan *plan, size_t i, tsr_row_visitor visit,
                              void *data);

/* What one run of a plan computes and reads, by the costs of its ops. */
typedef struct tsri_run_work {
    double flops[3];       /* by tsr_compute; attention left out: its keys are no size of a run */
    uint64_t weight_bytes; /* of the weights that it reads whole, as they lie on the devices */
} tsri_run_work;
void tsri_run_work_of(const tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                      tsri_run_work *out);

/* Memory of the context by kind, in bytes, over all devices. */
typedef struct tsri_run_memory {
    uint64_t weights, states, arena, inputs;
} tsri_run_memory;
void tsri_run_memory_of(const tsri_run_context *context, tsri_run_memory *out);
/* Layout that weight `id` has on device d (NULL: not there). */
const tsr_layout *tsri_run_weight_layout(const tsri_run_context *context, uint32_t id,
                                         size_t device);

/* What was measured, over all plans, summed by (device, op, kernel). */
typedef struct tsri_run_profile_entry {
    size_t device;
    const char *op, *kernel;
    uint64_t launches, nanoseconds, enqueue_nanoseconds;
} tsri_run_profile_entry;
tsr_status tsri_run_profile(tsri_run_context *context,
                            void (*visit)(void *data, const tsri_run_profile_entry *entry),
                            void *data);

#endif
