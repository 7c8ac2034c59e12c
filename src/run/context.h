/* run/context.h - types and functions that the files of run/ share. */
#ifndef TSRI_RUN_CONTEXT_H
#define TSRI_RUN_CONTEXT_H

#include "run/run.h"

/* An output of a graph whose layers ranks share, and the rank that computes it. */
typedef struct tsri_run_owned {
    uint32_t id, rank;
} tsri_run_owned;

/* What this rank exchanges with others in a run of a graph; nothing where it is alone. */
typedef struct tsri_run_part_of {
    tsri_graph_crossing *crossings; /* those that it sends or receives */
    tsri_run_owned *outputs;        /* of the whole graph */
    size_t n_crossings, n_outputs;
} tsri_run_part_of;

/* A graph that was lowered for the context's devices. */
typedef struct tsri_run_placed {
    const tsri_graph *source;
    tsri_run_part_of part;
    tsri_graph *graph; /* lowered */
    size_t *device;    /* of each node */
    char **note;       /* of each node: why it runs on the reference; NULL otherwise */
} tsri_run_placed;

typedef struct tsri_run_weight {
    uint32_t id;
    size_t device;
    int64_t first; /* of a part (parts.h): its first row; the parts of a weight lie side by side */
    tsr_layout layout;
    tsr_buf *buf;  /* NULL while it is only planned */
    bool borrowed; /* buf belongs to another context, which outlives this one */
    char name[96];
} tsri_run_weight;

typedef struct tsri_run_kv_state {
    uint32_t id;
    size_t device;
    tsr_dtype dtype;
    int64_t dim[4]; /* of blocks, the last one counts blocks */
    tsr_buf *buf;
    uint64_t item, bytes; /* of one element or block, and of all */
} tsri_run_kv_state;

typedef struct tsri_run_arena {
    tsr_buf *buf; /* NULL: not made yet */
    uint64_t bytes;
} tsri_run_arena;

typedef struct tsri_run_slot { /* an open device and what the context has on it */
    const tsri_backend_device *device;
    tsri_run_arena *arenas; /* of the activations of all plans */
    size_t n_arenas, arenas_room;
} tsri_run_slot;

typedef struct tsri_run_measured { /* it owns the names of kernels */
    tsri_run_profile_entry *entries;
    size_t n, room;
    tsr_status status;
} tsri_run_measured;

typedef struct tsri_run_stopping { /* a graph whose runs stop */
    const tsri_graph *graph;
    tsri_run_stops stops;
} tsri_run_stopping;

struct tsri_run_context {
    tsri_run_options options;
    tsri_run_slot
        /* The user's n_devices, then the reference (its device is NULL until it is needed) */
        *slots;
    tsri_backend_device *reference;
    int *ends;      /* of each of the n_devices: the layer after its last; NULL: not dealt yet */
    int *rank_ends; /* the same of each rank, where ranks share the layers */
    tsri_run_placed **placed;
    tsri_run_weight *weights;
    tsri_run_kv_state *states;
    tsri_run_plan **plans;
    tsri_run_stopping *stopping;
    size_t n_placed, n_weights, n_states, n_plans, n_stopping, placed_room, weights_room,
        states_room, plans_room, stopping_room;
    tsri_run_measured past; /* measured by plans that were destroyed */
    /* Counts replaced buffers: a plan that was made before a replacement is bound again */
    uint64_t moved;
};

/* Consecutive nodes on one device, between two stops. */
typedef struct tsri_run_segment {
    size_t device, first, count; /* nodes of the lowered graph */
    size_t whole;                /* buckets of the stops that are whole behind it */
    tsr_plan *plan;
    size_t *ops; /* of each node, and behind the last: its first op in the plan (parts.h) */
} tsri_run_segment;

/* A value with a buffer of its own, which the host can read: an output, or a value that another
 * device reads. */
