/* tessera/graph.h - ops over arrays on a device, without a model: to compute attention itself, to
 * try an op, to build something that no architecture says.
 *
 * A graph is built once and run as often as wanted. Its values are inputs, weights, states, what
 * ops compute, and views of these; shapes are constants, row-major. Arrays of inputs and outputs
 * are the caller's and named while building: a run reads the ones and writes the others. Runs give
 * what tessera/op.h says of each op, whatever the device; an op that the device lacks is split into
 * simpler ones or runs on the reference, and the engine's log says so.
 *
 * Building is sticky: the first failure is kept, calls after it do nothing and give TSR_VALUE_NONE,
 * and tsr_graph_run returns it. So a program builds straight through and looks once.
 *
 *     tsr_value x = tsr_graph_input(g, "x", TSR_F32, 2, (int64_t[]){3, 2}, words);
 *     tsr_value s = tsr_graph_op(g, TSR_OP_MATMUL, &x_times_x, (tsr_value[]){x, x}, 2);
 *     tsr_graph_output(g, "similarities", s, result, sizeof result);
 *     if (tsr_graph_run(g) != TSR_OK) puts(tsr_error_last());
 */
#ifndef TESSERA_GRAPH_H
#define TESSERA_GRAPH_H

#include "tessera/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_graph tsr_graph;
/** A value of one graph: its number there. */
typedef int32_t tsr_value;
enum { TSR_VALUE_NONE = -1 /**< no value: a missing operand, or what a failed call gives */ };

/** An empty graph that will run on `device`.
 *
 * owner   the caller destroys *out, before it closes the device
 * thread  a graph, as its device: one thread at a time
 */
TSR_API tsr_status tsr_graph_create(tsr_device *device, tsr_graph **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_graph_destroy(tsr_graph **graph);

/** TSR_OK, or the first failure of building; tsr_error_last() has its sentence again. */
TSR_API tsr_status tsr_graph_status(const tsr_graph *graph);

/* ---- leaves ---- */

/**
 * An array that each run reads from `data`: fill it anew between runs.
 *
 * shape   dims[0 .. rank), rank 0 to TSR_MAX_RANK, each >= 0; packed
 * dtype   what the ops that read it ask for: TSR_F32 or TSR_I32 mostly
 * owner   name and dims are copied; data is borrowed until the graph is destroyed
 */
TSR_API tsr_value tsr_graph_input(tsr_graph *graph, const char *name, tsr_dtype dtype,
                                  uint32_t rank, const int64_t *dims, const void *data);
/** An array that the first run brings to the device, in the layout that suits its ops, and keeps
 * there. `linear`, `glu_linear` and `embed` are fastest with these. Otherwise as an input, but data
 * is borrowed only until the first run succeeds. */
TSR_API tsr_value tsr_graph_weight(tsr_graph *graph, const char *name, tsr_dtype dtype,
                                   uint32_t rank, const int64_t *dims, const void *data);
/** An array that starts as zeros and lives on the device from run to run, written by ops that say
 * so (`kv_append`). shape  rank 1 to 4 */
TSR_API tsr_value tsr_graph_state(tsr_graph *graph, const char *name, tsr_dtype dtype,
                                  uint32_t rank, const int64_t *dims);

/* ---- ops and views ---- */

/**
 * Adds an op and gives its first output (TSR_VALUE_NONE where it has none).
 *
 * attrs   the struct that tessera/op.h names for the op, copied; NULL where it has none
 * in      in[0 .. n_in), TSR_VALUE_NONE for a missing optional operand
 * order   ops run in the order in which they were added, as far as anyone can see
 * error   kept by the graph: TSR_E_ARGUMENT  operands or attributes that the op doesn't take
 *         TSR_E_UNSUPPORTED  an op unknown to this version; a result of more than 2^31 - 1 elements
 */
TSR_API tsr_value tsr_graph_op(tsr_graph *graph, tsr_op_id op, const void *attrs,
                               const tsr_value *in, uint32_t n_in);
/** The same with all outputs: out[i] for each of the op's, in the order of tessera/op.h,
 * TSR_VALUE_NONE for those not made. Bit i of `want` asks for the optional output i. */
TSR_API void tsr_graph_op_outputs(tsr_graph *graph, tsr_op_id op, const void *attrs,
                                  const tsr_value *in, uint32_t n_in, uint32_t want, tsr_value *out,
                                  uint32_t n_out);

/** Views: the same elements under another shape. No work and no memory.
 *
 * reshape  the same number of elements, of a value that is packed (a permuted or sliced one:
 * TSR_OP_COPY it first) permute  dimension i of the result is dimension order[i] of x slice
 * elements first .. first + count of one axis
 */
TSR_API tsr_value tsr_graph_reshape(tsr_graph *graph, tsr_value x, uint32_t rank,
                                    const int64_t *dims);
TSR_API tsr_value tsr_graph_permute(tsr_graph *graph, tsr_value x, const uint32_t *order);
TSR_API tsr_value tsr_graph_slice(tsr_graph *graph, tsr_value x, uint32_t axis, int64_t first,
                                  int64_t count);

/** The shape of a value: its rank, and its sizes into dims. TSR_E_ARGUMENT where it is none of this
 * graph's. */
TSR_API tsr_status tsr_graph_shape(const tsr_graph *graph, tsr_value value, uint32_t *rank,
                                   int64_t dims[TSR_MAX_RANK]);

/* ---- running ---- */

/**
 * Asks each run to write a value into `data`, packed and row-major whatever view it is.
 *
 * dtype   as the value's: f32 of most ops, i32 of argmax and of topk's indices
 * owner   name is copied; data is borrowed until the graph is destroyed
 * error   kept by the graph: TSR_E_ARGUMENT  `bytes` is not what the value needs
 */
TSR_API void tsr_graph_output(tsr_graph *graph, const char *name, tsr_value value, void *data,
                              size_t bytes);

/**
 * Runs the graph once: reads the inputs' arrays, writes the outputs'. The first run builds the
 * kernels and brings the weights; after it, building is over (TSR_E_STATE).
 *
 * error   what building failed with; TSR_E_ARGUMENT for a graph without outputs; what the device
 * says. A first run that fails may be tried again
 */
TSR_API tsr_status tsr_graph_run(tsr_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
