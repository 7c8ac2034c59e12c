/* backends/opencl/driver/helper/probe.c - libexec/tessera/probe: a process of its own for calls
 * that may crash. It is spawned, not forked: drivers hang in a forked child.
 *
 * probe PLATFORM DEVICE OPTIONS < SOURCE builds a program that may crash the compiler or the
 * process, and runs its kernel `probe` once. It prints "pass" where out[0] becomes 0x600d, else a
 * sentence (0x510e: the instructions are right, but slower than others); a crash is an answer, too.
 * Exit code 2: it could not try them, and the sentence says why; another time it may.
 *
 * probe --build reads lines "PLATFORM DEVICE OPTIONS BYTES", the words separated by tabs, each with the
 * source of a chain's program behind it. It builds the program and runs its kernels once, on nothing,
 * so that the driver has them in its cache when the engine asks, and answers with a line: "pass", or a
 * sentence. Before the first line it starts the compiler, and it ends when there is none for a while.
 *
 * probe --driver N loads the drivers that the OpenCL loader sees, and builds and runs a first
 * kernel on each device except the first N. It prints lines of words separated by tabs: "stage
 * WHAT" before each step that may crash, "device PLATFORM VERSION NAME", "fine" when that device is
 * done, "library PATH" for each library that was loaded, and "end". Calls that merely fail are
 * ignored: only crashes count.
 */
#include "backends/opencl/driver/helper/not_tried.h"
#include "backends/opencl/driver/tiles.h"

#include <CL/cl.h>

#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE = 1 << 16,
    CHAIN_STATE = 64,
    PLATFORMS = 32,
    DEVICES = 32,
    WORDS = 1024,
    RIGHT = 0x600d,
    SLOW = 0x510e,
    HEAD = 1024,
    IDLE_MS = 10000
};

static int answer(const char *sentence) {
    puts(sentence);
    fflush(stdout);
    return strcmp(sentence, "pass") != 0;
}

static int could_not_try(const char *sentence) {
    answer(sentence);
    return TSRI_OPENCL_NOT_TRIED;
}

static int is(const char *name, const char *wanted) {
    return !strcmp(name, wanted);
}

/* A device's name as driver/facts.c has it: some drivers pad it with blanks. "": it has no name. */
static const char *name_of(cl_device_id id, char *room, size_t size) {
    if (clGetDeviceInfo(id, CL_DEVICE_NAME, size, room, NULL) != CL_SUCCESS)
        return "";
    for (size_t n = strlen(room); n && room[n - 1] == ' '; n--)
        room[n - 1] = 0;
    return room + strspn(room, " ");
}

static cl_device_id find(const char *platform, const char *device) {
    cl_platform_id platforms[PLATFORMS];
    cl_device_id devices[DEVICES];
    cl_uint n_platforms = 0, n = 0;
    char name[512];
    if (clGetPlatformIDs(PLATFORMS, platforms, &n_platforms) != CL_SUCCESS)
        return NULL;
    for (cl_uint p = 0; p < n_platforms && p < PLATFORMS; p++) {
        if (clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof name, name, NULL) !=
                CL_SUCCESS ||
            !is(name, platform) ||
            clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES, devices, &n) != CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < n && d < DEVICES; d++)
            if (is(name_of(devices[d], name, sizeof name), device))
                return devices[d];
    }
    return NULL;
}

static cl_program build_program(cl_context context, cl_device_id id, const char *source,
                                const char *options) {
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    return program && clBuildProgram(program, 1, &id, options, NULL, NULL) == CL_SUCCESS ? program
                                                                                         : NULL;
}

static cl_kernel build(cl_context context, cl_device_id id, const char *source,
                       const char *options) {
    cl_program program = build_program(context, id, source, options);
    return program ? clCreateKernel(program, "probe", NULL) : NULL;
}

typedef enum outcome { RAN, FAILED, NOT_ENQUEUED } outcome;

/* Runs the kernel; *result gets what it leaves in out[0]. */
static outcome run(cl_context context, cl_device_id id, cl_kernel kernel, cl_int *result) {
    cl_int out[WORDS] = {0};
    size_t group[3] = {1};
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
    cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof out, out, NULL);
    /* A kernel that fixes its work-group is run by one of them. */
    if (clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group,
                                 NULL) != CL_SUCCESS ||
        !group[0])
        group[0] = 1;
    if (!queue || !mem || clSetKernelArg(kernel, 0, sizeof mem, &mem) != CL_SUCCESS ||
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, group, group, 0, NULL, NULL) != CL_SUCCESS)
        return NOT_ENQUEUED;
    if (clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL) != CL_SUCCESS)
        return FAILED;
    clFinish(queue);
    *result = out[0];
    return RAN;
}

