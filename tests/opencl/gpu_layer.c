/* An OpenCL layer that makes every device a small GPU: the least local memory and work-group that
 * GPUs report, and no extensions. So a GPU's kernels can be built and run where there is no GPU. As by
 * drivers over CUDA, a launch of more than 65,535 work-groups along its second or third axis is refused.
 *
 * TSR_GPU_PROFILE       a file of tests/opencl/profiles: report what it says
 * TSR_GPU_ONE_PROGRAM   1: but OpenCL 1.2, so that tessera kernels export puts kernels that want a
 *                       newer OpenCL C into the one program of a bundle, too
 * TSR_GPU_LOCAL         bytes of local memory (32768, or the profile's)
 * TSR_GPU_GROUP         largest work-group (64, or the profile's)
 * TSR_GPU_KERNEL_GROUP  largest work-group of a compiled kernel (0: what the driver says)
 * TSR_GPU_DOT           1: the compiler has dot products of bytes (0, or the profile's)
 * TSR_GPU_UNIT          a matrix unit, or several with commas, that kernels can be run for: mma, mfma,
 *                       wmma11, wmma12, dpas8, dpas16 (none, or the profile's). It is emulated. mma_plain: mma,
 *                       and the compiler refuses ldmatrix, so that it takes kernels with UNIT_PLAIN alone
 * TSR_GPU_SUB           work-items of a sub-group (0: there are none). The functions are emulated
 * TSR_GPU_EXTENSIONS    1: the driver's own extensions
 * TSR_GPU_SOURCES       a folder that gets the source of each program: 0.cl, 1.cl, ...
 * TSR_GPU_LAUNCHES      a file that gets a line for each launch: the kernel's name, the work-items of the
 *                       grid and of a work-group along three axes, and 1 where it is not the first
 *                       piece of a long launch; and a line "flush" for each clFlush
 * TSR_GPU_FAULT         CALL CODE: in the helper, named probe, this call fails with the code:
 *                       clCreateContext, clEnqueueNDRangeKernel or clEnqueueReadBuffer. (The loader cuts
 *                       OPENCL_LAYERS behind its first name, so a helper has no second layer)
 * TSR_GPU_DRY           1: large launches of a model are written there and not run; its results are then
 *                       undefined. Self-tests run: they launch few kernels between two transfers */
#include "layer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char profile[16384]; /* its lines, each ended by a 0 byte; empty: there is none */
static size_t profile_size;

static void read_profile(const char *path) {
    FILE *file = fopen(path, "r");
    profile_size = file ? fread(profile, 1, sizeof profile - 1, file) : 0;
    if (!profile_size) {
        fprintf(stderr, "gpu_layer: %s can't be read\n", path);
        exit(1);
    }
    fclose(file);
    for (size_t i = 0; i < profile_size; i++)
        profile[i] = (char)(profile[i] == '\n' ? 0 : profile[i]);
}

/* What the profile says of a name; NULL where there is no profile or no such line. */
static const char *said(const char *name) {
    const size_t n = strlen(name);
    for (const char *line = profile; line < profile + profile_size; line += strlen(line) + 1)
        if (!strncmp(line, name, n) && line[n] == ' ')
            return line + n + 1;
    return NULL;
}

static unsigned long number(const char *text, unsigned long otherwise) {
    return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

static unsigned long setting(const char *name, unsigned long otherwise) {
    return number(getenv(name), otherwise);
}

static cl_int give(const void *data, size_t size, size_t room, void *value, size_t *out) {
    if (value && room < size)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, data, size);
    if (out)
        *out = size;
    return CL_SUCCESS;
}

