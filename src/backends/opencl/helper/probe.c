/* libexec/tessera/probe PLATFORM DEVICE OPTIONS < SOURCE: builds a program that may crash the
 * compiler or the process, and runs its kernel `probe` once. It prints "pass" where out[0] becomes
 * 0x600d, else one sentence; a crash says as much. A process of its own, and no fork: drivers hang
 * in a child. */
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, PLATFORMS = 32, DEVICES = 32, WORDS = 1024, RIGHT = 0x600d };

static int answer(const char *sentence) {
    puts(sentence);
    fflush(stdout);
    return strcmp(sentence, "pass") != 0;
}

static int is(const char *name, const char *wanted) {
    return !strcmp(name, wanted);
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
            if (clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof name, name, NULL) ==
                    CL_SUCCESS &&
                is(name, device))
                return devices[d];
    }
    return NULL;
}

static cl_kernel build(cl_context context, cl_device_id id, const char *source,
                       const char *options) {
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (!program || clBuildProgram(program, 1, &id, options, NULL, NULL) != CL_SUCCESS)
        return NULL;
    return clCreateKernel(program, "probe", NULL);
}

/* What the kernel leaves in out[0]; 0 where a call fails. */
static cl_int run(cl_context context, cl_device_id id, cl_kernel kernel) {
    cl_int out[WORDS] = {0};
    const size_t one = 1;
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
    cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof out, out, NULL);
    if (!queue || !mem || clSetKernelArg(kernel, 0, sizeof mem, &mem) != CL_SUCCESS ||
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL) != CL_SUCCESS ||
        clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL) != CL_SUCCESS)
        return 0;
    clFinish(queue);
    return out[0];
}

int main(int argc, char **argv) {
    static char source[MOST];
    if (argc != 4)
        return answer("the probe takes a platform, a device and build options");
    source[fread(source, 1, sizeof source - 1, stdin)] = 0;
    cl_device_id id = find(argv[1], argv[2]);
    if (!id)
        return answer("the probe does not find the device");
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    if (!context)
        return answer("the probe gets no context");
    cl_kernel kernel = build(context, id, source, argv[3]);
    if (!kernel)
        return answer("the compiler refuses the instructions");
    return answer(run(context, id, kernel) == RIGHT ? "pass"
                                                    : "the instructions give wrong results");
}
