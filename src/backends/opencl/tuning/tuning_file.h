/* backends/opencl/tuning/tuning_file.h - what was tuned on this machine, in a readable file of the
 * cache folder: tuned/opencl-<hash of engine, platform, device and driver>.tsv.
 *
 * The file begins with these four, so that a copy on another machine is recognised, and ends with
 * the SHA-256 of everything before, so that a damaged one is not used. The lines between are as
 * tuning.h describes them. */
#ifndef TSRI_OPENCL_TUNING_TUNING_FILE_H
#define TSRI_OPENCL_TUNING_TUNING_FILE_H

#include "backends/opencl/device/device.h"
#include "base/bytes.h"

/* The user's file of this device. *path is new memory, NULL without a cache folder. text is empty
 * where there is no file, or where it is not used, after a warning. */
tsr_status tsri_opencl_tuning_read_here(tsr_dev *dev, char **path, tsri_bytes *text);

/* The lines of a file that is being written: one for each variant and condition; a later line replaces
 * an earlier one. */
typedef struct tsri_opencl_tuned_line {
    const char *platform, *device, *type, *variant, *condition, *values, *note;
} tsri_opencl_tuned_line;

/* Writes the user's file of this device, or the table at `path`, with these lines in place of those
 * of the same device, variant and condition. The file is replaced atomically. */
tsr_status tsri_opencl_tuning_store(tsr_dev *dev, const char *path,
                                    const tsri_opencl_tuned_line *lines, size_t n);

#endif
