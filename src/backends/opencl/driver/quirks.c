/* backends/opencl/driver/quirks.c - the table of drivers that are treated differently from what they
 * report.
 *
 * Those of ROCm and of Intel's driver for its GPUs only say why a device may be missing. Mali and Apple
 * have no rows: their limits and extensions say what is needed. docs/devices.md lists what is known of
 * drivers for GPUs, also where nothing is to be done. */
#include "backends/opencl/driver/quirks.h"

#include <fnmatch.h>
#include <stdbool.h>

#define POCL .platform = "*Portable Computing Language*"
/* PoCL's CUDA driver, whose devices are NVIDIA's; 7.1 was released in October 2025. */
#define POCL_CUDA(version) POCL, .vendor = "*NVIDIA*", .driver = version
#define SUB_GROUPS_INCOMPLETE                                                        \
    .effects = TSRI_OPENCL_NO_SUB_GROUPS,                                            \
    .seen = "reported in 2025 (pocl/pocl, pull request 2053, after 7.1); never run", \
    .why = "before that, sub_group_reduce_* and sub_group_scan_* are incomplete on CUDA devices"
/* Qualcomm's versions end in "Compiler E031.41.03.64". */
#define ADRENO(compiler) .platform = "*QUALCOMM*", .driver = "*Compiler E031." compiler
#define SUB_GROUPS_CRASH                                                                        \
    .effects = TSRI_OPENCL_NO_SUB_GROUPS,                                                       \
    .seen = "reported in 2026 (ggml-org/llama.cpp, pull request 22006: Adreno 660); never run", \
    .why = "before E031.38.11 it dies of sub_group_reduce_add and sub_group_scan_*"
#define LLVMPIPE .device = "*llvmpipe*", .seen = "rusticl of Mesa 22.3.6"

