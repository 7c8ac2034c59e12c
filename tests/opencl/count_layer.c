/* An OpenCL layer that counts calls and makes one of them fail; the ICD loader loads it through
 * OPENCL_LAYERS. A test finds its functions in the loaded library, so it can't pass with a loader
 * that ignores the layer. A command is controlled by the environment:
 *
 * - COUNT_LAYER_FAULT="CALL N CODE before|after": the Nth CALL fails with CODE, either instead of
 *   being made (before) or after it was made
 * - COUNT_LAYER_IN=NAME: all this only in a process of this name (tessera)
 * - COUNT_LAYER_LOG=FILE: gets a line "CALL N" where it failed, and at exit "calls CALL COUNT" for
 *   each call
 * - COUNT_LAYER_REPORT: a line on stderr says at exit what was built
 * - COUNT_LAYER_BINARY_ONLY: the same; and devices can't compile, as FPGAs can't: sources are
 *   refused with -3
 * - COUNT_LAYER_NO_SIMULTANEOUS_USE: a command buffer can't be enqueued again before a wait has ended,
 *   and devices say so */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

long count_calls(const char *name);
void count_fail(const char *name, long nth, int code, bool after);
void count_hang(bool on);
long count_alive(void);
bool count_unfinished(void);
long count_early(void);

/* Each call with its parameters and the arguments to pass on. A creator that fails gives NULL and
 * the code. */
#define CALLS(X)                                                                                \
    X(clGetPlatformIDs, (cl_uint n, cl_platform_id * p, cl_uint * out), (n, p, out))            \
    X(clGetPlatformInfo, (cl_platform_id p, cl_platform_info w, size_t n, void *v, size_t *s),  \
      (p, w, n, v, s))                                                                          \
    X(clGetDeviceIDs,                                                                           \
      (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id * d, cl_uint * out),         \
      (p, t, n, d, out))                                                                        \
    X(clCreateSubDevices,                                                                       \
      (cl_device_id d, const cl_device_partition_property *p, cl_uint n, cl_device_id *o,       \
       cl_uint *c),                                                                             \
      (d, p, n, o, c))                                                                          \
    X(clBuildProgram,                                                                           \
      (cl_program p, cl_uint n, const cl_device_id *d, const char *o,                           \
       void(CL_CALLBACK * f)(cl_program, void *), void *u),                                     \
      (p, n, d, o, f, u))                                                                       \
    X(clGetProgramInfo, (cl_program p, cl_program_info w, size_t n, void *v, size_t *s),        \
      (p, w, n, v, s))                                                                          \
    X(clGetProgramBuildInfo,                                                                    \
      (cl_program p, cl_device_id d, cl_program_build_info w, size_t n, void *v, size_t *s),    \
      (p, d, w, n, v, s))                                                                       \
    X(clGetKernelInfo, (cl_kernel k, cl_kernel_info w, size_t n, void *v, size_t *s),           \
      (k, w, n, v, s))                                                                          \
    X(clGetKernelWorkGroupInfo,                                                                 \
      (cl_kernel k, cl_device_id d, cl_kernel_work_group_info w, size_t n, void *v, size_t *s), \
      (k, d, w, n, v, s))                                                                       \
    X(clSetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *v), (k, i, n, v))          \
    X(clGetEventProfilingInfo, (cl_event e, cl_profiling_info w, size_t n, void *v, size_t *s), \
      (e, w, n, v, s))                                                                          \
    X(clFlush, (cl_command_queue q), (q))                                                       \
    X(clReleaseDevice, (cl_device_id d), (d))                                                   \
    X(clReleaseEvent, (cl_event e), (e))                                                        \
    X(clReleaseContext, (cl_context c), (c))                                                    \
    X(clReleaseCommandQueue, (cl_command_queue q), (q))                                         \
    X(clReleaseProgram, (cl_program p), (p))                                                    \
    X(clReleaseKernel, (cl_kernel k), (k))
