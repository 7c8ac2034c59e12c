/* backends/opencl/driver/facts.c - what a device reports about itself, and what follows from it. */
#include "backends/opencl/driver/facts.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Queries of newer versions and of extensions, which older headers do not define. */
enum {
    QUERY_SUB_GROUP_SIZES_INTEL = 0x4108,
    QUERY_UNIFIED_MEMORY = 0x1035,
    QUERY_WARP_SIZE_NV = 0x4003
};

/* A text of the platform, or else of the device, in new memory; NULL where there is none. */
static char *text_of(cl_platform_id platform, cl_device_id device, cl_uint what) {
    size_t size = 0;
    char *text = NULL;
    cl_int code = platform ? clGetPlatformInfo(platform, what, 0, NULL, &size)
                           : clGetDeviceInfo(device, what, 0, NULL, &size);
    if (code != CL_SUCCESS)
        size = 0;
    if (tsri_base_new(size + 1, 1, &text) != TSR_OK)
        return NULL;
    if (size)
        code = platform ? clGetPlatformInfo(platform, what, size, text, NULL)
                        : clGetDeviceInfo(device, what, size, text, NULL);
    if (code != CL_SUCCESS)
        text[0] = 0;
    return text;
}

char *tsri_opencl_platform_text(cl_platform_id platform, cl_platform_info what) {
    return text_of(platform, NULL, what);
}

char *tsri_opencl_device_text(cl_device_id id, cl_device_info what) {
    char *text = text_of(NULL, id, what);
    if (!text)
        return NULL;
    /* Some drivers pad names with blanks. */
    const size_t lead = strspn(text, " ");
    memmove(text, text + lead, strlen(text + lead) + 1);
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = 0;
    return text;
}

bool tsri_opencl_listed(const char *list, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
            return true;
    return false;
}

