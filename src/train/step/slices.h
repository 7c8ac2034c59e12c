/* train/step/slices.h - a file that all ranks of a training write, each its slices of it. */
#ifndef TSRI_TRAIN_STEP_SLICES_H
#define TSRI_TRAIN_STEP_SLICES_H

#include "io/save.h"
#include "tessera/ranks.h"

/* Writes this rank's bytes of the array that an entry describes, which is array `i` of the file. */
typedef tsr_status (*tsri_training_write)(void *data, const tsri_io_entry *entry, size_t i,
                                          tsri_io_slices *slices);

/* All ranks call it with the same entries: rank 0 makes the file, then each calls `write` for every array,
 * and syncs. When it returns, all have done so. After a failure the file may be there, not whole.
 * `ranks` may be NULL: this process writes everything. */
tsr_status tsri_training_write_file(tsr_ranks *ranks, const char *path, tsri_io_entry *entries,
                                    size_t n, const char *const *metadata, size_t n_metadata,
                                    tsri_training_write write, void *data);

#endif