/* The profile's text or number for a question; CL_INVALID_VALUE where it says nothing. */
static cl_int give_said(cl_device_info what, size_t room, void *value, size_t *size) {
    static const struct {
        cl_device_info what;
        const char *name;
        enum { TEXT, UINT, MIB } kind;
    } lines[] = {{CL_DEVICE_NAME, "device", TEXT},
                 {CL_DEVICE_VENDOR, "vendor", TEXT},
                 {CL_DEVICE_VERSION, "version", TEXT},
                 {CL_DEVICE_OPENCL_C_VERSION, "c_version", TEXT},
                 {CL_DEVICE_EXTENSIONS, "extensions", TEXT},
                 {CL_DEVICE_MAX_COMPUTE_UNITS, "units", UINT},
                 {CL_DEVICE_MAX_CLOCK_FREQUENCY, "clock_mhz", UINT},
                 {CL_DEVICE_HOST_UNIFIED_MEMORY, "unified", UINT},
                 {CL_DEVICE_GLOBAL_MEM_SIZE, "memory_mib", MIB},
                 {CL_DEVICE_MAX_MEM_ALLOC_SIZE, "largest_buffer_mib", MIB}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *text = lines[i].what == what ? said(lines[i].name) : NULL;
        const cl_uint word = (cl_uint)number(text, 0);
        const cl_ulong bytes = (cl_ulong)number(text, 0) << 20;
        if (!text)
            continue;
        if (what == CL_DEVICE_VERSION && setting("TSR_GPU_ONE_PROGRAM", 0))
            text = "OpenCL 1.2";
        return lines[i].kind == TEXT   ? give(text, strlen(text) + 1, room, value, size)
               : lines[i].kind == UINT ? give(&word, sizeof word, room, value, size)
                                       : give(&bytes, sizeof bytes, room, value, size);
    }
    return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room,
                                             void *value, size_t *size) {
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_ulong local = setting("TSR_GPU_LOCAL", number(said("local_memory"), 32768));
    const size_t group = setting("TSR_GPU_GROUP", number(said("work_group"), 64));
    switch (what) {
    case CL_DEVICE_TYPE:
        return give(&type, sizeof type, room, value, size);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return give(&local, sizeof local, room, value, size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return give(&group, sizeof group, room, value, size);
    case CL_DEVICE_EXTENSIONS:
        if (!*profile && !setting("TSR_GPU_EXTENSIONS", 0)) {
            char extensions[128];
            snprintf(extensions, sizeof extensions, "cl_khr_byte_addressable_store%s%s",
                     setting("TSR_GPU_DOT", 0) ? " cl_khr_integer_dot_product" : "",
                     setting("TSR_GPU_SUB", 0) ? " cl_khr_subgroups" : "");
            return give(extensions, strlen(extensions) + 1, room, value, size);
        }
        break;
    case CL_DEVICE_VENDOR: /* the matrix units are tried on their vendors' devices */
        if (!*profile && getenv("TSR_GPU_UNIT"))
            return give("AMD, Intel, NVIDIA", sizeof "AMD, Intel, NVIDIA", room, value, size);
        break;
    case 0x4108: /* CL_DEVICE_SUB_GROUP_SIZES_INTEL: Intel's have a usual one, and larger ones up to 32 */
        if (*profile && strstr(said("extensions"), "cl_intel_required_subgroup_size")) {
            size_t sizes[8], n = 0;
            for (size_t sub = number(said("sub_group"), 32); sub <= 32; sub *= 2)
                sizes[n++] = sub;
            return give(sizes, n * sizeof *sizes, room, value, size);
        }
        break;
    default:
        break;
    }
    if (*profile && give_said(what, room, value, size) == CL_SUCCESS)
        return CL_SUCCESS;
    return next->clGetDeviceInfo(device, what, room, value, size);
}

static cl_int CL_API_CALL my_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                      cl_kernel_work_group_info what, size_t room,
                                                      void *value, size_t *size) {
    const size_t group = setting("TSR_GPU_KERNEL_GROUP", 0);
    if (group && what == CL_KERNEL_WORK_GROUP_SIZE)
        return give(&group, sizeof group, room, value, size);
    return next->clGetKernelWorkGroupInfo(kernel, device, what, room, value, size);
}