static uint64_t ask_uint(cl_device_id id, cl_device_info what) {
    cl_uint value = 0;
    return clGetDeviceInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static uint64_t ask_ulong(cl_device_id id, cl_device_info what) {
    cl_ulong value = 0;
    return clGetDeviceInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static uint64_t ask_size(cl_device_id id, cl_device_info what) {
    size_t value = 0;
    return clGetDeviceInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

/* "OpenCL 3.0 PoCL HSTR: ..." becomes "OpenCL 3.0": keeps the first `words` words. */
static void keep_words(char *text, int words) {
    for (char *c = text; *c; c++)
        if (*c == ' ' && --words == 0)
            *c = 0;
}

static int by_size(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void read_sub_groups(tsri_opencl_found *found, tsr_facts *facts) {
    size_t sizes[8] = {0}, bytes = 0;
    if (tsri_opencl_listed(found->extensions, "cl_intel_required_subgroup_size") &&
        clGetDeviceInfo(found->id, QUERY_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) ==
            CL_SUCCESS) {
        const size_t n = bytes / sizeof *sizes < 8 ? bytes / sizeof *sizes : 8;
        qsort(sizes, n, sizeof *sizes, by_size);
        for (size_t i = 0; i < n; i++)
            facts->subgroup_sizes[i] = (uint32_t)sizes[i];
        found->facts.sub_sizes = n > 0;
    } else if (tsri_opencl_listed(found->extensions, "cl_khr_subgroups") ||
               (found->version >= 201 && ask_uint(found->id, CL_DEVICE_MAX_NUM_SUB_GROUPS) > 0)) {
        /* Without a kernel there is no core query of the sub-group size; NVIDIA has its own. */
        const uint64_t warp = tsri_opencl_listed(found->extensions, "cl_nv_device_attribute_query")
                                  ? ask_uint(found->id, QUERY_WARP_SIZE_NV)
                                  : 0;
        if (warp)
            facts->subgroup_sizes[0] = (uint32_t)warp;
    }
}

static bool has_sub_groups(const tsri_opencl_found *found) {
    if (found->effects & TSRI_OPENCL_NO_SUB_GROUPS)
        return false;
    return tsri_opencl_listed(found->extensions, "cl_khr_subgroups") ||
           tsri_opencl_listed(found->extensions, "cl_intel_subgroups") ||
           (found->version >= 201 && ask_uint(found->id, CL_DEVICE_MAX_NUM_SUB_GROUPS) > 0);
}

/* A GPU with memory of its own is the faster one of two in nearly every machine. */
static void rank_gpu(const tsri_opencl_found *found, tsr_facts *facts) {
    facts->score = 300;
    facts->reason = "a GPU";
    if (found->effects & TSRI_OPENCL_SECOND_DRIVER) {
        facts->score = 280;
        facts->reason = "a GPU, by a driver that is not its vendor's: its vendor's is preferred";
    } else if (facts->unified_memory) {
        facts->score = 290;
        facts->reason =
            "a GPU that shares the processor's memory: one with memory of its own is preferred";
    }
}

/* Decides whether the device is usable and how good a default it is, and writes the sentence about
 * it. */
static void judge(tsri_opencl_found *found) {
    tsri_opencl_facts *own = &found->facts;
    tsr_facts *facts = &own->common;
    cl_bool available = CL_FALSE;
    if (clGetDeviceInfo(found->id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) !=
        CL_SUCCESS)
        available = CL_FALSE;
    facts->score = -1;
    if (!available)
        facts->reason = "the driver says that the device isn't available";
    else if (found->version < 101)
        facts->reason = "the kernels need OpenCL 1.1 or newer";
    else if (!facts->memory || !facts->max_allocation || !facts->max_work_group)
        facts->reason = "the driver reports no memory size or no work-group size";
    else
        facts->usable = 1;
    if (!facts->usable)
        return;
    facts->needs_bundle = !facts->compiler;
    if (facts->needs_bundle) {
        facts->score = 0;
        facts->reason = "its driver builds no kernels: usable by name with a bundle (--bundle)";
    } else if (facts->emulator) {
        facts->score = 0;
        facts->reason = "an emulator: usable by name, never the default";
    } else if (facts->type == TSR_DEVICE_CPU && (found->effects & TSRI_OPENCL_RASTERISER)) {
        facts->score = 50;
        facts->reason =
            "a CPU behind a graphics driver: slow, and its compiler takes seconds for a kernel";
    } else if (facts->type == TSR_DEVICE_GPU) {
        rank_gpu(found, facts);
    } else if (facts->type == TSR_DEVICE_CPU) {
        const bool one = found->effects & TSRI_OPENCL_ONE_THREAD;
        facts->score = one ? 190 : 200;
        facts->reason = one ? "a CPU, one thread" : "a CPU";
    } else {
        facts->score = 100;
        facts->reason = "an accelerator";
    }
}

static void read_type(tsri_opencl_found *found, tsr_facts *facts) {
    cl_device_type type = 0;
    if (clGetDeviceInfo(found->id, CL_DEVICE_TYPE, sizeof type, &type, NULL) != CL_SUCCESS)
        type = 0;
    facts->emulator = (found->effects & TSRI_OPENCL_EMULATOR) != 0;
    if (type & CL_DEVICE_TYPE_CPU) /* a simulator claims every type */
        facts->type = TSR_DEVICE_CPU;
    else if (type & CL_DEVICE_TYPE_GPU)
        facts->type = TSR_DEVICE_GPU;
    else if (type & CL_DEVICE_TYPE_ACCELERATOR)
        facts->type = TSR_DEVICE_ACCELERATOR;
    else
        facts->type = TSR_DEVICE_OTHER;
}

static void read_sizes(tsri_opencl_found *found, tsr_facts *facts) {
    const cl_device_id id = found->id;
    facts->compute_units = (uint32_t)ask_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    facts->clock_mhz = (uint32_t)ask_uint(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    facts->memory = ask_ulong(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    facts->max_allocation = ask_ulong(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    facts->local_memory = ask_ulong(id, CL_DEVICE_LOCAL_MEM_SIZE);
    const uint64_t group = ask_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    facts->max_work_group = group < UINT32_MAX ? (uint32_t)group : UINT32_MAX;
    size_t items[16] = {0};
    const bool known =
        clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL) == CL_SUCCESS;
    for (int i = 0; i < 3; i++)
        found->max_items[i] = known && items[i] ? items[i] : 1;
    /* At least 64 bytes, because kernels read wide vectors at a tensor's first element. */
    facts->base_alignment = 64;
    const uint64_t bits = ask_uint(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
    while ((uint64_t)facts->base_alignment * 8 < bits && facts->base_alignment < 65536)
        facts->base_alignment *= 2;
}

static void read_features(tsri_opencl_found *found, tsr_facts *facts) {
    const char *extensions = found->extensions;
    cl_bool compiler = CL_FALSE, unified = CL_FALSE;
    if (clGetDeviceInfo(found->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler,
                        NULL) != CL_SUCCESS)
        compiler = CL_FALSE;
    if (clGetDeviceInfo(found->id, QUERY_UNIFIED_MEMORY, sizeof unified, &unified, NULL) !=
        CL_SUCCESS)
        unified = CL_FALSE;
    facts->compiler = compiler == CL_TRUE;
    facts->unified_memory = unified == CL_TRUE || facts->type == TSR_DEVICE_CPU;
    facts->fp16 = tsri_opencl_listed(extensions, "cl_khr_fp16");
    facts->fp64 = tsri_opencl_listed(extensions, "cl_khr_fp64") ||
                  tsri_opencl_listed(extensions, "cl_amd_fp64");
    facts->bf16 = tsri_opencl_listed(extensions, "cl_intel_bfloat16") ||
                  tsri_opencl_listed(extensions, "cl_intel_bfloat16_conversions");
    facts->int_dot = tsri_opencl_listed(extensions, "cl_khr_integer_dot_product");
    facts->command_buffers = tsri_opencl_listed(extensions, "cl_khr_command_buffer");
    read_sub_groups(found, facts);
}

tsr_status tsri_opencl_read_facts(cl_platform_id platform, cl_device_id id,
                                  tsri_opencl_found *found) {
    tsri_opencl_facts *own = &found->facts;
    tsr_facts *facts = &own->common;
    *found = (tsri_opencl_found){.platform = platform, .id = id};
    facts->struct_size = sizeof *facts;
    char *version, *c_version;
    facts->platform = tsri_opencl_platform_text(platform, CL_PLATFORM_NAME);
    facts->name = tsri_opencl_device_text(id, CL_DEVICE_NAME);
    facts->vendor = tsri_opencl_device_text(id, CL_DEVICE_VENDOR);
    facts->driver = tsri_opencl_device_text(id, CL_DRIVER_VERSION);
    facts->version = version = tsri_opencl_device_text(id, CL_DEVICE_VERSION);
    facts->c_version = c_version = tsri_opencl_device_text(id, CL_DEVICE_OPENCL_C_VERSION);
    found->platform_version = tsri_opencl_platform_text(platform, CL_PLATFORM_VERSION);
    found->extensions = tsri_opencl_device_text(id, CL_DEVICE_EXTENSIONS);
    if (!facts->platform || !facts->name || !facts->vendor || !facts->driver || !version ||
        !c_version || !found->platform_version || !found->extensions) {
        tsri_opencl_free_found(found);
        return TSR_E_HOST_MEMORY;
    }
    int major = 0, minor = 0;
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) == 2)
        found->version = major * 100 + minor;
    keep_words(version, 2);
    keep_words(c_version, 3);
    found->vendor_id = ask_uint(id, CL_DEVICE_VENDOR_ID);
    found->effects =
        tsri_opencl_effects_of(facts->platform, facts->vendor, facts->name, facts->driver);
    cl_device_fp_config single = 0;
    found->exact_division = clGetDeviceInfo(found->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single,
                                            &single, NULL) == CL_SUCCESS &&
                            (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT);
    read_type(found, facts);
    read_sizes(found, facts);
    read_features(found, facts);
    own->cpu = facts->type == TSR_DEVICE_CPU && !facts->emulator;
    own->vector16 = own->cpu && !(found->effects & TSRI_OPENCL_NO_VECTOR16);
    own->most_rounds = found->effects & TSRI_OPENCL_SHORT_LOOPS ? UINT16_MAX : 0;
    own->extension_fp16 = facts->fp16;
    own->sub_groups = has_sub_groups(found);
    own->native_float_width = (uint32_t)ask_uint(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    judge(found);
    return TSR_OK;
}

void tsri_opencl_free_found(tsri_opencl_found *found) {
    tsr_facts *facts = &found->facts.common;
    free((char *)facts->platform);
    free((char *)facts->name);
    free((char *)facts->vendor);
    free((char *)facts->driver);
    free((char *)facts->version);
    free((char *)facts->c_version);
    free(found->platform_version);
    free(found->died);
    free(found->extensions);
    *found = (tsri_opencl_found){0};
}