#define ENQUEUES(X)                                                                           \
    X(clEnqueueNDRangeKernel, CL_FALSE,                                                       \
      (cl_command_queue q, cl_kernel k, cl_uint n, const size_t *o, const size_t *g,          \
       const size_t *l, cl_uint w, const cl_event *ws, cl_event *v),                          \
      (q, k, n, o, g, l, w, ws, v))                                                           \
    X(clEnqueueReadBuffer, b,                                                                 \
      (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, void *p, cl_uint w,       \
       const cl_event *ws, cl_event *v),                                                      \
      (q, m, b, o, n, p, w, ws, v))                                                           \
    X(clEnqueueWriteBuffer, b,                                                                \
      (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, const void *p, cl_uint w, \
       const cl_event *ws, cl_event *v),                                                      \
      (q, m, b, o, n, p, w, ws, v))                                                           \
    X(clEnqueueCopyBuffer, CL_FALSE,                                                          \
      (cl_command_queue q, cl_mem m, cl_mem d, size_t o, size_t p, size_t n, cl_uint w,       \
       const cl_event *ws, cl_event *v),                                                      \
      (q, m, d, o, p, n, w, ws, v))                                                           \
    X(clEnqueueFillBuffer, CL_FALSE,                                                          \
      (cl_command_queue q, cl_mem m, const void *p, size_t z, size_t o, size_t n, cl_uint w,  \
       const cl_event *ws, cl_event *v),                                                      \
      (q, m, p, z, o, n, w, ws, v))                                                           \
    X(clEnqueueMarkerWithWaitList, CL_FALSE,                                                  \
      (cl_command_queue q, cl_uint w, const cl_event *ws, cl_event *v), (q, w, ws, v))
#define CREATORS(X)                                                                              \
    X(cl_context, clCreateContext, clReleaseContext,                                             \
      (const cl_context_properties *p, cl_uint n, const cl_device_id *d,                         \
       void(CL_CALLBACK * f)(const char *, const void *, size_t, void *), void *u, cl_int *e),   \
      (p, n, d, f, u, e))                                                                        \
    X(cl_command_queue, clCreateCommandQueue, clReleaseCommandQueue,                             \
      (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int * e), (c, d, p, e))   \
    X(cl_mem, clCreateBuffer, clReleaseMemObject,                                                \
      (cl_context c, cl_mem_flags f, size_t n, void *h, cl_int *e), (c, f, n, h, e))             \
    X(cl_mem, clCreateSubBuffer, clReleaseMemObject,                                             \
      (cl_mem m, cl_mem_flags f, cl_buffer_create_type t, const void *i, cl_int *e),             \
      (m, f, t, i, e))                                                                           \
    X(cl_program, clCreateProgramWithSource, clReleaseProgram,                                   \
      (cl_context c, cl_uint n, const char **s, const size_t *z, cl_int *e), (c, n, s, z, e))    \
    X(cl_program, clCreateProgramWithBinary, clReleaseProgram,                                   \
      (cl_context c, cl_uint n, const cl_device_id *d, const size_t *z, const unsigned char **b, \
       cl_int *s, cl_int *e),                                                                    \
      (c, n, d, z, b, s, e))                                                                     \
    X(cl_kernel, clCreateKernel, clReleaseKernel, (cl_program p, const char *name, cl_int *e),   \
      (p, name, e))
/* Calls of cl_khr_command_buffer, which the loader does not know: the driver is asked for them. */
#define RECORDS(X)                                                                                 \
    X(clCommandNDRangeKernelKHR,                                                                   \
      (cl_command_buffer_khr b, cl_command_queue q,                                                \
       const cl_ndrange_kernel_command_properties_khr *p, cl_kernel k, cl_uint n, const size_t *o, \
       const size_t *g, const size_t *l, cl_uint w, const cl_sync_point_khr *s,                    \
       cl_sync_point_khr *v, cl_mutable_command_khr *m),                                           \
      (b, q, p, k, n, o, g, l, w, s, v, m))                                                        \
    X(clFinalizeCommandBufferKHR, (cl_command_buffer_khr b), (b))                                  \
    X(clReleaseCommandBufferKHR, (cl_command_buffer_khr b), (b))
/* Calls that have a body of their own here. */
#define OTHERS(X)                                 \
    X(clGetDeviceInfo, )                          \
    X(clGetExtensionFunctionAddressForPlatform, ) \
    X(clGetEventInfo, )                           \
    X(clFinish, ) X(clWaitForEvents, ) X(clRetainMemObject, ) X(clReleaseMemObject, )

