/* tessera/graph.h - ops over arrays on a device, without a model: to compute attention itself, to
 * try an op, or to build something that no architecture describes.
 *
 * A graph is built once and run any number of times. Its values are inputs, weights, states, the
 * results of ops, and views of these. Shapes are constants, row-major. The caller owns the arrays
 * of inputs and outputs and names them while it builds; each run reads the inputs and writes the
 * outputs. Results are those that tessera/op.h defines, on any device: an op that the device does
 * not offer is split into simpler ones or runs on the reference, and the engine's log says so.
 *
 * The graph keeps the first failure while it is built: later calls do nothing and give
 * TSR_VALUE_NONE, and tsr_graph_run returns the failure. So a program can build the whole graph and
 * check once.
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
/** A value of one graph: its number in that graph. */
typedef int32_t tsr_value;
enum { TSR_VALUE_NONE = -1 /**< a missing operand, or the result of a failed call */ };

/**
 * Creates an empty graph that will run on `device`.
 *
 * owner   the caller destroys *out, before it closes the device
 * thread  one thread at a time for a graph and its device
 * error   TSR_E_ARGUMENT  device or out is NULL
 */
TSR_API tsr_status tsr_graph_create(tsr_device *device, tsr_graph **out);
/** Destroys a graph. *graph may be NULL, and is NULL afterwards. */
TSR_API void tsr_graph_destroy(tsr_graph **graph);

/**
 * TSR_OK, or the first failure of building, whose sentence tsr_error_last() then has again.
 *
 * error   what building failed with
 */
TSR_API tsr_status tsr_graph_status(const tsr_graph *graph);

/* ---- leaves ---- */

/**
 * Adds an array that each run reads from `data`, which may be filled anew between runs.
 *
 * shape   dims[0 .. rank), rank 0 to TSR_MAX_RANK, each size >= 0; packed
 * dtype   what the ops that read it require: mostly TSR_F32 or TSR_I32
 * owner   name and dims are copied; data is borrowed until the graph is destroyed. NULL only where
 *         there are no elements
 * error   kept by the graph
 *         TSR_E_ARGUMENT  a rule above is broken
 */
TSR_API tsr_value tsr_graph_input(tsr_graph *graph, const char *name, tsr_dtype dtype,
                                  uint32_t rank, const int64_t *dims, const void *data);
/**
 * Adds an array that the first run stores on the device, in the layout that suits its ops, and that
 * stays there. `linear`, `glu_linear` and `embed` are fastest with weights that they read whole: one
 * that some op reads by a view of a part of it, or of other rows, is kept row by row.
 *
 * shape   as for an input
 * dtype   as for an input; or blocks, where the last size is a multiple of the block
 * owner   name and dims are copied; data is borrowed until the first run has succeeded. NULL only
 *         where there are no elements
 * error   as for an input
 */
TSR_API tsr_value tsr_graph_weight(tsr_graph *graph, const char *name, tsr_dtype dtype,
                                   uint32_t rank, const int64_t *dims, const void *data);
/**
 * Adds an array of zeros that lives on the device from run to run and is written by the ops that
 * tessera/op.h says write one (`kv_append`).
 *
 * shape   rank 1 to 4
 * owner   name and dims are copied
 * error   as for an input
 */
TSR_API tsr_value tsr_graph_state(tsr_graph *graph, const char *name, tsr_dtype dtype,
                                  uint32_t rank, const int64_t *dims);

/* ---- ops and views ---- */

/**
 * Adds an op and returns its first output (TSR_VALUE_NONE where it has none).
 *
 * attrs   the struct that tessera/op.h names for the op, copied; NULL where the op has none
 * in      in[0 .. n_in), TSR_VALUE_NONE for a missing optional operand
 * order   ops run as if in the order in which they were added
 * error   kept by the graph
 *         TSR_E_ARGUMENT     operands or attributes that the op does not take
 *         TSR_E_UNSUPPORTED  an op that this version does not know; a result of more than 2^31 - 1
 *                            elements
 */
TSR_API tsr_value tsr_graph_op(tsr_graph *graph, tsr_op_id op, const void *attrs,
                               const tsr_value *in, uint32_t n_in);
