/* An OpenCL layer that counts calls and makes one of them fail; loaded by the ICD loader through
 * OPENCL_LAYERS. The test finds its functions in the loaded library, so a loader that ignored it
 * can't pass. With COUNT_LAYER_BINARY_ONLY its devices can't compile, as FPGAs can't: sources are
 * refused with -3. With that or COUNT_LAYER_REPORT a line on stderr tells at exit what was built. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long count_calls(const char *name);
void count_fail(const char *name, long nth, int code);
long count_alive(void);

static const struct _cl_icd_dispatch *next;
static struct _cl_icd_dispatch mine;

#define CALLS(X)                                                                                   \
    X(clCreateSubDevices)                                                                          \
    X(clCreateContext)                                                                             \
    X(clCreateCommandQueue)                                                                        \
    X(clCreateBuffer)                                                                              \
    X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clBuildProgram) X(clCreateKernel)  \
        X(clSetKernelArg) X(clEnqueueNDRangeKernel) X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) \
            X(clFlush) X(clFinish) X(clWaitForEvents)
#define ENUM(f) N_##f,
#define NAME(f) #f,
enum { CALLS(ENUM) N_CALLS };
static const char *const names[] = {CALLS(NAME)};
static long counts[N_CALLS], fail_at[N_CALLS], alive;
static int fail_code[N_CALLS];

static int find(const char *name) {
    for (int i = 0; i < N_CALLS; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

long count_calls(const char *name) {
    const int call = find(name);
    return call < 0 ? -1 : counts[call];
}

/* The nth call from now fails; 0: none. */
void count_fail(const char *name, long nth, int code) {
    const int call = find(name);
    if (call < 0)
        return;
    fail_at[call] = nth ? counts[call] + nth : 0;
    fail_code[call] = code;
}

/* Contexts, queues, buffers, programs and kernels made and not released. */
long count_alive(void) {
    return alive;
}

static bool binary_only(void) {
    return getenv("COUNT_LAYER_BINARY_ONLY") != NULL;
}

static cl_int fault(int call) {
    return ++counts[call] == fail_at[call] ? fail_code[call] : CL_SUCCESS;
}

#define PASS(f, args, pass)                 \
    static cl_int CL_API_CALL my_##f args { \
        const cl_int code = fault(N_##f);   \
        return code ? code : next->f pass;  \
    }
/* A wait that fails has waited: what was in flight reads memory that the test is about to free. */
#define PASS_WAIT(f, args, pass)            \
    static cl_int CL_API_CALL my_##f args { \
        const cl_int code = fault(N_##f);   \
        const cl_int own = next->f pass;    \
        return code ? code : own;           \
    }
#define PASS_OBJECT(type, f, args, pass)          \
    static type CL_API_CALL my_##f args {         \
        const cl_int code = fault(N_##f);         \
        type object = code ? NULL : next->f pass; \
        if (code && e)                            \
            *e = code;                            \
        alive += object != NULL;                  \
        return object;                            \
    }
#define RELEASE(f, type)                            \
    static cl_int CL_API_CALL my_##f(type object) { \
        alive--;                                    \
        return next->f(object);                     \
    }
#define RETAIN(f, type)                             \
    static cl_int CL_API_CALL my_##f(type object) { \
        alive++;                                    \
        return next->f(object);                     \
    }

PASS(clCreateSubDevices,
     (cl_device_id d, const cl_device_partition_property *p, cl_uint n, cl_device_id *o, cl_uint *c),
     (d, p, n, o, c))
PASS(clBuildProgram,
     (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
      void(CL_CALLBACK *f)(cl_program, void *), void *u),
     (p, n, d, o, f, u))
PASS(clSetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *v), (k, i, n, v))
PASS(clEnqueueNDRangeKernel,
     (cl_command_queue q, cl_kernel k, cl_uint n, const size_t *o, const size_t *g, const size_t *l,
      cl_uint w, const cl_event *ws, cl_event *v),
     (q, k, n, o, g, l, w, ws, v))
