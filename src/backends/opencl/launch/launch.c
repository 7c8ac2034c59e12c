/* backends/opencl/launch/launch.c - binds a kernel once, and enqueues it at the sizes of each
 * run. */
#include "backends/opencl/launch/launch.h"
#include "backends/opencl/device/failure.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

/* A launch that takes much longer than a display's watchdog allows would reset the device. Limits
 * in multiply-adds, where the rate is not measured: the plain variants are slow, the others fast. */
static const uint64_t plain_limit = UINT64_C(1) << 26, fast_limit = UINT64_C(1) << 33;
/* On GPUs a kernel's first launches are short, and longer ones follow from how long those took: at
 * most 100 ms, by half of it, because the rate is not the same at all sizes. */
static const uint64_t first_pace = UINT64_C(1) << 20;
enum { PIECE_NS = 50 * 1000 * 1000, FASTER = 16 };

enum { GROUP_CPU = 16, GROUP_OTHER = 64 };

/* Chooses a work-group that the kernel and the device take; drivers abort at a local size or local
 * memory that they can't serve. */
static tsr_status settle_group(tsri_opencl_launch *launch) {
    const tsr_facts *facts = &launch->dev->facts.common;
    const cl_device_id id = launch->dev->id;
    size_t most = 0, required[3] = {0};
    cl_ulong local = 0;
    size_t *group = launch->group;
    if (clGetKernelWorkGroupInfo(launch->kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                 NULL) != CL_SUCCESS ||
        !most)
        most = 1;
    if (most > facts->max_work_group)
        most = facts->max_work_group;
    if (clGetKernelWorkGroupInfo(launch->kernel, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local,
                                 NULL) == CL_SUCCESS &&
        local > facts->local_memory)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "needs %llu bytes of local memory; the device has %llu",
                              (unsigned long long)local, (unsigned long long)facts->local_memory);
    if (clGetKernelWorkGroupInfo(launch->kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                 sizeof required, required, NULL) == CL_SUCCESS &&
        required[0]) {
        memcpy(group, required, sizeof required);
    } else {
        const bool chosen = !group[0];
        if (chosen)
            group[0] = launch->dev->facts.cpu ? GROUP_CPU : GROUP_OTHER;
        for (int i = 1; i < 3; i++)
            group[i] = group[i] ? group[i] : 1;
        while (
            chosen && group[0] > 1 &&
            (group[0] * group[1] * group[2] > most || group[0] > launch->dev->found->max_items[0]))
            group[0] /= 2;
    }
    for (int i = 0; i < 3; i++)
        if (group[i] > launch->dev->found->max_items[i])
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "needs a work-group of %zu along axis %d; the device allows %zu",
                                  group[i], i, launch->dev->found->max_items[i]);
    if (group[0] * group[1] * group[2] > most)
        return tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "needs a work-group of %zux%zux%zu; the device allows %zu for this kernel", group[0],
            group[1], group[2], most);
    return TSR_OK;
}

/* Counts one round for each multiply-add of a work-item: loops that take fewer rounds are
 * unrolled. */
static tsr_status check_rounds(const tsri_opencl_launch *launch) {
    const int64_t most = launch->dev->facts.most_rounds,
                  rounds = tsri_tensor_value(launch->work, launch->bounds->highest);
    return !most || rounds <= most
               ? TSR_OK
               : tsri_base_fail(
                     TSR_E_UNSUPPORTED,
                     "needs about %lld rounds of its loops; this driver ends loops after "
                     "%lld",
                     (long long)rounds, (long long)most);
}

static tsr_status check_count(const tsri_opencl_launch *launch) {
    cl_uint wanted = 0;
    if (!launch->kernel ||
        clGetKernelInfo(launch->kernel, CL_KERNEL_NUM_ARGS, sizeof wanted, &wanted, NULL) !=
            CL_SUCCESS ||
        wanted == launch->n_args)
        return TSR_OK;
    return tsri_base_fail(TSR_E_INTERNAL,
                          "%s: the kernel has %u parameters and its variant binds %u", launch->file,
                          wanted, launch->n_args);
}

