/* backends/opencl/driver/facts.h - what a driver reports about a device. */
#ifndef TSRI_OPENCL_DRIVER_FACTS_H
#define TSRI_OPENCL_DRIVER_FACTS_H

#include "backends/opencl/driver/cl.h" /* CL/cl.h with the version macros set */
#include "backends/opencl/driver/quirks.h"
#include "tessera/backend.h"

#include <stdbool.h>

/* The facts that a variant's `fits` may ask for. */
typedef struct tsri_opencl_facts {
    tsr_facts common;
    bool cpu;      /* CL_DEVICE_TYPE_CPU and not an emulator: wide private vectors pay, local memory
                      and barriers don't */
    bool vector16; /* compiles float16 micro-tiles in reasonable time: CPUs but for quirks */
    bool extension_fp16; /* cl_khr_fp16 is listed */
    bool sub_groups;     /* it has sub-group functions, of some size */
    bool sub_sizes;      /* a kernel can ask for one of common.subgroup_sizes */
    uint32_t native_float_width;
    int64_t most_rounds; /* the driver ends a work-item's loops after so many; 0: it does not */
} tsri_opencl_facts;

/* A device as it was found; the entry owns its strings. */
typedef struct tsri_opencl_found {
    cl_platform_id platform;
    cl_device_id id;
    int version; /* the device's: 102 for OpenCL 1.2 */
    char *platform_version, *extensions;
    char *died; /* how it died when it was tried, which makes it unusable; NULL: it did not */
    uint64_t vendor_id;
    uint32_t effects;    /* of its rows of quirks.h: tsri_opencl_effect */
    bool exact_division; /* it can round division and square root correctly */
    size_t max_items[3];
    tsri_opencl_facts facts; /* owns the strings of `common`: see free_found */
} tsri_opencl_found;

tsr_status tsri_opencl_read_facts(cl_platform_id platform, cl_device_id id,
                                  tsri_opencl_found *found);
void tsri_opencl_free_found(tsri_opencl_found *found);
/* A string of a platform or device, in new memory; "" where the driver has none; NULL when memory
 * is out. */
char *tsri_opencl_platform_text(cl_platform_id platform, cl_platform_info what);
char *tsri_opencl_device_text(cl_device_id id, cl_device_info what);
/* Whether the word is in the space-separated list. */
bool tsri_opencl_listed(const char *list, const char *word);

#endif
