/* train/step/slices.c - writes a file by all ranks. */
#include "train/step/slices.h"

#include "base/error.h"
#include "transport/ranks.h"

tsr_status tsri_training_write_file(tsr_ranks *ranks, const char *path, tsri_io_entry *entries,
                                    size_t n, const char *const *metadata, size_t n_metadata,
                                    tsri_training_write write, void *data) {
    tsri_io_slices *slices = NULL;
    tsr_status status = TSR_OK;
    if (tsri_ranks_rank(ranks) == 0)
        TRY(tsri_io_slices_make(path, entries, n, metadata, n_metadata));
    TRY(tsri_ranks_barrier(ranks));
    TRY(tsri_io_slices_open(path, entries, n, metadata, n_metadata, &slices));
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = write(data, &entries[i], i, slices);
    if (status == TSR_OK)
        status = tsri_io_slices_commit(&slices);
    tsri_io_slices_abandon(&slices);
    return status == TSR_OK ? tsri_ranks_barrier(ranks) : status;
}