/* Creates one kernel: the variant's own, or its stage's. */
static tsr_status create_one(tsr_dev *dev, const tsri_opencl_variant *variant,
                             const tsri_opencl_values *values, tsri_opencl_instance *instance,
                             const tsr_op *op, cl_mem dims, bool traced,
                             tsri_opencl_launch *launch) {
    cl_int code = CL_SUCCESS;
    const tsri_opencl_stage *stage = instance->stage;
    *launch = (tsri_opencl_launch){.dev = dev,
                                   .variant = variant,
                                   .values = values,
                                   .file = tsri_opencl_instance_file(instance),
                                   .op = op,
                                   .bounds = op->bounds,
                                   .dims = dims};
    launch->limit = dev->state->launch_limit ? dev->state->launch_limit
                    : variant->plain         ? plain_limit
                                             : fast_limit;
    if (dev->facts.common.type == TSR_DEVICE_GPU && !dev->state->launch_limit) {
        launch->pace = &instance->pace;
        instance->pace = instance->pace ? instance->pace : first_pace;
    }
    launch->work = tsri_tensor_const(1);
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = tsri_tensor_const(1);
        launch->per_item[i] = 1;
    }
    if (!launch->file)
        return TSR_OK;
    if (traced)
        TRY(tsri_base_new(1, sizeof *launch->trace, &launch->trace));
    /* A step of a chain needs the kernel only to compare its parameters, when it is first traced;
     * where all of a plan is in the chain, there is none. */
    if (!dev->record && !(traced && (instance->signature || !instance->program))) {
        launch->kernel = clCreateKernel(instance->program, instance->kernel, &code);
        if (!launch->kernel)
            return tsri_opencl_fail_create(dev, code, instance->kernel);
    }
    /* Some thirty queries of the driver, so once for each kernel. */
    launch->named = dev->found->version >= 102 && !instance->compared ? launch->kernel : NULL;
    (stage ? stage->bind : variant->bind)(variant, op, launch);
    TRY(launch->status);
    TRY(check_count(launch));
    instance->compared |= launch->kernel != NULL;
    launch->named = NULL;
    if (traced && launch->kernel) {
        clReleaseKernel(launch->kernel);
        launch->kernel = NULL;
    }
    if (!launch->kernel)
        return TSR_OK;
    TRY(check_rounds(launch));
    return settle_group(launch);
}

/* Creates the variant's kernel and its stage's. */
static tsr_status create(tsr_dev *dev, tsri_opencl_instance *instance, const tsr_op *op,
                         cl_mem dims, bool traced, tsri_opencl_launch *launch) {
    const tsri_opencl_variant *variant = instance->variant;
    TRY(create_one(dev, variant, &instance->values, instance, op, dims, traced, launch));
    if (!instance->before)
        return TSR_OK;
    TRY(tsri_base_new(1, sizeof *launch->before, &launch->before));
    TRY(create_one(dev, variant, &instance->values, instance->before, op, dims, traced,
                   launch->before));
    if (launch->before->scratch_bytes > launch->scratch_bytes)
        launch->scratch_bytes = launch->before->scratch_bytes;
    return TSR_OK;
}

tsr_status tsri_opencl_launch_create(tsr_dev *dev, tsri_opencl_instance *instance, const tsr_op *op,
                                     cl_mem dims, tsri_opencl_launch *launch) {
    return create(dev, instance, op, dims, false, launch);
}

tsr_status tsri_opencl_launch_trace(tsr_dev *dev, tsri_opencl_instance *instance, const tsr_op *op,
                                    cl_mem dims, tsri_opencl_launch *launch) {
    return create(dev, instance, op, dims, true, launch);
}

tsr_status tsri_opencl_launch_bind_scratch(tsri_opencl_launch *launch) {
    if (launch->before)
        TRY(tsri_opencl_launch_bind_scratch(launch->before));
    for (int i = 0; launch->kernel && i < launch->n_scratch; i++) {
        const cl_int code = clSetKernelArg(launch->kernel, launch->scratch_args[i],
                                           sizeof launch->dev->scratch, &launch->dev->scratch);
        if (code != CL_SUCCESS)
            return tsri_opencl_fail_create(launch->dev, code, launch->file);
    }
    return TSR_OK;
}

void tsri_opencl_launch_release(tsri_opencl_launch *launch) {
    if (launch->before)
        tsri_opencl_launch_release(launch->before);
    free(launch->before);
    free(launch->trace);
    launch->before = NULL;
    launch->trace = NULL;
    if (launch->kernel)
        clReleaseKernel(launch->kernel);
    launch->kernel = NULL;
}

/* Work-groups of a grid: the first along each axis, and how many. */
typedef struct box {
    size_t at[3], n[3];
} box;

typedef struct run {
    tsri_opencl_launch *launch;
    tsri_opencl_piece *each;
    void *data;
    cl_event *last;
    uint64_t group_work; /* multiply-adds of a work-group */
    bool timed;          /* each piece is waited for */
} run;

/* Hands a piece's event to the caller's function, or keeps it in place of the one before. */
static void hand_over(const run *r, cl_event event, uint64_t enqueue_ns) {
    if (r->each)
        r->each(r->data, r->launch, event, enqueue_ns);
    else if (r->last && event) {
        if (*r->last)
            clReleaseEvent(*r->last);
        *r->last = event;
    } else if (event)
        clReleaseEvent(event);
}

static tsr_status enqueue_piece(const run *r, const box *b) {
    tsri_opencl_launch *launch = r->launch;
    size_t offset[3], global[3];
    cl_event event = NULL;
    const uint64_t begin = r->each ? tsri_base_now_ns() : 0;
    const bool moved = b->at[0] || b->at[1] || b->at[2];
    for (int i = 0; i < 3; i++) {
        offset[i] = b->at[i] * launch->group[i];
        global[i] = b->n[i] * launch->group[i];
    }
    const cl_int code =
        clEnqueueNDRangeKernel(launch->dev->queue, launch->kernel, 3, moved ? offset : NULL, global,
                               launch->group, 0, NULL, r->each || r->last ? &event : NULL);
    launch->dev->busy = true;
    if (code != CL_SUCCESS)
        return tsri_opencl_fail_launch(launch->dev, code, launch->file);
    hand_over(r, event, r->each ? tsri_base_now_ns() - begin : 0);
    return TSR_OK;
}

