/* backends/opencl/program/bundle.h - kernels for devices that can't compile: one program in a
 * folder.
 *
 * A folder has three files.
 *   program.cl     the one source of a task's kernels, as the engine would build it
 *   manifest.json  what is in it: "format": "tessera-bundle", "version": 1; "engine"; "kernel_abi",
 * the meaning of kernel arguments; "sources", the SHA-256 of all kernel files; "options" to build
 * with; "source_sha256" of program.cl; "target": platform, device, driver that the rows were chosen
 * for; "kernels": each with its function's "name", its instance's canonical "row", its "tunables"
 * and how many "arguments" it has; and, once there is one, "binary": file, bytes, sha256, and the
 * platform, device and driver that took it program.bin    the program as that driver gives it, or
 * as its vendor's offline compiler made it A bundle is believed where engine, ABI and kernel files
 * are this engine's, the binary is this device's, is whole, and has each kernel with its number of
 * arguments. On a device that was opened with one, no other row is eligible and nothing is
 * compiled.
 */
#ifndef TSRI_OPENCL_PROGRAM_BUNDLE_H
#define TSRI_OPENCL_PROGRAM_BUNDLE_H

#include "backends/opencl/tuning/tuning.h"

enum { TSRI_OPENCL_BUNDLE_VERSION = 1, TSRI_OPENCL_KERNEL_ABI = 1 };

typedef struct tsri_opencl_bundled {
    char *name, *instance;      /* the function; canonical: "linear/plain:TN=4,W_DTYPE=F32" */
    const tsri_opencl_row *row; /* NULL: a stage */
    tsri_opencl_wish values;    /* of its tunables */
    uint32_t n_args;
} tsri_opencl_bundled;

struct tsri_opencl_bundle {
    char *folder, *path, *binary; /* the manifest's and the binary's paths */
    const char *options;          /* while the manifest is there */
    cl_program program;
    size_t n, capacity;
    tsri_opencl_bundled *kernels;
};

/* Reads and checks the folder, and makes the program. */
tsr_status tsri_opencl_bundle_load(tsr_dev *dev, const char *folder, tsri_opencl_bundle **out);
void tsri_opencl_bundle_free(tsri_opencl_bundle *bundle);

/* The kernel of an instance by its canonical name; NULL: it isn't in the bundle. */
const tsri_opencl_bundled *tsri_opencl_bundle_find(const tsri_opencl_bundle *bundle,
                                                   const char *instance);
/* The row's kernels for this op, its stage's included, are in the bundle of the device. */
tsr_status tsri_opencl_bundle_has(const tsr_dev *dev, const tsri_opencl_row *row, const tsr_op *op,
                                  bool *has);

#endif