/* ---- a driver ---- */

static void say(const char *kind, const char *words) {
    printf("%s\t%s\n", kind, words);
    fflush(stdout);
}

static void say_device(const char *platform, const char *version, const char *name) {
    printf("device\t%s\t%s\t%s\n", platform, version, name);
    fflush(stdout);
}

static int say_library(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    if (info->dlpi_name && info->dlpi_name[0] == '/')
        say("library", info->dlpi_name);
    return 0;
}

static void try_device(cl_device_id id) {
    static const char source[] = "__kernel void probe(__global int *out) { out[0] = 0x600d; }";
    cl_bool compiles = CL_FALSE;
    cl_int result = 0;
    say("stage", "when a context was made");
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    if (!context || clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiles, &compiles,
                                    NULL) != CL_SUCCESS)
        return;
    say("stage", "when it built a first kernel");
    cl_kernel kernel = compiles ? build(context, id, source, "") : NULL;
    say("stage", "when it ran a first kernel");
    if (kernel)
        (void)run(context, id, kernel, &result);
}

static void try_platform(cl_platform_id platform, unsigned skip, unsigned *seen) {
    char name[512] = "", version[512] = "", device[512] = "";
    cl_device_id devices[DEVICES];
    cl_uint n = 0;
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, NULL) !=
            CL_SUCCESS)
        return;
    say("stage", "when it listed its devices");
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &n) != CL_SUCCESS)
        return;
    dl_iterate_phdr(say_library, NULL); /* before kernels are built and loaded */
    for (cl_uint i = 0; i < n && i < DEVICES; i++) {
        if ((*seen)++ < skip)
            continue;
        say("stage", "when it described a device");
        say_device(name, version, name_of(devices[i], device, sizeof device));
        try_device(devices[i]);
        puts("fine");
    }
}

/* Ends without the drivers' exit handlers, which are not what is tried here. */
static void try_drivers(unsigned skip) {
    cl_platform_id platforms[PLATFORMS];
    cl_uint n = 0;
    unsigned seen = 0;
    say("stage", "when it was loaded");
    if (clGetPlatformIDs(PLATFORMS, platforms, &n) != CL_SUCCESS)
        n = 0;
    for (cl_uint i = 0; i < n && i < PLATFORMS; i++)
        try_platform(platforms[i], skip, &seen);
    if (!seen)
        dl_iterate_phdr(say_library, NULL);
    puts("end");
    fflush(stdout);
    _exit(0);
}

/* ---- a chain ---- */

static int set_argument(cl_kernel kernel, cl_uint i, size_t size, const void *value) {
    return clSetKernelArg(kernel, i, size, value) == CL_SUCCESS;
}

/* Runs the two kernels of cl/chain/workers.cl as launch/chain.c does: the first without records, so
 * that it has nothing to do, the second on a buffer of our own. */
static int run_chain(cl_context context, cl_device_id id, cl_program program) {
    static cl_int zeros[CHAIN_STATE];
    const size_t one[3] = {1, 1, 1};
    const cl_int none = 0, workers = 1;
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
    cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, NULL);
    cl_kernel chain = clCreateKernel(program, "tsr_chain", NULL);
    cl_kernel address = clCreateKernel(program, "tsr_address", NULL);
    return queue && mem && chain && address && set_argument(chain, 0, sizeof mem, &mem) &&
           set_argument(chain, 1, sizeof mem, &mem) && set_argument(chain, 2, sizeof none, &none) &&
           set_argument(chain, 3, sizeof workers, &workers) &&
           set_argument(chain, 4, sizeof mem, &mem) && set_argument(address, 0, sizeof mem, &mem) &&
           set_argument(address, 1, sizeof mem, &mem) &&
           set_argument(address, 2, sizeof none, &none) &&
           clEnqueueNDRangeKernel(queue, chain, 3, NULL, one, one, 0, NULL, NULL) == CL_SUCCESS &&
           clEnqueueNDRangeKernel(queue, address, 3, NULL, one, one, 0, NULL, NULL) == CL_SUCCESS &&
           clFinish(queue) == CL_SUCCESS;
}

/* Reads n bytes, or fewer where the input ends. */
static size_t read_bytes(char *to, size_t n) {
    size_t got = 0;
    ssize_t more = 1;
    while (got < n && more > 0) {
        more = read(STDIN_FILENO, to + got, n - got);
        got += more > 0 ? (size_t)more : 0;
    }
    return got;
}

/* Reads a line without its end; 0 where the input ends before, or the line is too long. */
static int read_head(char *head) {
    size_t n = 0;
    while (n < HEAD && read_bytes(head + n, 1) == 1 && head[n] != '\n')
        n++;
    if (n == HEAD || head[n] != '\n')
        return 0;
    head[n] = 0;
    return 1;
}