const tsri_opencl_quirk tsri_opencl_quirks[] = {
    {POCL, .effects = TSRI_OPENCL_NO_BINARIES, .seen = "pocl 3.1",
     .why =
         "it has a cache of its own. With a decoder's 15 kernels: asking for its binary compiles "
         "every kernel once more for any work-group (3.8 against 2.0 s of CPU at the first run), "
         "and a later start takes 31 instead of 65 ms"},
    {POCL, .library = "*pocl*", .effects = TSRI_OPENCL_CHAINS, .seen = "pocl 3.1",
     .why = "its threads sleep between launches; only on CPUs"},
    {POCL, .effects = TSRI_OPENCL_CACHE_FOLDER, .seen = "pocl 3.1",
     .why = "where its cache folder can't be made it hides its devices, and where the folder can't "
            "be written it lists them and every build fails"},
    {POCL, .effects = TSRI_OPENCL_READS_POCL_DEVICES, .seen = "pocl 3.1",
     .why = "it gives the devices that the variable names"},
    {POCL, .device = "basic*", .effects = TSRI_OPENCL_ONE_THREAD, .seen = "pocl 3.1",
     .why = "it runs all work-groups in one thread"},
    {POCL, .effects = TSRI_OPENCL_SECOND_DRIVER, .seen = "by its documentation; never run",
     .why = "a GPU that it lists has a driver of its vendor, too, and is the same device there"},
    {POCL_CUDA("[0-6].*"), SUB_GROUPS_INCOMPLETE},
    {POCL_CUDA("7.[01]*"), SUB_GROUPS_INCOMPLETE},
    {.platform = "*NVIDIA*",
     .effects = TSRI_OPENCL_NO_BINARIES,
     .seen = "by its documentation (CUDA_CACHE_PATH); never run",
     .why = "it has a cache of its own, which holds what its assembler made"},
    {.platform = "AMD Accelerated Parallel Processing",
     .effects = TSRI_OPENCL_READS_ROCM_DEVICES,
     .seen = "by ROCm's documentation (environment variables, 7.1.1); never run",
     .why = "it gives the devices that ROCR_VISIBLE_DEVICES and GPU_DEVICE_ORDINAL name"},
    {.platform = "AMD Accelerated Parallel Processing",
     .effects = TSRI_OPENCL_OPENS_KFD,
     .seen = "reported in 2021 and 2026 (ROCm/legacy-rocm-build, issues 1430 and 6142); never run",
     .why = "where the user may not open the file, it lists its platform without a device"},
    {.platform = "Intel(R) OpenCL*Graphics*",
     .library = "*igdrcl*",
     .effects = TSRI_OPENCL_OPENS_RENDER_NODES,
     .seen = "reported in 2020 and 2024 (intel/compute-runtime, issues 350 and 701); never run",
     .why = "where the user may not open the files, or there are none, it lists no platform"},
    {ADRENO("[0-2]?.*"), SUB_GROUPS_CRASH},
    {ADRENO("3[0-7].*"), SUB_GROUPS_CRASH},
    {ADRENO("38.0?.*"), SUB_GROUPS_CRASH},
    {ADRENO("38.10.*"), SUB_GROUPS_CRASH},
    {.platform = "rusticl",
     .effects = TSRI_OPENCL_NEEDS_RUSTICL_ENABLE,
     .seen = "Mesa 22.3.6",
     .why = "it gives only devices of the drivers that the variable names"},
    {LLVMPIPE, .effects = TSRI_OPENCL_RASTERISER,
     .why = "a software rasteriser: a launch takes 300 us, and its compiler seconds for a kernel"},
    {LLVMPIPE, .effects = TSRI_OPENCL_NO_VECTOR16,
     .why = "its compiler does not finish tiles of float16"},
    {LLVMPIPE, .effects = TSRI_OPENCL_SHORT_LOOPS,
     .why = "gallivm ends the loops of a work-item after 65,535 iterations, whatever they say"},
    {.platform = "*emulat*",
     .effects = TSRI_OPENCL_EMULATOR,
     .seen = "Intel's FPGA emulator 2023.2.4",
     .why = "it emulates a board, slowly"},
    {.device = "*emulat*",
     .effects = TSRI_OPENCL_EMULATOR,
     .seen = "Intel's FPGA emulator 2023.2.4",
     .why = "the same, by the device's name"},
    {.device = "*simulator*",
     .effects = TSRI_OPENCL_EMULATOR,
     .seen = "Oclgrind 21.10",
     .why = "it interprets kernels"},
    {.platform = "*oclgrind*",
     .effects = TSRI_OPENCL_EMULATOR | TSRI_OPENCL_NO_BINARIES,
     .seen = "Oclgrind 21.10",
     .why = "it interprets kernels, so a binary saves nothing"},
    {.platform = "*oclgrind*",
     .effects = TSRI_OPENCL_WATCHES_MEMORY,
     .seen = "Oclgrind 21.10",
     .why =
         "a fill marks only its first element as initialised; what kernels store beyond the "
         "bytes of the last write from the host is forgotten; a new buffer is taken for a released "
         "one of the same number, with that one's length"},
    {.platform = "oclgrind",
     .effects = TSRI_OPENCL_IS_LOADER,
     .seen = "Oclgrind 21.10",
     .why = "the program `oclgrind` loads its library in the loader's place"},
};
const size_t tsri_opencl_n_quirks = sizeof tsri_opencl_quirks / sizeof *tsri_opencl_quirks;

static bool matches(const char *pattern, const char *text) {
    return !pattern || (text && fnmatch(pattern, text, FNM_CASEFOLD) == 0);
}

uint32_t tsri_opencl_effects_of(const char *platform, const char *vendor, const char *device,
                                const char *driver) {
    uint32_t effects = 0;
    for (size_t i = 0; i < tsri_opencl_n_quirks; i++) {
        const tsri_opencl_quirk *q = &tsri_opencl_quirks[i];
        if (matches(q->platform, platform) && matches(q->vendor, vendor) &&
            matches(q->device, device) && matches(q->driver, driver))
            effects |= q->effects;
    }
    return effects;
}

uint32_t tsri_opencl_effects_of_library(const char *library) {
    uint32_t effects = 0;
    for (size_t i = 0; i < tsri_opencl_n_quirks; i++)
        if (tsri_opencl_quirks[i].library && matches(tsri_opencl_quirks[i].library, library))
            effects |= tsri_opencl_quirks[i].effects;
    return effects;
}
