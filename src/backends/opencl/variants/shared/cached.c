/* backends/opencl/variants/shared/cached.c - where the variants that pack a plain weight into private
 * memory fit, and how many rows a work-item takes. */
#include "backends/opencl/variants/shared/cached.h"
#include "backends/opencl/bind/arguments.h"

enum { LEAST_COLUMNS = 8, LEAST_SHARE = 48 };

bool tsri_opencl_fits_cached(const tsri_opencl_facts *facts, const tsr_op *op, tsr_dim columns,
                             const char **why) {
    if (!facts->cpu || !facts->vector16)
        return tsri_opencl_refuse(
            why, "made for CPUs: a work-item holds a whole tile in vector registers");
    if (tsri_opencl_highest(op, columns) < LEAST_COLUMNS)
        return tsri_opencl_refuse(why, "computes 64 columns at once, which pays from 8 columns on");
    return true;
}

int tsri_opencl_cached_rows(const tsri_opencl_launch *launch, const tsr_op *op, tsr_dim rows,
                            tsr_dim columns, int64_t tile, int64_t most) {
    const int64_t M = tsri_opencl_highest(op, rows), N = tsri_opencl_highest(op, columns);
    const int64_t width = TSRI_OPENCL_CACHED_COLUMNS, panels = (N + width - 1) / width;
    const int64_t cores = launch->dev->facts.common.compute_units;
    most = most / tile * tile;
    int64_t shares = (2 * cores + panels - 1) / panels;
    if (shares > M / LEAST_SHARE)
        shares = M / LEAST_SHARE;
    if (shares < (M + most - 1) / most)
        shares = (M + most - 1) / most;
    if (shares < 1)
        shares = 1;
    const int64_t each = ((M + shares - 1) / shares + tile - 1) / tile * tile;
    return (int)(each < tile ? tile : each > most ? most : each);
}
