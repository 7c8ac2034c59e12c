/* An OpenCL layer below which every kernel takes longer than it does, by the same share. It reads the
 * time of each launch from the launch's event once the device is done with it, and so waits for
 * nothing: commands follow each other as they do without it. What the launches are to take longer is
 * a debt, which kernels of the layer's own pay: one work-item that counts, in the same queue, at least
 * QUANTUM at a time, so that their launches cost little.
 *
 * TSR_DRAG          percent that each launch takes longer (0: times are read, and nothing is added).
 *                   From 43 on, tessera bench finds that the clock of events is wrong
 * TSR_DRAG_REPORT   a line on stderr says at exit what launches took, and what was added
 *
 * Launches in command buffers pass it by: set TESSERA_COMMAND_BUFFERS=0. */
#include "layer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACES = 8, PENDING = 4096 };
#define QUANTUM 250e-6 /* seconds */
#define LONGEST 0.1    /* seconds of one kernel: some devices end longer ones */
#define GUESS 4e-9     /* seconds of a step of the counting kernel, before it ever ran */

static const char text[] = "__kernel void count(__global uint *out, uint n) {\n"
                           "    uint x = n;\n"
                           "    for (uint i = 0; i < n; i++)\n"
                           "        x = x * 1664525u + 1013904223u;\n"
                           "    *out = x;\n"
                           "}\n";

/* A launch whose time is not known yet. */
typedef struct launch {
    cl_event event;
    cl_uint steps; /* of the layer's own; 0: it is the program's */
    double paid;   /* seconds that were taken off the debt for it */
} launch;

/* What belongs to a context: the kernel keeps that alive, so its address is not used again. */
typedef struct place {
    cl_context context;
    cl_kernel count;
    cl_mem out;
    double debt, step; /* seconds; step: of the counting kernel */
    launch pending[PENDING];
    size_t first, n;
} place;

static place places[PLACES];
static double seconds[2]; /* of launches that are done: the program's, and the layer's own */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double share(void) {
    const char *percent = getenv("TSR_DRAG");
    return percent ? atof(percent) / 100 : 0;
}

static bool make_kernel(cl_command_queue queue, place *p) {
    const char *source = text;
    cl_device_id device = NULL;
    cl_int code = next->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    cl_program program = code == CL_SUCCESS
                             ? next->clCreateProgramWithSource(p->context, 1, &source, NULL, &code)
                             : NULL;
    if (!program || next->clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return false;
    p->count = next->clCreateKernel(program, "count", &code);
    next->clReleaseProgram(program);
    p->out = next->clCreateBuffer(p->context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &code);
    return p->count && p->out &&
           next->clSetKernelArg(p->count, 0, sizeof p->out, &p->out) == CL_SUCCESS;
}

/* The queue's place; NULL: there is none, and its launches take what they take. */
static place *place_of(cl_command_queue queue) {
    cl_context context = NULL;
    if (next->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) !=
        CL_SUCCESS)
        return NULL;
    for (int i = 0; i < PLACES; i++) {
        place *p = &places[i];
        if (p->context == context)
            return p->count ? p : NULL;
        if (p->context)
            continue;
        p->context = context;
        p->step = GUESS;
        if (make_kernel(queue, p))
            return p;
        p->count = NULL;
        return NULL;
    }
    return NULL;
}

/* Takes over the event. */
static void keep(place *p, cl_event event, cl_uint steps, double paid) {
    if (p->n == PENDING) {
        next->clReleaseEvent(event);
        return;
    }
    p->pending[(p->first + p->n++) % PENDING] = (launch){event, steps, paid};
}

static double seconds_of(cl_event event) {
    cl_ulong begun = 0, ended = 0;
    if (next->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begun, &begun,
                                      NULL) != CL_SUCCESS ||
        next->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof ended, &ended,
                                      NULL) != CL_SUCCESS)
        return 0;
    return ended > begun ? (double)(ended - begun) * 1e-9 : 0;
}

/* Adds to the debt what the launches that are done by now took. */
static void read_times(place *p) {
    for (; p->n; p->first = (p->first + 1) % PENDING, p->n--) {
        const launch *l = &p->pending[p->first];
        cl_int status = CL_QUEUED;
        if (next->clGetEventInfo(l->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                 &status, NULL) == CL_SUCCESS &&
            status > CL_COMPLETE)
            return;
        const double took = status == CL_COMPLETE ? seconds_of(l->event) : 0;
        seconds[l->steps > 0] += took;
        if (!l->steps)
            p->debt += took * share();
        else if (took > 0) {
            p->debt += l->paid - took;
            p->step = took / l->steps;
        }
        next->clReleaseEvent(l->event);
    }
}

static void pay(cl_command_queue queue, place *p) {
    static const size_t one = 1;
    const double due = p->debt < LONGEST ? p->debt : LONGEST;
    const cl_uint steps = (cl_uint)(due / p->step) + 1;
    cl_event event = NULL;
    if (due < QUANTUM || next->clSetKernelArg(p->count, 1, sizeof steps, &steps) != CL_SUCCESS ||
        next->clEnqueueNDRangeKernel(queue, p->count, 1, NULL, &one, &one, 0, NULL, &event) !=
            CL_SUCCESS)
        return;
    p->debt -= due;
    keep(p, event, steps, due);
}

static cl_int CL_API_CALL my_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint dimensions, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint n, const cl_event *before,
                                                    cl_event *event) {
    cl_event own = NULL;
    const cl_int code = next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                     local, n, before, &own);
    if (code != CL_SUCCESS)
        return code;
    if (event) {
        *event = own;
        next->clRetainEvent(own);
    }
    pthread_mutex_lock(&lock);
    place *p = place_of(queue);
    if (p) {
        keep(p, own, 0, 0);
        read_times(p);
        pay(queue, p);
    } else
        next->clReleaseEvent(own);
    pthread_mutex_unlock(&lock);
    return code;
}

/* Events have times where the queue measures them. */
static cl_command_queue CL_API_CALL my_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                            cl_command_queue_properties properties,
                                                            cl_int *code) {
    return next->clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE,
                                      code);
}

static void report(void) {
    fprintf(stderr, "drag_layer: launches took %.3f s, %.3f s were added\n", seconds[0],
            seconds[1]);
}

static void layer_begin(void) {
    if (getenv("TSR_DRAG_REPORT"))
        atexit(report);
    mine.clCreateCommandQueue = my_clCreateCommandQueue;
    mine.clEnqueueNDRangeKernel = my_clEnqueueNDRangeKernel;
}