static void keep_source(cl_uint n, const char **texts, const size_t *sizes) {
    static int number;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.cl", getenv("TSR_GPU_SOURCES"), number++);
    FILE *file = fopen(path, "w");
    for (cl_uint i = 0; file && i < n; i++)
        fwrite(texts[i], 1, sizes && sizes[i] ? sizes[i] : strlen(texts[i]), file);
    if (file)
        fclose(file);
}

/* Whether a probe for a matrix unit that the device does not have is in the source. */
static bool lacks_unit(const char *source, const char *units) {
    static const char *const known[][2] = {{"UNIT_MMA", "mma"},       {"UNIT_MFMA", "mfma"},
                                           {"UNIT_WMMA11", "wmma11"}, {"UNIT_WMMA12", "wmma12"},
                                           {"UNIT_DPAS8", "dpas8"},   {"UNIT_DPAS16", "dpas16"}};
    char line[64], list[256], unit[64], plain[64];
    snprintf(list, sizeof list, ",%s,", units);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        snprintf(line, sizeof line, "#define %s 1\n", known[i][0]);
        snprintf(unit, sizeof unit, ",%s,", known[i][1]);
        snprintf(plain, sizeof plain, ",%s_plain,", known[i][1]);
        const bool has =
            strstr(list, unit) || (strstr(list, plain) && strstr(source, "#define UNIT_PLAIN 1\n"));
        if (strstr(source, line) && !has)
            return true;
    }
    return false;
}

/* A compiler with dot products of bytes has the function that the extension defines; one for a matrix
 * unit lets units/unit.clh emulate it. */
static cl_program CL_API_CALL my_clCreateProgramWithSource(cl_context context, cl_uint n,
                                                           const char **texts, const size_t *sizes,
                                                           cl_int *code) {
    static const char dot[] =
        "#undef cl_khr_integer_dot_product\n"
        "#define cl_khr_integer_dot_product 1\n"
        "#define layer_product(a, b, j) ((int)(char)((a) >> 8 * (j)) * (int)(char)((b) >> 8 * "
        "(j)))\n"
        "#define dot_4x8packed_ss_int(a, b) (layer_product(a, b, 0) + layer_product(a, b, 1) + "
        "layer_product(a, b, 2) + layer_product(a, b, 3))\n";
    static const char emulated[] = "#define TSR_EMULATED_UNITS\n";
    char sub_groups[64] = "";
    const char *units = getenv("TSR_GPU_UNIT") ? getenv("TSR_GPU_UNIT") : said("unit");
    const bool with_dot = setting("TSR_GPU_DOT", number(said("dot"), 0)),
               with_units = n == 1 && units && *units && !lacks_unit(texts[0], units);
    if (setting("TSR_GPU_SUB", 0))
        snprintf(sub_groups, sizeof sub_groups, "#define TSR_EMULATED_SUB_GROUPS %lu\n",
                 setting("TSR_GPU_SUB", 0));
    const char *all[4] = {with_dot ? dot : "", with_units ? emulated : "", sub_groups, texts[0]};
    const size_t lengths[4] = {strlen(all[0]), strlen(all[1]), strlen(all[2]),
                               sizes && sizes[0] ? sizes[0] : strlen(texts[0])};
    if (getenv("TSR_GPU_SOURCES"))
        keep_source(n, texts, sizes);
    if (n != 1)
        return next->clCreateProgramWithSource(context, n, texts, sizes, code);
    return next->clCreateProgramWithSource(context, 4, all, lengths, code);
}

static FILE *launches;
static unsigned since_transfer; /* launches */

/* Work-items of the largest launch that TSR_GPU_DRY always runs: argmax's among them, so that the
 * model's tokens are in its vocabulary. */
enum { LAUNCHES_OF_A_TEST = 3, SMALL = 4096 };

static cl_int CL_API_CALL my_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool wait,
                                                  size_t offset, size_t size, const void *from,
                                                  cl_uint waits, const cl_event *events,
                                                  cl_event *event) {
    since_transfer = 0;
    return next->clEnqueueWriteBuffer(queue, to, wait, offset, size, from, waits, events, event);
}