/* Runs a piece and learns from its time how long the next ones may be. A small piece says little
 * about the rate of a long one, so what it took makes the pace slower only if it was too long. */
static tsr_status time_piece(const run *r, const box *b, uint64_t work) {
    uint64_t *pace = r->launch->pace;
    const uint64_t begin = tsri_base_now_ns();
    TRY(enqueue_piece(r, b));
    TRY(tsri_opencl_drain(r->launch->dev));
    const uint64_t ns = tsri_base_now_ns() - begin;
    const double fitting = (double)work * PIECE_NS / (double)(ns ? ns : 1);
    const double most = (double)work * FASTER;
    const uint64_t next = (uint64_t)(fitting < most ? fitting : most);
    if (ns > PIECE_NS || next > *pace)
        *pace = next ? next : 1;
    return TSR_OK;
}

int tsri_opencl_launch_long_axis(const size_t groups[3]) {
    enum { MOST_GROUPS = 65535 };
    return groups[2] > MOST_GROUPS ? 2 : groups[1] > MOST_GROUPS ? 1 : -1;
}

/* Enqueues these work-groups, in halves where they are too much for one launch, or too many along an
 * axis. The outer axes are halved first, so that a piece stays consecutive in the grid's order. */
static tsr_status enqueue_groups(const run *r, const box *b) {
    const uint64_t limit = r->launch->pace ? *r->launch->pace : r->launch->limit,
                   work = r->group_work * b->n[0] * b->n[1] * b->n[2];
    const int too_long = tsri_opencl_launch_long_axis(b->n);
    int axis = too_long < 0 ? 2 : too_long;
    while (axis && b->n[axis] == 1)
        axis--;
    if (too_long < 0 && (work <= limit || b->n[axis] == 1))
        return r->timed ? time_piece(r, b, work) : enqueue_piece(r, b);
    box first = *b, second = *b;
    first.n[axis] = (b->n[axis] + 1) / 2;
    second.at[axis] += first.n[axis];
    second.n[axis] -= first.n[axis];
    TRY(enqueue_groups(r, &first));
    return enqueue_groups(r, &second);
}

static tsr_status enqueue_provider(const run *r, const int64_t sizes[TSR_SYMBOLS]) {
    const tsri_opencl_launch *launch = r->launch;
    cl_event event = NULL;
    const uint64_t begin = tsri_base_now_ns();
    TRY(launch->variant->enqueue(launch->variant, launch->op, launch->dev->queue, sizes, &event));
    if (event)
        hand_over(r, event, tsri_base_now_ns() - begin);
    return TSR_OK;
}

/* The multiply-adds of a work-group. */
static uint64_t group_work(const tsri_opencl_launch *launch, const int64_t sizes[TSR_SYMBOLS]) {
    const int64_t work = tsri_tensor_value(launch->work, sizes);
    return (work > 0 ? (uint64_t)work : 1) * launch->group[0] * launch->group[1] * launch->group[2];
}

uint64_t tsri_opencl_launch_groups(const tsri_opencl_launch *launch,
                                   const int64_t sizes[TSR_SYMBOLS], tsri_opencl_groups *groups) {
    uint64_t product = 1;
    for (int i = 0; i < 3; i++) {
        const int64_t n = tsri_tensor_value(launch->grid[i], sizes);
        const size_t items =
            n > 0 ? (size_t)((n + launch->per_item[i] - 1) / launch->per_item[i]) : 0;
        groups->n[i] = (items + launch->group[i] - 1) / launch->group[i];
        product *= groups->n[i];
    }
    if (!product)
        *groups = (tsri_opencl_groups){0};
    return product ? product * group_work(launch, sizes) : 0;
}

tsr_status tsri_opencl_launch_run(tsri_opencl_launch *launch, const int64_t sizes[TSR_SYMBOLS],
                                  tsri_opencl_piece *each, void *data, cl_event *last) {
    if (launch->before)
        TRY(tsri_opencl_launch_run(launch->before, sizes, each, data, NULL));
    run r = {launch, each, data, last, 1, false};
    tsri_opencl_groups groups = {{1, 1, 1}};
    const uint64_t work = launch->kernel ? tsri_opencl_launch_groups(launch, sizes, &groups) : 0;
    if (!groups.n[0])
        return TSR_OK;
    launch->dev->busy = true;
    if (launch->variant->enqueue && launch->file == launch->variant->file)
        TRY(enqueue_provider(&r, sizes));
    if (!launch->kernel)
        return TSR_OK;
    r.group_work = group_work(launch, sizes);
    r.timed = launch->pace && work > *launch->pace;
    if (r.timed)
        TRY(tsri_opencl_drain(launch->dev));
    return enqueue_groups(&r, &(box){.n = {groups.n[0], groups.n[1], groups.n[2]}});
}
