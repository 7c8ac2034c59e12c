/* The table of drivers' quirks: whose rows match, and that each row says why. */
#include "backends/opencl/driver/quirks.h"

#include <criterion/criterion.h>

Test(opencl_quirks, rows_match_by_platform_and_device) {
    static const struct {
        const char *platform, *device;
        uint32_t effects;
    } table[] = {
        {"Portable Computing Language", "pthread-Intel(R) Xeon(R) Processor",
         TSRI_OPENCL_NO_BINARIES | TSRI_OPENCL_CHAINS | TSRI_OPENCL_CACHE_FOLDER |
             TSRI_OPENCL_READS_POCL_DEVICES | TSRI_OPENCL_SECOND_DRIVER},
        {"Portable Computing Language", "basic-skylake-avx512-Intel(R) Xeon(R)",
         TSRI_OPENCL_NO_BINARIES | TSRI_OPENCL_CHAINS | TSRI_OPENCL_CACHE_FOLDER |
             TSRI_OPENCL_READS_POCL_DEVICES | TSRI_OPENCL_ONE_THREAD | TSRI_OPENCL_SECOND_DRIVER},
        {"NVIDIA CUDA", "NVIDIA H200", TSRI_OPENCL_NO_BINARIES},
        {"rusticl", "llvmpipe (LLVM 15.0.6, 256 bits)",
         TSRI_OPENCL_NEEDS_RUSTICL_ENABLE | TSRI_OPENCL_RASTERISER | TSRI_OPENCL_NO_VECTOR16 |
             TSRI_OPENCL_SHORT_LOOPS},
        {"rusticl", "AMD Radeon RX 7900 XTX (radeonsi)", TSRI_OPENCL_NEEDS_RUSTICL_ENABLE},
        {"Intel(R) FPGA Emulation Platform for OpenCL(TM)", "Intel(R) FPGA Emulation Device",
         TSRI_OPENCL_EMULATOR},
        {"Oclgrind", "Oclgrind Simulator",
         TSRI_OPENCL_EMULATOR | TSRI_OPENCL_NO_BINARIES | TSRI_OPENCL_WATCHES_MEMORY |
             TSRI_OPENCL_IS_LOADER},
        {"Intel(R) OpenCL", "Intel(R) Xeon(R) Processor", 0},
        {"Intel(R) OpenCL Graphics", "Intel(R) Arc(TM) A770 Graphics",
         TSRI_OPENCL_OPENS_RENDER_NODES},
        {"Intel(R) OpenCL HD Graphics", "Intel(R) UHD Graphics 630",
         TSRI_OPENCL_OPENS_RENDER_NODES},
        {"AMD Accelerated Parallel Processing", "gfx1100",
         TSRI_OPENCL_READS_ROCM_DEVICES | TSRI_OPENCL_OPENS_KFD},
        {"ARM Platform", "Mali-G715", 0},
        {"QUALCOMM Snapdragon(TM)", "QUALCOMM Adreno(TM)", 0},
        {"Apple", "Apple M2", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_expect_eq(tsri_opencl_effects_of(table[i].platform, "a vendor", table[i].device, "1.0"),
                     table[i].effects, "%s, %s", table[i].platform, table[i].device);
}

/* Adreno's compilers before E031.38.11, and no others, die of sub-group functions. */
Test(opencl_quirks, rows_match_by_version) {
    static const struct {
        const char *driver;
        uint32_t effects;
    } table[] = {
        {"OpenCL 2.0 QUALCOMM build: commit #272cf717f5 Date: 10/05/21 Compiler E031.38.01.08",
         TSRI_OPENCL_NO_SUB_GROUPS},
        {"OpenCL 2.0 QUALCOMM build: Compiler E031.37.12.03", TSRI_OPENCL_NO_SUB_GROUPS},
        {"OpenCL 2.0 QUALCOMM build: Compiler E031.29.00.00", TSRI_OPENCL_NO_SUB_GROUPS},
        {"OpenCL 3.0 QUALCOMM build: Compiler E031.38.10.07", TSRI_OPENCL_NO_SUB_GROUPS},
        {"OpenCL 3.0 QUALCOMM build: Compiler E031.38.11.14", 0},
        {"OpenCL 3.0 QUALCOMM build: 0676.77.1 Compiler E031.41.03.64", 0},
        {"OpenCL 3.0 QUALCOMM build: commit unknown Compiler E031.50.02.00", 0},
        {"OpenCL 3.0 QUALCOMM build: Compiler E17.51.00.00", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_expect_eq(tsri_opencl_effects_of("QUALCOMM Snapdragon(TM)", "QUALCOMM",
                                            "QUALCOMM Adreno(TM)", table[i].driver),
                     table[i].effects, "%s", table[i].driver);
    cr_expect_eq(tsri_opencl_effects_of("a platform", "a vendor", "a device", table[0].driver), 0);
}

/* PoCL's CUDA driver up to 7.1, and neither PoCL on CPUs nor NVIDIA's own driver. */
Test(opencl_quirks, sub_groups_of_pocl_on_cuda) {
    static const struct {
        const char *platform, *vendor, *driver;
        bool without;
    } table[] = {
        {"Portable Computing Language", "NVIDIA Corporation", "5.0", true},
        {"Portable Computing Language", "NVIDIA Corporation", "6.0-pre", true},
        {"Portable Computing Language", "NVIDIA Corporation", "7.0", true},
        {"Portable Computing Language", "NVIDIA Corporation", "7.1+debian", true},
        {"Portable Computing Language", "NVIDIA Corporation", "7.2", false},
        {"Portable Computing Language", "NVIDIA Corporation", "10.0", false},
        {"Portable Computing Language", "GenuineIntel", "5.0", false},
        {"NVIDIA CUDA", "NVIDIA Corporation", "5.0", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_expect_eq((tsri_opencl_effects_of(table[i].platform, table[i].vendor, "a device",
                                             table[i].driver) &
                      TSRI_OPENCL_NO_SUB_GROUPS) != 0,
                     table[i].without, "%s %s of %s", table[i].platform, table[i].driver,
                     table[i].vendor);
}

/* What is known before a driver is loaded. */
Test(opencl_quirks, rows_match_by_library) {
    cr_expect_eq(
        tsri_opencl_effects_of_library("/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so"),
        TSRI_OPENCL_OPENS_RENDER_NODES);
    cr_expect_eq(tsri_opencl_effects_of_library("libamdocl64.so"), 0);
}

/* Rows about devices don't match a platform alone. */
Test(opencl_quirks, a_platform_alone) {
    cr_expect_eq(tsri_opencl_effects_of("rusticl", NULL, NULL, NULL),
                 TSRI_OPENCL_NEEDS_RUSTICL_ENABLE);
}

Test(opencl_quirks, each_row_says_why_and_where_it_was_seen) {
    for (size_t i = 0; i < tsri_opencl_n_quirks; i++) {
        const tsri_opencl_quirk *q = &tsri_opencl_quirks[i];
        cr_expect(q->effects && q->seen && *q->seen && q->why && *q->why, "row %zu", i);
        cr_expect(q->platform || q->vendor || q->device || q->driver, "row %zu matches all", i);
    }
}
