/* backends/opencl/variants/shared/cached.h - what the variants that pack an operand while they multiply
 * have in common (cl/matmul/cached.clh). */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_CACHED_H
#define TSRI_OPENCL_VARIANTS_SHARED_CACHED_H

#include "backends/opencl/variants/shared/common.h"

/* The tile of a work-item: at most so many rows, whose sums it keeps, by so many columns. */
enum { TSRI_OPENCL_CACHED_ROWS = 264, TSRI_OPENCL_CACHED_COLUMNS = 64 };

bool tsri_opencl_fits_cached(const tsri_opencl_facts *facts, const tsr_op *op, tsr_dim columns,
                             const char **why);
/* The rows that a work-item takes, at most `most` and a multiple of `tile`, so that each core has some:
 * every work-item packs anew. The sums are the same for any number of rows. */
int tsri_opencl_cached_rows(const tsri_opencl_launch *launch, const tsr_op *op, tsr_dim rows,
                            tsr_dim columns, int64_t tile, int64_t most);

#endif