PASS(clEnqueueReadBuffer,
     (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, void *p, cl_uint w,
      const cl_event *ws, cl_event *v),
     (q, m, b, o, n, p, w, ws, v))
PASS(clEnqueueWriteBuffer,
     (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, const void *p, cl_uint w,
      const cl_event *ws, cl_event *v),
     (q, m, b, o, n, p, w, ws, v))
PASS(clFlush, (cl_command_queue q), (q))
PASS_WAIT(clFinish, (cl_command_queue q), (q))
PASS_WAIT(clWaitForEvents, (cl_uint n, const cl_event *events), (n, events))
PASS_OBJECT(cl_context, clCreateContext,
            (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
             void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *e),
            (p, n, d, f, u, e))
PASS_OBJECT(cl_command_queue, clCreateCommandQueue,
            (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *e), (c, d, p, e))
PASS_OBJECT(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *h, cl_int *e),
            (c, f, n, h, e))
static cl_program create_from_source(cl_context c, cl_uint n, const char **s, const size_t *z,
                                     cl_int *e) {
    if (!binary_only())
        return next->clCreateProgramWithSource(c, n, s, z, e);
    if (e)
        *e = CL_COMPILER_NOT_AVAILABLE;
    return NULL;
}

static cl_program CL_API_CALL my_clCreateProgramWithSource(cl_context c, cl_uint n, const char **s,
                                                           const size_t *z, cl_int *e) {
    const cl_int code = fault(N_clCreateProgramWithSource);
    cl_program program = code ? NULL : create_from_source(c, n, s, z, e);
    if (code && e)
        *e = code;
    alive += program != NULL;
    return program;
}
PASS_OBJECT(cl_program, clCreateProgramWithBinary,
            (cl_context c, cl_uint n, const cl_device_id *d, const size_t *z,
             const unsigned char **b, cl_int *s, cl_int *e),
            (c, n, d, z, b, s, e))
PASS_OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *name, cl_int *e), (p, name, e))
RELEASE(clReleaseContext, cl_context)
RELEASE(clReleaseCommandQueue, cl_command_queue)
RELEASE(clReleaseMemObject, cl_mem)
RELEASE(clReleaseProgram, cl_program)
RELEASE(clReleaseKernel, cl_kernel)
RETAIN(clRetainMemObject, cl_mem)

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t n,
                                             void *value, size_t *size) {
    const cl_int code = next->clGetDeviceInfo(d, what, n, value, size);
    if (code == CL_SUCCESS && value && what == CL_DEVICE_COMPILER_AVAILABLE && binary_only())
        *(cl_bool *)value = CL_FALSE;
    return code;
}

static void report(void) {
    fprintf(stderr, "count_layer: %ld sources, %ld binaries\n", counts[N_clCreateProgramWithSource],
            counts[N_clCreateProgramWithBinary]);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t n, void *value,
                                               size_t *size) {
    if (what != CL_LAYER_API_VERSION || (value && n < sizeof(cl_layer_api_version)))
        return CL_INVALID_VALUE;
    if (value)
        *(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
    if (size)
        *size = sizeof(cl_layer_api_version);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const struct _cl_icd_dispatch *target,
                                            cl_uint *out_entries,
                                            const struct _cl_icd_dispatch **out) {
    const size_t known = entries * sizeof(void *); /* a loader may be older than this header */
    if (!target || !out || !out_entries)
        return CL_INVALID_VALUE;
    memcpy(&mine, target, known < sizeof mine ? known : sizeof mine);
    next = target;
#define WRAP(f) mine.f = my_##f;
    CALLS(WRAP)
    WRAP(clGetDeviceInfo)
    WRAP(clReleaseContext)
    WRAP(clReleaseCommandQueue)
    WRAP(clReleaseMemObject)
    WRAP(clReleaseProgram)
    WRAP(clReleaseKernel)
    WRAP(clRetainMemObject)
    if (binary_only() || getenv("COUNT_LAYER_REPORT"))
        atexit(report);
    *out_entries = entries;
    *out = &mine;
    return CL_SUCCESS;
}
