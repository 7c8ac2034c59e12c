/* model/load/measure.h - how large a model is, and how its matrices are kept and multiplied. */
#ifndef TSRI_MODEL_LOAD_MEASURE_H
#define TSRI_MODEL_LOAD_MEASURE_H

#include "model/load/load.h"

typedef struct tsri_model_measures {
    uint64_t parameters;
    uint64_t active_parameters; /* that a token is computed with: of experts, those that it takes */
    uint64_t weight_bytes;      /* as kept */
    uint64_t stored_bytes;      /* in the files */
    const char *kept, *compute; /* dtype of most bytes of the matrices, and of their products */
    uint64_t kv_bytes_per_token;
    double flops_per_token;      /* for one token with an empty past: 2 for each multiply-add */
    double flops_per_past_token; /* what each earlier token adds, through attention, if all layers
                                    see it */
    double flops_at_context;     /* what attention adds to a token that ends a full context */
} tsri_model_measures;
/* What a token computes in a stack, through attention, for each token of that stack that all layers
 * see. */
double tsri_model_flops_per_seen(const tsri_model_stack *stack);

/* What `n` tokens behind `past` see of their sequence, on average over the stack's layers: those with a
 * sliding window see less.
 *
 * seen       how many earlier tokens each of them sees, summed over them
 * seen_text  of a text that is `n` tokens: how many each sees to both sides and itself, summed over
 *            them; in a causal encoder, too
 * read       the tokens whose keys one run over all of them reads, their own included */
double tsri_model_seen(const tsri_model_stack *stack, int64_t past, int64_t n);
double tsri_model_seen_text(const tsri_model_stack *stack, int64_t n);
double tsri_model_read(const tsri_model_stack *stack, int64_t past, int64_t n);
void tsri_model_measure(const tsri_model *model, tsri_model_measures *out);

enum { TSRI_MODEL_MAX_TALLIES = 8 };

typedef struct tsri_model_tally {
    tsr_dtype dtype;
    tsr_compute compute;
    int matrices, multiplied; /* all matrices, and those that linear ops read */
    uint64_t bytes;
} tsri_model_tally;

/* Counts matrices by the dtype that they are kept in; returns the number of dtypes. */
size_t tsri_model_tally_matrices(const tsri_model_weights *weights,
                                 tsri_model_tally kinds[TSRI_MODEL_MAX_TALLIES]);
/* "f32", "f16", "int8", "bf16". */
const char *tsri_model_compute_name(tsr_compute compute);

#endif