/* A device with its context: what a compiler has loaded for a context is not loaded again. */
typedef struct place {
    char platform[WORDS], device[WORDS];
    cl_device_id id;
    cl_context context;
} place;

static int go_to(place *at, const char *platform, const char *device) {
    if (at->context && is(at->platform, platform) && is(at->device, device))
        return 1;
    at->id = find(platform, device);
    at->context = at->id ? clCreateContext(NULL, 1, &at->id, NULL, NULL, NULL) : NULL;
    snprintf(at->platform, sizeof at->platform, "%s", platform);
    snprintf(at->device, sizeof at->device, "%s", device);
    return at->context != NULL;
}

/* Starts the compiler of the first device that there is, by a program that no cache has. */
static void start_compiler(place *at) {
    cl_platform_id platform;
    cl_device_id id;
    char name[WORDS], device[WORDS], source[256];
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL) != CL_SUCCESS ||
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        !go_to(at, name, name_of(id, device, sizeof device)))
        return;
    snprintf(source, sizeof source,
             "__kernel void first(__global int *out) { out[0] = %d; } /* %ld */", (int)getpid(),
             (long)time(NULL));
    cl_program program = build_program(at->context, at->id, source, "");
    if (program)
        clReleaseProgram(program);
}

static int build_chain(place *at, char *head, const char *source) {
    char *platform = strtok(head, "\t"), *device = strtok(NULL, "\t"),
         *options = strtok(NULL, "\t");
    if (!options || !go_to(at, platform, device))
        return answer("the builder does not find the device");
    const cl_program program = build_program(at->context, at->id, source, options);
    const int done = program && run_chain(at->context, at->id, program);
    if (program)
        clReleaseProgram(program);
    return answer(done ? "pass" : "the chain's program could not be built or run");
}

/* Whether something can be read, or the input has ended, within so many milliseconds. */
static int waits(int ms) {
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    return poll(&in, 1, ms) > 0;
}

static int build_chains(void) {
    static place at;
    char head[HEAD + 1];
    if (!waits(0))
        start_compiler(&at);
    while (waits(IDLE_MS) && read_head(head)) {
        char *last = strrchr(head, '\t');
        const size_t n = last ? strtoul(last + 1, NULL, 10) : 0;
        char *source = n ? malloc(n + 1) : NULL;
        if (!source || read_bytes(source, n) < n)
            return answer("the builder was given no source");
        source[n] = *last = 0;
        build_chain(&at, head, source);
        free(source);
    }
    return 0;
}

/* All of stdin, in new memory, with a 0 behind it; NULL where memory runs out. */
static char *read_source(void) {
    char *source = NULL;
    size_t n = 0, got;
    do {
        char *more = realloc(source, n + PIECE + 1);
        if (!more) {
            free(source);
            return NULL;
        }
        source = more;
        got = fread(source + n, 1, PIECE, stdin);
        n += got;
    } while (got == PIECE);
    source[n] = 0;
    return source;
}

/* ---- instructions ---- */

static int try_instructions(cl_context context, cl_device_id id, const char *source,
                            const char *options) {
    tsri_opencl_allow_tiles(); /* kernels that need them are tried where this process may use them */
    const cl_kernel kernel = build(context, id, source, options);
    if (!kernel)
        return answer("the compiler refuses the instructions");
    cl_int out = 0;
    switch (run(context, id, kernel, &out)) {
    case NOT_ENQUEUED:
        return could_not_try("the kernel that tries the instructions can't be launched");
    case FAILED:
        return answer("the device fails when it runs the instructions");
    case RAN:
        break;
    }
    return answer(out == RIGHT ? "pass"
                  : out == SLOW
                      ? "its instructions are no faster than those of f32 on this processor"
                      : "the instructions give wrong results");
}

/* The helper leaves no core file, and ends when its parent does. */
static void keep_small(void) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int main(int argc, char **argv) {
    keep_small();
    if (argc == 3 && !strcmp(argv[1], "--driver"))
        try_drivers((unsigned)strtoul(argv[2], NULL, 10));
    if (argc == 2 && !strcmp(argv[1], "--build"))
        return build_chains();
    if (argc != 4)
        return answer("the probe needs a platform, a device and build options");
    char *source = read_source();
    if (!source)
        return could_not_try("the probe is out of memory");
    const cl_device_id id = find(argv[1], argv[2]);
    const cl_context context = id ? clCreateContext(NULL, 1, &id, NULL, NULL, NULL) : NULL;
    const int code = !id        ? could_not_try("the probe does not find the device")
                     : !context ? could_not_try("the probe can't create a context")
                                : try_instructions(context, id, source, argv[3]);
    free(source);
    return code;
}