#define ENUM(f, ...) N_##f,
#define ENUM_CREATOR(type, f, ...) N_##f,
#define NAME(f, ...) #f,
#define NAME_CREATOR(type, f, ...) #f,
enum {
    CALLS(ENUM) ENQUEUES(ENUM) CREATORS(ENUM_CREATOR) OTHERS(ENUM) RECORDS(ENUM) //
    N_clCreateCommandBufferKHR,
    N_clEnqueueCommandBufferKHR,
    N_CALLS
};
static const char *const names[] = {CALLS(NAME) ENQUEUES(NAME) CREATORS(NAME_CREATOR) OTHERS(NAME)
                                        RECORDS(NAME) "clCreateCommandBufferKHR",
                                    "clEnqueueCommandBufferKHR"};
static atomic_long counts[N_CALLS], alive, early;
static atomic_long fail_at; /* the number of the call `failing` that fails; 0: none */
static atomic_int failing, fail_code, status_code;
static atomic_bool fail_after, unfinished, hanging;

static int find(const char *name) {
    for (int i = 0; i < N_CALLS; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

long count_calls(const char *name) {
    const int call = find(name);
    return call < 0 ? -1 : atomic_load(&counts[call]);
}

/* The nth call from now fails, instead of being made or after it was made; n = 0: none fails. */
void count_fail(const char *name, long nth, int code, bool after) {
    const int call = find(name);
    if (call < 0)
        return;
    atomic_store(&failing, call);
    atomic_store(&fail_code, code);
    atomic_store(&fail_after, after);
    atomic_store(&status_code, 0);
    atomic_store(&fail_at, nth ? counts[call] + nth : 0);
}

/* From now on no wait ends, until this is called with false. */
void count_hang(bool on) {
    atomic_store(&hanging, on);
}

/* The number of contexts, queues, buffers, programs and kernels that were made and not released. */
long count_alive(void) {
    return atomic_load(&alive);
}

/* Whether something was enqueued and not waited for. */
bool count_unfinished(void) {
    return atomic_load(&unfinished);
}

/* The number of buffers that were released while work was unfinished. */
long count_early(void) {
    return atomic_load(&early);
}

static bool binary_only(void) {
    return getenv("COUNT_LAYER_BINARY_ONLY") != NULL;
}

static bool one_use(void) {
    return getenv("COUNT_LAYER_NO_SIMULTANEOUS_USE") != NULL;
}

static void tell(const char *line) {
    const char *path = getenv("COUNT_LAYER_LOG");
    const int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    (void)!write(fd, line, strlen(line));
    close(fd);
}

/* Whether this call fails; *before where it fails without being made. */
static int fault(int call, bool *before) {
    const long n = atomic_fetch_add(&counts[call], 1) + 1;
    const bool fails = n == atomic_load(&fail_at) && call == atomic_load(&failing);
    char line[96];
    *before = fails && !atomic_load(&fail_after);
    if (!fails)
        return CL_SUCCESS;
    snprintf(line, sizeof line, "%s %ld\n", names[call], n);
    tell(line);
    return atomic_load(&fail_code);
}

static void hang(void) {
    while (atomic_load(&hanging))
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

#define CALL(f, args, pass)                              \
    static cl_int CL_API_CALL my_##f args {              \
        bool before;                                     \
        const cl_int code = fault(N_##f, &before);       \
        const cl_int own = before ? code : next->f pass; \
        if (own == CL_SUCCESS)                           \
            atomic_fetch_add(&alive, change_of(#f));     \
        return code ? code : own;                        \
    }
#define ENQUEUE(f, waits, args, pass)                    \
    static cl_int CL_API_CALL my_##f args {              \
        bool before;                                     \
        const cl_int code = fault(N_##f, &before);       \
        const cl_int own = before ? code : next->f pass; \
        if (own == CL_SUCCESS)                           \
            atomic_store(&unfinished, !(waits));         \
        if (own == CL_SUCCESS && code && v && *v) {      \
            next->clReleaseEvent(*v);                    \
            *v = NULL;                                   \
        }                                                \
        return code ? code : own;                        \
    }
#define CREATOR(type, f, release, args, pass)          \
    static type CL_API_CALL my_##f args {              \
        bool before;                                   \
        const cl_int code = fault(N_##f, &before);     \
        type object = before ? NULL : create_##f pass; \
        if (code && object)                            \
            next->release(object);                     \
        if (code && e)                                 \
            *e = code;                                 \
        atomic_fetch_add(&alive, !code && object);     \
        return code ? NULL : object;                   \
    }

/* By how much a call changes the number of objects that are alive. */
static int change_of(const char *name) {
    return !strncmp(name, "clRelease", 9) && strcmp(name, "clReleaseEvent") != 0 &&
                   strcmp(name, "clReleaseDevice") != 0
               ? -1
               : 0;
}

/* Calls the driver's creator; sources are refused where devices can't compile. */
#define OWN(type, f, release, args, pass)                            \
    static type create_##f args {                                    \
        if (N_##f == N_clCreateProgramWithSource && binary_only()) { \
            if (e)                                                   \
                *e = CL_COMPILER_NOT_AVAILABLE;                      \
            return NULL;                                             \
        }                                                            \
        return next->f pass;                                         \
    }

CALLS(CALL)
ENQUEUES(ENQUEUE)
CREATORS(OWN)
CREATORS(CREATOR)

static _Atomic(cl_command_buffer_khr) under_way[8];

static void no_more_under_way(void) {
    for (size_t i = 0; i < sizeof under_way / sizeof *under_way; i++)
        atomic_store(&under_way[i], NULL);
}

/* Notes that a command buffer is under way; false if it is already. */
static bool begin_use(cl_command_buffer_khr buffer) {
    for (size_t i = 0; i < sizeof under_way / sizeof *under_way; i++) {
        cl_command_buffer_khr other = NULL;
        if (atomic_compare_exchange_strong(&under_way[i], &other, buffer))
            return true;
        if (other == buffer)
            return false;
    }
    return false;
}

static cl_int CL_API_CALL my_clFinish(cl_command_queue q) {
    bool before;
    const cl_int code = fault(N_clFinish, &before);
    hang();
    const cl_int own = before ? code : next->clFinish(q);
    if (own == CL_SUCCESS) {
        atomic_store(&unfinished, false);
        no_more_under_way();
    }
    return code ? code : own;
}

/* After a wait that fails, the event reports that its command failed. */
static cl_int CL_API_CALL my_clWaitForEvents(cl_uint n, const cl_event *events) {
    bool before;
    const cl_int code = fault(N_clWaitForEvents, &before);
    hang();
    const cl_int own = before ? code : next->clWaitForEvents(n, events);
    if (own == CL_SUCCESS) {
        atomic_store(&unfinished, false);
        no_more_under_way();
    }
    if (code && !before)
        atomic_store(&status_code, code);
    return code ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : own;
}

static cl_int CL_API_CALL my_clGetEventInfo(cl_event event, cl_event_info what, size_t n,
                                            void *value, size_t *size) {
    bool before;
    const cl_int code = fault(N_clGetEventInfo, &before);
    const cl_int own = before ? code : next->clGetEventInfo(event, what, n, value, size);
    const int status = atomic_exchange(&status_code, 0);
    if (own == CL_SUCCESS && what == CL_EVENT_COMMAND_EXECUTION_STATUS && value && status)
        *(cl_int *)value = status;
    return code ? code : own;
}

static cl_int CL_API_CALL my_clRetainMemObject(cl_mem mem) {
    bool before;
    const cl_int code = fault(N_clRetainMemObject, &before);
    const cl_int own = code ? code : next->clRetainMemObject(mem);
    if (own == CL_SUCCESS)
        atomic_fetch_add(&alive, 1);
    return own;
}

static cl_int CL_API_CALL my_clReleaseMemObject(cl_mem mem) {
    bool before;
    const cl_int code = fault(N_clReleaseMemObject, &before);
    atomic_fetch_add(&early, atomic_load(&unfinished));
    const cl_int own = before ? code : next->clReleaseMemObject(mem);
    if (own == CL_SUCCESS)
        atomic_fetch_sub(&alive, 1);
    return code ? code : own;
}

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t n,
                                             void *value, size_t *size) {
    bool before;
    const cl_int code = fault(N_clGetDeviceInfo, &before);
    const cl_int own = before ? code : next->clGetDeviceInfo(d, what, n, value, size);
    if (own == CL_SUCCESS && value && what == CL_DEVICE_COMPILER_AVAILABLE && binary_only())
        *(cl_bool *)value = CL_FALSE;
    if (own == CL_SUCCESS && value && what == CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR &&
        one_use())
        *(cl_bitfield *)value &= ~(cl_bitfield)CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR;
    return code ? code : own;
}

#define RECORD(f, args, pass)                               \
    static f##_fn driver_##f;                               \
    static cl_int CL_API_CALL my_##f args {                 \
        bool before;                                        \
        const cl_int code = fault(N_##f, &before);          \
        const cl_int own = before ? code : driver_##f pass; \
        if (own == CL_SUCCESS)                              \
            atomic_fetch_add(&alive, change_of(#f));        \
        return code ? code : own;                           \
    }
RECORDS(RECORD)

static clCreateCommandBufferKHR_fn driver_clCreateCommandBufferKHR;
static clEnqueueCommandBufferKHR_fn driver_clEnqueueCommandBufferKHR;

static cl_command_buffer_khr CL_API_CALL
my_clCreateCommandBufferKHR(cl_uint n, const cl_command_queue *queues,
                            const cl_command_buffer_properties_khr *properties, cl_int *error) {
    bool before;
    const cl_int code = fault(N_clCreateCommandBufferKHR, &before);
    cl_command_buffer_khr buffer =
        before ? NULL : driver_clCreateCommandBufferKHR(n, queues, properties, error);
    if (code && buffer)
        driver_clReleaseCommandBufferKHR(buffer);
    if (code && error)
        *error = code;
    atomic_fetch_add(&alive, !code && buffer);
    return code ? NULL : buffer;
}

static cl_int CL_API_CALL my_clEnqueueCommandBufferKHR(cl_uint n, cl_command_queue *queues,
                                                       cl_command_buffer_khr buffer, cl_uint waits,
                                                       const cl_event *events, cl_event *event) {
    bool before;
    const cl_int code = fault(N_clEnqueueCommandBufferKHR, &before);
    if (one_use() && !begin_use(buffer))
        return CL_INVALID_OPERATION;
    const cl_int own =
        before ? code : driver_clEnqueueCommandBufferKHR(n, queues, buffer, waits, events, event);
    if (own == CL_SUCCESS)
        atomic_store(&unfinished, true);
    if (own == CL_SUCCESS && code && event && *event) {
        next->clReleaseEvent(*event);
        *event = NULL;
    }
    return code ? code : own;
}

/* The driver's function, or ours with the driver's behind it. A failure hides the function. */
static void *CL_API_CALL my_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                     const char *name) {
    bool before;
    const cl_int code = fault(N_clGetExtensionFunctionAddressForPlatform, &before);
    void *found = code ? NULL : next->clGetExtensionFunctionAddressForPlatform(platform, name);
#define TAKE(f, ...)                                     \
    if (found && !strcmp(name, #f)) {                    \
        memcpy(&driver_##f, &found, sizeof found);       \
        memcpy(&found, &(f##_fn){my_##f}, sizeof found); \
        return found;                                    \
    }
    RECORDS(TAKE)
    TAKE(clCreateCommandBufferKHR, )
    TAKE(clEnqueueCommandBufferKHR, )
    return found;
}

static void report(void) {
    char line[96];
    if (binary_only() || getenv("COUNT_LAYER_REPORT"))
        fprintf(stderr, "count_layer: %ld sources, %ld binaries\n",
                counts[N_clCreateProgramWithSource], counts[N_clCreateProgramWithBinary]);
    for (int i = 0; i < N_CALLS; i++) {
        snprintf(line, sizeof line, "calls %s %ld\n", names[i], atomic_load(&counts[i]));
        tell(line);
    }
}

/* Applies the environment's settings, if they are for this process. */
static void begin(void) {
    const char *wanted = getenv("COUNT_LAYER_FAULT"), *in = getenv("COUNT_LAYER_IN");
    char name[64], when[16];
    long n;
    int code;
    if (in && strcmp(in, program_invocation_short_name) != 0)
        return;
    if (binary_only() || getenv("COUNT_LAYER_REPORT") || getenv("COUNT_LAYER_LOG"))
        atexit(report);
    if (wanted && sscanf(wanted, "%63s %ld %d %15s", name, &n, &code, when) == 4)
        count_fail(name, n, code, !strcmp(when, "after"));
}

static void layer_begin(void) {
#define WRAP(f, ...) mine.f = my_##f;
#define WRAP_CREATOR(type, f, ...) mine.f = my_##f;
    CALLS(WRAP)
    ENQUEUES(WRAP)
    CREATORS(WRAP_CREATOR)
    OTHERS(WRAP)
    begin();
}