/**
 * Adds an op and gives all its outputs: out[i] for each in the order of tessera/op.h,
 * TSR_VALUE_NONE for those that are not computed. Bit i of `want` asks for the optional output i.
 *
 * error   as for tsr_graph_op
 */
TSR_API void tsr_graph_op_outputs(tsr_graph *graph, tsr_op_id op, const void *attrs,
                                  const tsr_value *in, uint32_t n_in, uint32_t want, tsr_value *out,
                                  uint32_t n_out);

/**
 * Views: the same elements under another shape. They cost neither work nor memory.
 *
 * reshape  dims has the same number of elements. x is packed: TSR_OP_COPY a permuted or sliced
 *          value first
 * permute  dimension i of the result is dimension order[i] of x
 * slice    elements first .. first + count - 1 of one axis; of a weight in blocks, whole blocks
 * error    kept by the graph
 *          TSR_E_ARGUMENT  a rule above is broken
 */
TSR_API tsr_value tsr_graph_reshape(tsr_graph *graph, tsr_value x, uint32_t rank,
                                    const int64_t *dims);
TSR_API tsr_value tsr_graph_permute(tsr_graph *graph, tsr_value x, const uint32_t *order);
TSR_API tsr_value tsr_graph_slice(tsr_graph *graph, tsr_value x, uint32_t axis, int64_t first,
                                  int64_t count);

/**
 * Gives the shape of a value: its rank, and its sizes in dims[0 .. rank).
 *
 * error   TSR_E_ARGUMENT  the graph has no such value
 */
TSR_API tsr_status tsr_graph_shape(const tsr_graph *graph, tsr_value value, uint32_t *rank,
                                   int64_t dims[TSR_MAX_RANK]);

/* ---- gradients ---- */

/**
 * Adds the backward pass: the gradients of a sum with respect to leaves. The sum is, over i, that of
 * all elements of of[i] times those of seeds[i]. Each run computes them anew; they are values like
 * any other, for tsr_graph_output or for further ops.
 *
 * leaves     [n] weights or inputs of rank 1 to 4
 * of         [n_of] values that ops have computed from them, views of these, or leaves themselves; a
 *            value that is named twice counts twice
 * seeds      [n_of] of the shape of of[i]; for cross_entropy and kl_divergence, whose rows all weigh
 *            the same, one number [1]
 * gradients  [n] the results: gradients[i] has the shape of leaves[i]; 0 where nothing depends on it
 * dtype      leaves: f32, f16 or bf16; seeds and gradients: f32
 * error      kept by the graph; gradients are TSR_VALUE_NONE then
 *            TSR_E_ARGUMENT     a value that is not a leaf, or a seed of another shape or dtype
 *            TSR_E_UNSUPPORTED  an op on the way has no gradient, or writes a state that another op
 *                               reads: the sentence names it. Or views on the way, of which of[i]
 *                               may be one, cover a part of their value, not all of it once
 */
TSR_API void tsr_graph_gradients(tsr_graph *graph, const tsr_value *leaves, uint32_t n,
                                 const tsr_value *of, const tsr_value *seeds, uint32_t n_of,
                                 tsr_value *gradients);

/* ---- running ---- */

/**
 * Asks each run to write a value into `data`, packed and row-major even where it is a view.
 *
 * dtype   that of the value: f32 for most ops, i32 for argmax and for topk's indices. Blocks can't be
 *         read back: TSR_OP_CAST a weight of q8_0 to f32 first
 * units   bytes: the size of data
 * owner   name is copied; data is borrowed until the graph is destroyed. NULL only where `bytes` is 0
 * error   kept by the graph
 *         TSR_E_ARGUMENT  `bytes` is not the size of the value; data is NULL
 */
TSR_API void tsr_graph_output(tsr_graph *graph, const char *name, tsr_value value, void *data,
                              size_t bytes);

/**
 * Runs the graph once: reads the arrays of the inputs, writes those of the outputs. The first run
 * builds the kernels and stores the weights; nothing can be added after it (TSR_E_STATE).
 *
 * thread  one thread at a time for a graph and its device
 * error   TSR_E_ARGUMENT  the graph has no outputs
 *         and what building failed with, and what the device reports. A first run that failed may
 *         be tried again
 */
TSR_API tsr_status tsr_graph_run(tsr_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
