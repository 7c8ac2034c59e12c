/* A driver that is pocl until it dies: an ICD that loads the real driver and ends the process, or
 * never returns, where it is told to.
 *
 * PLANTED_PATH   the real driver's library
 * PLANTED        WHERE:HOW, several with ',' between
 *                WHERE: load, platforms, devices, context, build, launch
 *                HOW, for platforms and devices: none (it has none)
 *                HOW: abort, segv, kill, exit, hang, slow (it takes 5 s more), starved (the same, with a
 *                tenth of a core), spin (it computes without end), or interrupt (this process gets
 *                SIGINT and a build fails, as LLVM's do then: its own handler removes its files);
 *                after "once-" only the first time, which PLANTED_LOG remembers
 * PLANTED_NAME   its platform's name (default: the real one's)
 * PLANTED_DEVICE_NAME  the name of its devices (the same)
 * PLANTED_LOG    a file that gets a line for each place that is reached */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef void *(CL_API_CALL *get_fn)(const char *);

static struct _cl_icd_dispatch real;
static get_fn real_get;

static void note(const char *where) {
    const char *path = getenv("PLANTED_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (!log)
        return;
    fprintf(log, "%s\n", where);
    fclose(log);
}

static int noted(const char *where) {
    const char *path = getenv("PLANTED_LOG");
    FILE *log = path ? fopen(path, "r") : NULL;
    char line[64];
    int n = 0;
    while (log && fgets(line, sizeof line, log))
        n += !strncmp(line, where, strlen(where));
    if (log)
        fclose(log);
    return n;
}

__attribute__((no_sanitize("undefined"))) static void die(const char *how) {
    volatile int *volatile nowhere = NULL;
    fprintf(stderr, "planted: the last words\n");
    if (!strncmp(how, "abort", 5))
        abort();
    if (!strncmp(how, "segv", 4))
        *nowhere = 1;
    if (!strncmp(how, "kill", 4))
        kill(getpid(), SIGKILL);
    if (!strncmp(how, "exit", 4))
        _exit(1);
    while (!strncmp(how, "hang", 4))
        sleep(1000);
    for (volatile unsigned turns = 0; !strncmp(how, "spin", 4);)
        turns++;
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void starve(void) {
    for (int i = 0; i < 50; i++) {
        const double begun = now(CLOCK_THREAD_CPUTIME_ID);
        while (now(CLOCK_THREAD_CPUTIME_ID) - begun < 0.01) {
        }
        usleep(90000);
    }
}

/* Does what PLANTED says for this place; gives whether the call there fails. */
static int reach(const char *where) {
    const size_t n = strlen(where);
    int fails = 0;
    note(where);
    for (const char *at = getenv("PLANTED"); at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, where, n) != 0 || at[n] != ':')
            continue;
        const char *how = at + n + 1;
        const int once = !strncmp(how, "once-", 5);
        if (once && noted(where) != 1)
            continue;
        how += once ? 5 : 0;
        if (!strncmp(how, "slow", 4)) /* a signal does not interrupt a compiler */
            for (unsigned left = 5; left;)
                left = sleep(left);
        else if (!strncmp(how, "starved", 7))
            starve();
        else if (!strncmp(how, "interrupt", 9))
            fails = kill(getpid(), SIGINT) == 0;
        else if (!strncmp(how, "none", 4))
            fails = 1;
        else
            die(how);
    }
    return fails;
}

static cl_int CL_API_CALL my_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint n,
                                            cl_device_id *devices, cl_uint *count) {
    if (reach("devices"))
        return CL_DEVICE_NOT_FOUND;
    return real.clGetDeviceIDs(platform, type, n, devices, count);
}

static cl_int give(const char *name, size_t size, void *value, size_t *needed) {
    if (value && size <= strlen(name))
        return CL_INVALID_VALUE;
    if (value)
        strcpy(value, name);
    if (needed)
        *needed = strlen(name) + 1;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL my_clGetPlatformInfo(cl_platform_id platform, cl_platform_info which,
                                               size_t size, void *value, size_t *needed) {
    const char *name = getenv("PLANTED_NAME");
    return name && which == CL_PLATFORM_NAME
               ? give(name, size, value, needed)
               : real.clGetPlatformInfo(platform, which, size, value, needed);
}

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id device, cl_device_info which, size_t size,
                                             void *value, size_t *needed) {
    const char *name = getenv("PLANTED_DEVICE_NAME");
    return name && which == CL_DEVICE_NAME
               ? give(name, size, value, needed)
               : real.clGetDeviceInfo(device, which, size, value, needed);
}

static cl_context CL_API_CALL
my_clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                   void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                   void *data, cl_int *code) {
    reach("context");
    return real.clCreateContext(properties, n, devices, notify, data, code);
}

static cl_int CL_API_CALL my_clBuildProgram(cl_program program, cl_uint n,
                                            const cl_device_id *devices, const char *options,
                                            void(CL_CALLBACK *notify)(cl_program, void *),
                                            void *data) {
    const int fails = reach("build");
    return real.clBuildProgram(program, n, devices, fails ? "-no-such-option" : options, notify,
                               data);
}

static cl_int CL_API_CALL my_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint axes, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint n, const cl_event *waits,
                                                    cl_event *event) {
    reach("launch");
    return real.clEnqueueNDRangeKernel(queue, kernel, axes, offset, global, local, n, waits, event);
}

/* Changes the real driver's table, to which all its objects point. */
static void plant(cl_platform_id platform) {
    struct _cl_icd_dispatch *table = *(struct _cl_icd_dispatch **)platform;
    const unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE),
                        begin = (unsigned long)table & ~(page - 1),
                        end = (unsigned long)(table + 1);
    if (table->clBuildProgram == my_clBuildProgram)
        return;
    real = *table;
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) != 0)
        return;
    table->clGetDeviceIDs = my_clGetDeviceIDs;
    table->clGetPlatformInfo = my_clGetPlatformInfo;
    table->clGetDeviceInfo = my_clGetDeviceInfo;
    table->clCreateContext = my_clCreateContext;
    table->clBuildProgram = my_clBuildProgram;
    table->clEnqueueNDRangeKernel = my_clEnqueueNDRangeKernel;
}

static cl_int CL_API_CALL my_clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *platforms,
                                                    cl_uint *count) {
    cl_platform_id first = NULL;
    clIcdGetPlatformIDsKHR_fn get = NULL;
    *(void **)&get = real_get("clIcdGetPlatformIDsKHR");
    if (reach("platforms"))
        return CL_PLATFORM_NOT_FOUND_KHR;
    if (get(1, &first, NULL) == CL_SUCCESS && first)
        plant(first);
    return get(n, platforms, count);
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    clIcdGetPlatformIDsKHR_fn mine = my_clIcdGetPlatformIDsKHR;
    return !strcmp(name, "clIcdGetPlatformIDsKHR") ? *(void **)&mine : real_get(name);
}

__attribute__((constructor)) static void load(void) {
    const char *path = getenv("PLANTED_PATH");
    reach("load");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library)
        *(void **)&real_get = dlsym(library, "clGetExtensionFunctionAddress");
}
