/* backends/opencl/program/bundle.h - kernels for devices that can't compile: one program in a
 * folder.
 *
 * The folder has three files.
 *
 *   program.cl     the source of all kernels of a task, as the engine would build it
 *   manifest.json  what is in it:
 *                    "format": "tessera-bundle", "version": 1
 *                    "engine"
 *                    "kernel_abi"     the version of the meaning of kernel arguments
 *                    "sources"        the SHA-256 of all kernel files
 *                    "options"        to build with
 *                    "source_sha256"  of program.cl
 *                    "target"         platform, device and driver that the variants were chosen for
 *                    "kernels"        of each: its function's "name", its instance's canonical
 *                                     "variant", its "tunables" and how many "arguments" it has
 *                    "binary"         once there is one: file, bytes, sha256, and the platform,
 *                                     device and driver that took it
 *   program.bin    the program as that driver gives it, or as its vendor's offline compiler made it
 *
 * A bundle is used where its engine, ABI and kernel files are this engine's, and its binary is this
 * device's, is whole, and has each kernel with its number of arguments. On a device that was opened
 * with a bundle no other variant is eligible, and nothing is compiled.
 */
#ifndef TSRI_OPENCL_PROGRAM_BUNDLE_H
#define TSRI_OPENCL_PROGRAM_BUNDLE_H

#include "backends/opencl/tuning/tuning.h"

enum { TSRI_OPENCL_BUNDLE_VERSION = 1, TSRI_OPENCL_KERNEL_ABI = 1 };

typedef struct tsri_opencl_bundled {
    char *name, *instance; /* the function; the canonical name: "linear/plain:TN=4,W_DTYPE=F32" */
    const tsri_opencl_variant *variant; /* NULL: it is a stage */
    tsri_opencl_wish values;            /* the values of its tunables */
    uint32_t n_args;
} tsri_opencl_bundled;

struct tsri_opencl_bundle {
    char *folder, *path, *binary; /* the folder; the paths of the manifest and the binary */
    const char *options;          /* valid as long as the manifest */
    cl_program program;
    size_t n, capacity;
    tsri_opencl_bundled *kernels;
};

/* Reads and checks the folder, and creates the driver's program. */
tsr_status tsri_opencl_bundle_load(tsr_dev *dev, const char *folder, tsri_opencl_bundle **out);
void tsri_opencl_bundle_free(tsri_opencl_bundle *bundle);

/* The kernel of an instance, by its canonical name; NULL where it is not in the bundle. */
const tsri_opencl_bundled *tsri_opencl_bundle_find(const tsri_opencl_bundle *bundle,
                                                   const char *instance);
/* Whether the variant's kernels for this op, including its stage's, are in the device's bundle. wish: NULL,
 * or what is forced (of any variant). */
tsr_status tsri_opencl_bundle_has(const tsr_dev *dev, const tsri_opencl_variant *variant,
                                  const tsr_op *op, const tsri_opencl_wish *wish, bool *has);

#endif
