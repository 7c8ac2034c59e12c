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
 * in multiply-adds: the plain variants are slow, the others fast. */
static const uint64_t plain_limit = UINT64_C(1) << 26, fast_limit = UINT64_C(1) << 33;

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
    launch->work = tsri_tensor_const(1);
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = tsri_tensor_const(1);
        launch->per_item[i] = 1;
    }
    if (!launch->file)
        return TSR_OK;
    if (traced)
        TRY(tsri_base_new(1, sizeof *launch->trace, &launch->trace));
    /* A step of a chain needs the kernel only to compare its parameters, when it is first traced. */
    if (!dev->record && !(traced && instance->signature)) {
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

/* The work-groups of a piece along each axis. The outer axes are halved first, so that a piece
 * stays consecutive in the grid's order. */
static void choose_piece(const tsri_opencl_launch *launch, const size_t groups[3],
                         uint64_t per_item, size_t piece[3]) {
    const uint64_t group_work = per_item * launch->group[0] * launch->group[1] * launch->group[2];
    memcpy(piece, groups, 3 * sizeof *piece);
    for (int axis = 2; axis >= 0; axis--)
        while (piece[axis] > 1 && group_work * piece[0] * piece[1] * piece[2] > launch->limit)
            piece[axis] = (piece[axis] + 1) / 2;
}

typedef struct run {
    tsri_opencl_launch *launch;
    tsri_opencl_piece *each;
    void *data;
    cl_event *last;
} run;

/* Hands a piece's event to the caller's function, or keeps it in place of the one before. */
static void hand_over(const run *r, cl_event event, uint64_t enqueue_ns) {
    if (r->each)
        r->each(r->data, event, enqueue_ns);
    else if (r->last && event) {
        if (*r->last)
            clReleaseEvent(*r->last);
        *r->last = event;
    } else if (event)
        clReleaseEvent(event);
}

static tsr_status enqueue_piece(const run *r, const size_t offset[3], const size_t global[3]) {
    tsri_opencl_launch *launch = r->launch;
    cl_event event = NULL;
    const uint64_t begin = r->each ? tsri_base_now_ns() : 0;
    const bool moved = offset[0] || offset[1] || offset[2];
    const cl_int code =
        clEnqueueNDRangeKernel(launch->dev->queue, launch->kernel, 3, moved ? offset : NULL, global,
                               launch->group, 0, NULL, r->each || r->last ? &event : NULL);
    if (code != CL_SUCCESS)
        return tsri_opencl_fail(launch->dev, code, launch->file);
    hand_over(r, event, r->each ? tsri_base_now_ns() - begin : 0);
    return TSR_OK;
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

static tsr_status enqueue_grid(const run *r, const size_t groups[3], const size_t piece[3]) {
    const size_t *group = r->launch->group;
    size_t at[3];
    for (at[2] = 0; at[2] < groups[2]; at[2] += piece[2])
        for (at[1] = 0; at[1] < groups[1]; at[1] += piece[1])
            for (at[0] = 0; at[0] < groups[0]; at[0] += piece[0]) {
                size_t offset[3], global[3];
                for (int i = 0; i < 3; i++) {
                    const size_t left = groups[i] - at[i];
                    offset[i] = at[i] * group[i];
                    global[i] = (left < piece[i] ? left : piece[i]) * group[i];
                }
                TRY(enqueue_piece(r, offset, global));
            }
    return TSR_OK;
}

tsr_status tsri_opencl_launch_run(tsri_opencl_launch *launch, const int64_t sizes[TSR_SYMBOLS],
                                  tsri_opencl_piece *each, void *data, cl_event *last) {
    if (launch->before)
        TRY(tsri_opencl_launch_run(launch->before, sizes, each, data, NULL));
    const run r = {launch, each, data, last};
    size_t groups[3] = {0}, piece[3];
    bool empty = false;
    for (int i = 0; i < 3 && launch->kernel; i++) {
        const int64_t n = tsri_tensor_value(launch->grid[i], sizes);
        if (n <= 0)
            empty = true;
        else {
            const size_t items = (size_t)((n + launch->per_item[i] - 1) / launch->per_item[i]);
            groups[i] = (items + launch->group[i] - 1) / launch->group[i];
        }
    }
    if (empty)
        return TSR_OK;
    launch->dev->busy = true;
    if (launch->variant->enqueue && launch->file == launch->variant->file)
        TRY(enqueue_provider(&r, sizes));
    if (!launch->kernel)
        return TSR_OK;
    const int64_t work = tsri_tensor_value(launch->work, sizes);
    choose_piece(launch, groups, work > 0 ? (uint64_t)work : 1, piece);
    return enqueue_grid(&r, groups, piece);
}