typedef struct tsri_run_place {
    tsri_value storage;
    size_t device;
    tsr_buf *buf;
    uint64_t bytes; /* at the largest sizes */
    /* Of a copy: the segment before which it is copied here; -1: the value is computed on this
     * device */
    int64_t ready;
    size_t from; /* of a copy: index of the place that it is copied from */
} tsri_run_place;

/* The inputs and the dims table of one device, in one buffer that is written once in each run. */
typedef struct tsri_run_block {
    tsr_buf *buf;
    unsigned char *mirror; /* two copies of `bytes`: a run may start while another is under way */
    int turn;              /* which of them the last run used */
    uint64_t bytes;
    uint64_t *origin; /* by value index of leaf inputs; UINT64_MAX: this device does not read it */
    bool used;
} tsri_run_block;

/* The host's memory for what a plan exchanges with other ranks. */
typedef struct tsri_run_messages {
    void **data;                        /* of each crossing of the part */
    tsr_exchange **sent;                /* NULL: it is not being sent */
    tsri_run_binding *inputs, *outputs; /* of a run: the caller's, and the crossings */
    size_t inputs_room, outputs_room;
} tsri_run_messages;

struct tsri_run_plan {
    tsri_run_context *context;
    const tsri_run_placed *placed;
    tsr_bounds bounds;
    tsri_run_stops stops; /* n = 0: it runs without a stop */
    tsri_run_segment *segments;
    tsri_run_place *places;
    tsri_run_block *blocks;    /* one a slot */
    tsri_graph_memory *memory; /* one a slot */
    unsigned char *staging;    /* for copies between devices */
    tsri_run_messages messages;
    size_t n_segments, n_places, staging_bytes;
    uint64_t moved; /* context->moved at the time of binding */
    bool bound;
};

/* place.c */
tsr_status tsri_run_placed_for(tsri_run_context *context, const tsri_graph *graph,
                               const tsr_bounds *bounds, tsri_run_placed **out);
void tsri_run_placed_destroy(tsri_run_placed **placed);

/* What holds layers: a device, or a rank. */
typedef struct tsri_run_holder {
    uint64_t memory; /* in bytes */
    uint64_t host;   /* of the host's memory, which it shares with others; 0: it has its own */
    bool first;      /* it gets layers before the others */
} tsri_run_holder;
typedef struct tsri_run_dealt {
    int layers;
    uint64_t bytes, room; /* of all layers; what all holders have room for */
} tsri_run_dealt;

/* deal.c: decides once, from the first graph, which layers run on which device (context->ends); and
 * says how many of a graph's layers the first device holds */
tsr_status tsri_run_deal(tsri_run_context *context, const tsri_graph *graph,
                         const tsr_bounds *bounds);
tsr_status tsri_run_layers_held(const tsri_run_context *context, const tsri_graph *graph,
                                const tsr_bounds *bounds, int *held, int *layers);
/* ends[i]: the layer after the last of rank i; each gets a layer, if there are as many. */
tsr_status tsri_run_deal_to_ranks(const tsri_graph *graph, const tsr_bounds *bounds,
                                  const tsri_run_holder *holders, size_t n, int *ends,
                                  tsri_run_dealt *out);

/* split.c: the part of the graph that this rank runs, where ranks share the layers. The first graph
 * decides which layers those are. All ranks call it. */
tsr_status tsri_run_split(tsri_run_context *context, const tsri_graph *graph,
                          const tsr_bounds *bounds, tsri_run_part_of *part, tsri_graph **out);
void tsri_run_part_of_clear(tsri_run_part_of *part);

/* The host's memory for what a plan exchanges with others. */
tsr_status tsri_run_messages_make(tsri_run_plan *plan);
void tsri_run_messages_drop(tsri_run_plan *plan);

/* execute.c: as tsri_run_start and _finish, of what this process has; drain waits for the devices, so that
 * memory that was given is free where no output is read. */
tsr_status tsri_run_start_own(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                              const tsri_run_binding *inputs, size_t n_inputs,
                              const tsri_run_binding *outputs, size_t n_outputs,
                              tsri_run_reads *reads);
