/* backends/opencl/driver/quirks.h - drivers that the engine treats differently from what they
 * report: one table (quirks.c), with what each row does, why, and where it was seen.
 *
 * No other file asks for the name of a platform, vendor, device or driver. A driver without a row is
 * treated by its type, its limits and its extensions. */
#ifndef TSRI_OPENCL_DRIVER_QUIRKS_H
#define TSRI_OPENCL_DRIVER_QUIRKS_H

#include <stddef.h>
#include <stdint.h>

typedef enum tsri_opencl_effect {
    TSRI_OPENCL_EMULATOR = 1 << 0,    /* usable by name, never the default */
    TSRI_OPENCL_RASTERISER = 1 << 1,  /* ranks below other CPUs */
    TSRI_OPENCL_ONE_THREAD = 1 << 2,  /* ranks just below other CPUs */
    TSRI_OPENCL_NO_BINARIES = 1 << 3, /* our cache keeps no binaries, only marks */
    TSRI_OPENCL_CHAINS = 1 << 4,      /* several steps of a plan are one launch (launch/chain.h) */
    /* Fills are single writes, buffers are not touched when they are made, live until their device
     * closes, and lie in the driver's own memory. */
    TSRI_OPENCL_WATCHES_MEMORY = 1 << 5,
    TSRI_OPENCL_NO_VECTOR16 = 1 << 6,  /* variants with float16 tiles don't fit */
    TSRI_OPENCL_SHORT_LOOPS = 1 << 7,  /* a work-item's loops end after UINT16_MAX rounds in all */
    TSRI_OPENCL_CACHE_FOLDER = 1 << 8, /* left out where its cache folder can't be written */
    TSRI_OPENCL_IS_LOADER = 1 << 9,    /* it replaces the loader: vendor files play no part */
    /* Why it may have no device: POCL_DEVICES is set; RUSTICL_ENABLE is not. */
    TSRI_OPENCL_READS_POCL_DEVICES = 1 << 10,
    TSRI_OPENCL_NEEDS_RUSTICL_ENABLE = 1 << 11,
    /* The same: ROCR_VISIBLE_DEVICES or GPU_DEVICE_ORDINAL is set; /dev/kfd can't be opened; none of
     * /dev/dri/renderD* can, and then the driver does not even list its platform. */
    TSRI_OPENCL_READS_ROCM_DEVICES = 1 << 12,
    TSRI_OPENCL_OPENS_KFD = 1 << 13,
    TSRI_OPENCL_OPENS_RENDER_NODES = 1 << 14,
    TSRI_OPENCL_NO_SUB_GROUPS = 1 << 15, /* variants with sub-group functions don't fit */
    TSRI_OPENCL_SECOND_DRIVER = 1 << 16  /* its GPUs rank below those of other drivers */
} tsri_opencl_effect;

typedef struct tsri_opencl_quirk {
    /* Patterns with * and ?, in which letters' case does not matter; NULL: any. */
    const char *platform, *vendor, *device, *driver;
    uint32_t effects;
    const char *library;    /* a pattern of the library's name in the vendor file; NULL: unknown */
    const char *seen, *why; /* the driver and its version; the reason or its source */
} tsri_opencl_quirk;

extern const tsri_opencl_quirk tsri_opencl_quirks[];
extern const size_t tsri_opencl_n_quirks;

/* The effects of all rows that match. vendor, device, driver: NULL where only the platform is known;
 * rows that ask for one of them then don't match. */
uint32_t tsri_opencl_effects_of(const char *platform, const char *vendor, const char *device,
                                const char *driver);
/* What is known of a driver that is not loaded yet, by its library: the effects of the rows that name
 * it. */
uint32_t tsri_opencl_effects_of_library(const char *library);

#endif