/* The code with which TSR_GPU_FAULT lets a call fail; CL_SUCCESS: it does not. */
static cl_int fault_of(const char *call) {
    const char *fault = getenv("TSR_GPU_FAULT");
    const size_t n = strlen(call);
    return fault && !strncmp(fault, call, n) && fault[n] == ' ' &&
                   !strcmp(program_invocation_short_name, "probe")
               ? (cl_int)strtol(fault + n, NULL, 10)
               : CL_SUCCESS;
}

static cl_context CL_API_CALL
my_clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                   void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                   void *data, cl_int *code) {
    const cl_int fault = fault_of("clCreateContext");
    if (!fault)
        return next->clCreateContext(properties, n, devices, notify, data, code);
    if (code)
        *code = fault;
    return NULL;
}

static cl_int CL_API_CALL my_clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool wait,
                                                 size_t offset, size_t size, void *to,
                                                 cl_uint waits, const cl_event *events,
                                                 cl_event *event) {
    const cl_int fault = fault_of("clEnqueueReadBuffer");
    return fault ? fault
                 : next->clEnqueueReadBuffer(queue, from, wait, offset, size, to, waits, events,
                                             event);
}

static bool has_too_many_groups(cl_uint axes, const size_t *global, const size_t *local) {
    for (cl_uint i = 1; local && i < axes; i++)
        if (global[i] / local[i] > 65535)
            return true;
    return false;
}

/* Writes a line for the launch; false: TSR_GPU_DRY says that it is not run. */
static bool note_launch(cl_kernel kernel, cl_uint axes, const size_t *offset, const size_t *global,
                        const size_t *local) {
    char name[256] = "";
    next->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    fputs(name, launches);
    for (cl_uint i = 0; i < 6; i++) {
        const size_t *of = i < 3 ? global : local;
        fprintf(launches, " %zu", of && i % 3 < axes ? of[i % 3] : 1);
    }
    bool moved = false;
    for (cl_uint i = 0; offset && i < axes; i++)
        moved = moved || offset[i];
    fprintf(launches, " %d\n", moved);
    since_transfer += !moved;
    size_t items = 1;
    for (cl_uint i = 0; i < axes; i++)
        items *= global[i];
    return !setting("TSR_GPU_DRY", 0) || since_transfer <= LAUNCHES_OF_A_TEST ||
           (!moved && items <= SMALL);
}

static cl_int CL_API_CALL my_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint axes, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint waits, const cl_event *events,
                                                    cl_event *event) {
    const cl_int fault = fault_of("clEnqueueNDRangeKernel");
    if (fault)
        return fault;
    if (has_too_many_groups(axes, global, local))
        return CL_INVALID_GLOBAL_WORK_SIZE;
    if (launches && !note_launch(kernel, axes, offset, global, local))
        return next->clEnqueueMarkerWithWaitList(queue, waits, events, event);
    return next->clEnqueueNDRangeKernel(queue, kernel, axes, offset, global, local, waits, events,
                                        event);
}

static cl_int CL_API_CALL my_clFlush(cl_command_queue queue) {
    fputs("flush\n", launches);
    return next->clFlush(queue);
}

static void layer_begin(void) {
    if (getenv("TSR_GPU_LAUNCHES") && (launches = fopen(getenv("TSR_GPU_LAUNCHES"), "a"))) {
        mine.clEnqueueWriteBuffer = my_clEnqueueWriteBuffer;
        mine.clFlush = my_clFlush;
    }
    if (getenv("TSR_GPU_PROFILE"))
        read_profile(getenv("TSR_GPU_PROFILE"));
    mine.clCreateContext = my_clCreateContext;
    mine.clEnqueueReadBuffer = my_clEnqueueReadBuffer;
    mine.clEnqueueNDRangeKernel = my_clEnqueueNDRangeKernel;
    mine.clGetDeviceInfo = my_clGetDeviceInfo;
    mine.clCreateProgramWithSource = my_clCreateProgramWithSource;
    mine.clGetKernelWorkGroupInfo = my_clGetKernelWorkGroupInfo;
}
