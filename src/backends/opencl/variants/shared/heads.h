/* backends/opencl/variants/shared/heads.h - what the variants of attention, its gradient and the other
 * ops on heads share: which heads fit, masks, and the sizes of queries, keys and values. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_HEADS_H
#define TSRI_OPENCL_VARIANTS_SHARED_HEADS_H

#include "backends/opencl/variants/shared/common.h"

/* Whether x is [B,T,H,D] with contiguous elements of a head, and H and D are constant. */
bool tsri_opencl_fits_heads(const tsr_tensor *x, const char **why);
/* The same, for a head of at most 512 elements: a work-item keeps one in private memory. */
bool tsri_opencl_fits_private_heads(const tsr_tensor *x, const char **why);
/* Whether heads of q and v have at most 256 elements, of which a work-item keeps 32 queries. */
bool tsri_opencl_fits_flash_heads(const tsr_tensor *q, const tsr_tensor *v, const char **why);

/* Whether `relative` and `sinks`, which may be missing, are packed arrays of f32. */
bool tsri_opencl_fits_score_vectors(const tsr_tensor *relative, const tsr_tensor *sinks,
                                    const char **why);

/* Defines CAUSAL and WINDOW, and HAS_PAST and HAS_LEN for operands that may be missing. */
void tsri_opencl_define_mask(tsri_opencl_defines *defines, uint32_t causal, uint32_t window,
                             const tsr_tensor *past, const tsr_tensor *len);
/* Whether `pages` is an array that kernels read: each page a constant number of whole tiles of 32 rows. */
bool tsri_opencl_fits_pages(const tsr_tensor *pages, tsr_dim rows, const char **why);
/* Defines HAS_PAGES, and with pages PAGE, their rows. */
void tsri_opencl_define_pages(tsri_opencl_defines *defines, const tsr_tensor *pages, tsr_dim rows);
/* The query heads of a key head. */
int64_t tsri_opencl_heads_of_key(const tsr_tensor *q, const tsr_tensor *k);

/* Binds what is added to the scores, where it is given; then B, T, S and the strides of q, k, v,
 * y. */
void tsri_opencl_arg_score_addends(tsri_opencl_launch *launch, const tsr_tensor *q,
                                   const tsr_tensor *k, const tsr_tensor *bias,
                                   const tsr_tensor *relative);
void tsri_opencl_arg_head_sizes(tsri_opencl_launch *launch, const tsr_tensor *q,
                                const tsr_tensor *k, const tsr_tensor *v, const tsr_tensor *y);

/* Binds the scale of scores; with a soft cap divided by it, and then the cap. */
void tsri_opencl_arg_scale(tsri_opencl_launch *launch, const tsr_attention_attrs *attrs);

/* For additive attention and its gradient. Whether a query and a value have constant sizes. */
bool tsri_opencl_fits_key_sizes(const tsr_tensor *q, const tsr_tensor *values, const char **why);
/* Binds B, T and S and the first two strides of five
 * tensors (zeros for a missing one) as "sizes"; scratch for a number of each query and key, f32
 * [B,T,S]. */
void tsri_opencl_arg_sequence_sizes(tsri_opencl_launch *launch, const tsr_tensor *q,
                                    const tsr_tensor *k, const tsr_tensor *const tensors[5]);
void tsri_opencl_arg_pairs(tsri_opencl_launch *launch, const tsr_tensor *q, const tsr_tensor *k);

#endif