tsr_status tsri_run_finish_own(tsri_run_reads *reads);
tsr_status tsri_run_drain(tsri_run_plan *plan);

/* memory.c: bytes of the host's memory that are free, where the device shares it, UINT64_MAX
 * elsewhere; what a device has for a model; the plain layout [rows, columns] of a weight leaf: the
 * product of all dimensions except the last, and the last */
uint64_t tsri_run_host_memory(const tsr_facts *facts);
uint64_t tsri_run_available(const tsr_facts *facts);
void tsri_run_plain_layout(const tsr_tensor *tensor, tsr_layout *layout);

/* budget.c: before the first buffer is created, whether everything fits on each device and each
 * weight in one buffer */
tsr_status tsri_run_check_budget(tsri_run_context *context, const tsri_run_placed *placed,
                                 const tsr_bounds *bounds);

/* budget.c: before a plan is made for these bounds, whether each result fits in one buffer of the devices
 * that compute and read it */
tsr_status tsri_run_check_results(const tsri_run_context *context, const tsri_run_placed *placed,
                                  const tsr_bounds *bounds);

/* state.c: creates the states that the graph names, or changes their sizes; what both sizes have stays.
 * After TSR_E_DEVICE_MEMORY some have the new sizes: a graph of the old ones takes them back, for
 * which the device needs no more memory. */
tsr_status tsri_run_states_for(tsri_run_context *context, const tsri_run_placed *placed);
/* The device that runs the ops that use a state; place.c makes sure that it is only one. */
tsr_status tsri_run_state_device(const tsri_run_placed *placed, tsri_value state, const char *name,
                                 size_t *device);

/* layout.c: decides the segments, places, blocks and arenas of a plan, and binds it to buffers */
tsr_status tsri_run_lay_out(tsri_run_plan *plan);
tsr_status tsri_run_arena_bytes(tsri_run_context *context, const tsri_run_placed *placed,
                                const tsr_bounds *bounds, size_t device, uint64_t *bytes);
tsr_status tsri_run_bind(tsri_run_plan *plan);
/* Tells the backends what bind will give them, those that have extension "tsr.ahead/1". */
tsr_status tsri_run_tell(tsri_run_plan *plan);
void tsri_run_unbind(tsri_run_plan *plan);
void tsri_run_plan_destroy(tsri_run_plan **plan);

/* profile.c: adds what the plan's device plans measured to the context's past, before they are
 * destroyed */
void tsri_run_profile_keep(tsri_run_plan *plan);
void tsri_run_profile_clear(tsri_run_measured *measured);

#define TSRI_RUN_CALL(slot, entry, ...) \
    ((slot)->device->backend->entry((slot)->device->dev, __VA_ARGS__))

/* held.c: finds a weight, a state; NULL where there is none with this id. */
const tsri_run_weight *tsri_run_weight_find(const tsri_run_context *context, uint32_t id,
                                            size_t device);
/* The part after this one; NULL: it was the last. */
const tsri_run_weight *tsri_run_weight_next(const tsri_run_context *context,
                                            const tsri_run_weight *part);
const tsri_run_kv_state *tsri_run_state_find(const tsri_run_context *context, uint32_t id);

/* Opens the device of a slot: the reference is opened when the first op needs it. */
tsr_status tsri_run_slot_open(tsri_run_context *context, size_t device);

/* Creates a buffer on a device; the sentence of a failure names its purpose. */
tsr_status tsri_run_buffer(tsri_run_context *context, size_t device, tsr_kind kind, uint64_t bytes,
                           const char *what, tsr_buf **out);
void tsri_run_buffer_drop(tsri_run_context *context, size_t device, tsr_buf **buf);
void tsri_run_log(const tsri_run_context *context, tsr_log_level level, const char *format, ...)
    __attribute__((format(PRINTF, 3, 4)));

#endif
