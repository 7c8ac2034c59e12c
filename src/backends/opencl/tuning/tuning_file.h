/* backends/opencl/tuning/tuning_file.h - what was tuned on this machine, in a readable file of the
 * cache folder: tuned/opencl-<hash of engine, platform, device and driver>.tsv.
 *
 * It begins with these four, so that a copied file is known as another's, and ends with the SHA-256
 * of all before, so that a damaged one is not believed. Between are lines as tuning.h has them.
 */
#ifndef TSRI_OPENCL_TUNING_TUNING_FILE_H
#define TSRI_OPENCL_TUNING_TUNING_FILE_H

#include "backends/opencl/device/device.h"
#include "base/bytes.h"

/* The user's file of this device: *path is new memory, NULL without a cache folder; text is empty
 * where there is none, or where it isn't believed, after a warning. */
tsr_status tsri_opencl_tuning_read_here(tsr_dev *dev, char **path, tsri_bytes *text);

/* The lines of a file that is being written: one a (row, condition), a later one replaces. */
typedef struct tsri_opencl_tuned_line {
    const char *platform, *device, *type, *row, *condition, *values, *note;
} tsri_opencl_tuned_line;

/* The user's file of this device, or the table at `path`, with these lines in place of those of the
 * same device, row and condition. Atomic. */
tsr_status tsri_opencl_tuning_store(tsr_dev *dev, const char *path,
                                    const tsri_opencl_tuned_line *lines, size_t n);

#endif
