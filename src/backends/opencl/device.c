/* backends/opencl/device.c - opening and closing a device; draining; poisoning. */
#include "backends/opencl/device.h"
#include "backends/opencl/bundle.h"
#include "backends/opencl/chain.h"
#include "backends/opencl/clblast.h"
#include "backends/opencl/marker.h"
#include "backends/opencl/probe.h"
#include "backends/opencl/program.h"
#include "backends/opencl/rest.h"
#include "backends/opencl/tuning.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE_EVENTS = 32 };

/* Drivers crash when a process exits with work in flight, so the exit handler must find every open
 * device. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static tsr_dev *open_devices;

const char *tsri_opencl_code_name(cl_int code) {
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
        {-1, "CL_DEVICE_NOT_FOUND"},
        {-2, "CL_DEVICE_NOT_AVAILABLE"},
        {-3, "CL_COMPILER_NOT_AVAILABLE"},
        {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, "CL_OUT_OF_RESOURCES"},
        {-6, "CL_OUT_OF_HOST_MEMORY"},
        {-11, "CL_BUILD_PROGRAM_FAILURE"},
        {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
        {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {-18, "CL_DEVICE_PARTITION_FAILED"},
        {-30, "CL_INVALID_VALUE"},
        {-33, "CL_INVALID_DEVICE"},
        {-34, "CL_INVALID_CONTEXT"},
        {-36, "CL_INVALID_COMMAND_QUEUE"},
        {-38, "CL_INVALID_MEM_OBJECT"},
        {-42, "CL_INVALID_BINARY"},
        {-44, "CL_INVALID_PROGRAM"},
        {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-46, "CL_INVALID_KERNEL_NAME"},
        {-48, "CL_INVALID_KERNEL"},
        {-49, "CL_INVALID_ARG_INDEX"},
        {-51, "CL_INVALID_ARG_SIZE"},
        {-52, "CL_INVALID_KERNEL_ARGS"},
        {-54, "CL_INVALID_WORK_GROUP_SIZE"},
        {-55, "CL_INVALID_WORK_ITEM_SIZE"},
        {-59, "CL_INVALID_OPERATION"},
        {-61, "CL_INVALID_BUFFER_SIZE"},
        {-9999, "the driver's illegal access"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return "error";
}

static tsr_status status_of(cl_int code) {
    switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE:
        return TSR_E_DEVICE_MEMORY;
    case CL_OUT_OF_HOST_MEMORY:
        return TSR_E_HOST_MEMORY;
    default:
        return TSR_E_DEVICE;
    }
}

bool tsri_opencl_releasable(const tsr_dev *dev) {
    return !dev->stuck && !tsri_opencl_forked();
}

/* What is in flight reads and writes memory that the caller frees after a failure. */
static void come_to_rest(tsr_dev *dev) {
    if (!dev->busy || !dev->queue || !tsri_opencl_releasable(dev))
        return;
    switch (tsri_opencl_finish_within(dev->queue, dev->state->rest_ns)) {
    case TSRI_OPENCL_RESTS:
        dev->busy = false;
        break;
    case TSRI_OPENCL_UNKNOWN:
        dev->busy = false;
        dev->uncertain = true;
        break;
    case TSRI_OPENCL_STUCK:
        dev->stuck = dev->poisoned = true;
        break;
    }
}

tsr_status tsri_opencl_fail_create(tsr_dev *dev, cl_int code, const char *call) {
    char stuck[96] = "";
    come_to_rest(dev);
    if (dev->stuck)
        snprintf(stuck, sizeof stuck,
                 "; its work did not end within %.1f s, and its memory is left to it",
                 (double)dev->state->rest_ns * 1e-9);
    snprintf(dev->lost, sizeof dev->lost, "%s: %s (%d)%s", call, tsri_opencl_code_name(code), code,
             stuck);
    return tsri_base_fail(status_of(code), "%s: %s (%d) on %s/%s%s", call,
                          tsri_opencl_code_name(code), code, dev->facts.common.platform,
                          dev->facts.common.name, stuck);
}

tsr_status tsri_opencl_fail(tsr_dev *dev, cl_int code, const char *call) {
    const tsr_status status = tsri_opencl_fail_create(dev, code, call);
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
        code == CL_OUT_OF_HOST_MEMORY || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ||
        code == CL_INVALID_COMMAND_QUEUE || code == CL_DEVICE_NOT_AVAILABLE ||
        code == CL_INVALID_CONTEXT || code < -9000)
        dev->poisoned = true;
    return status;
}

tsr_status tsri_opencl_check(const tsr_dev *dev) {
    TRY(tsri_opencl_check_process());
    if (!dev->poisoned)
        return TSR_OK;
    return tsri_base_fail(TSR_E_DEVICE, "%s/%s was lost (%s): close it and start again",
                          dev->facts.common.platform, dev->facts.common.name, dev->lost);
}

tsr_status tsri_opencl_check_waits(const tsr_dev *dev, const tsr_waits *waits) {
    for (uint32_t i = 0; waits && i < waits->count; i++)
        if (!waits->events || !waits->events[i] || waits->events[i]->dev != dev)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "event %u to wait for is of another device: wait on the host", i);
    return TSR_OK;
}

tsr_status tsri_opencl_drain(tsr_dev *dev) {
    if (!dev->busy || !dev->queue || !tsri_opencl_releasable(dev))
        return TSR_OK;
    const cl_int code = clFinish(dev->queue);
    if (code != CL_SUCCESS)
        return tsri_opencl_fail(dev, code, "clFinish");
    dev->busy = false;
    return TSR_OK;
}

void tsri_opencl_drain_all(void) {
    if (tsri_opencl_forked())
        return;
    pthread_mutex_lock(&open_lock);
    for (tsr_dev *dev = open_devices; dev; dev = dev->next) {
        come_to_rest(dev);
        tsri_opencl_unmark(&dev->marker);
    }
    pthread_mutex_unlock(&open_lock);
}

/* A part of a CPU device with fewer compute units. Where the driver can't, the whole device, with a
 * line that says so. */
static void limit_threads(tsr_dev *dev, uint32_t threads) {
    const tsri_opencl_found *found = dev->found;
    const cl_device_partition_property counts[] = {CL_DEVICE_PARTITION_BY_COUNTS,
                                                   (cl_device_partition_property)threads,
                                                   CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_device_id part = NULL;
    cl_uint n = 0;
    cl_int code = CL_DEVICE_PARTITION_FAILED;
    if (!threads || dev->facts.common.type != TSR_DEVICE_CPU ||
        threads >= dev->facts.common.compute_units)
        return;
    if (found->version >= 102)
        code = clCreateSubDevices(found->id, counts, 1, &part, &n);
    if (code == CL_SUCCESS && n) {
        dev->id = part;
        dev->partitioned = true;
        dev->facts.common.compute_units = threads;
    } else
        tsri_opencl_log(dev->state, TSR_LOG_WARNING,
                        "%s/%s uses %u threads: it can't be limited to %u",
                        dev->facts.common.platform, dev->facts.common.name,
                        dev->facts.common.compute_units, threads);
}

static tsr_status start(tsr_dev *dev, const tsr_device_options *options) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)dev->found->platform, 0};
    cl_int code = CL_SUCCESS;
    dev->profile = options && options->profile;
    dev->no_self_test = options && options->no_self_test;
    dev->record = options && options->record;
    limit_threads(dev, options && options->threads ? options->threads : dev->state->threads);
    dev->context = clCreateContext(properties, 1, &dev->id, NULL, NULL, &code);
    if (!dev->context)
        return tsri_opencl_fail_create(dev, code, "clCreateContext");
    /* The 1.2 call: every driver has it, and old ones have no other. */
    dev->queue = clCreateCommandQueue(dev->context, dev->id,
                                      dev->profile ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (!dev->queue)
        return tsri_opencl_fail_create(dev, code, "clCreateCommandQueue");
    TRY(tsri_opencl_events_reserve(dev, SPARE_EVENTS));
    TRY(tsri_base_new(1, sizeof *dev->probes, &dev->probes));
    TRY(tsri_opencl_programs_create(dev, &dev->programs));
    if (options && options->bundle && *options->bundle && !dev->record)
        return tsri_opencl_bundle_load(dev, options->bundle, &dev->bundle);
    return tsri_opencl_tuning_load(dev, &dev->tuning);
}

tsr_status tsri_opencl_device_open(tsr_state *state, uint32_t index,
                                   const tsr_device_options *options, tsr_dev **out) {
    tsr_dev *dev = NULL;
    if (index >= state->n_found)
        return tsri_base_fail(TSR_E_ARGUMENT, "device %u of %zu", index, state->n_found);
    const tsri_opencl_found *found = &state->found[index];
    if (!found->facts.common.usable)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s/%s is %s", found->facts.common.platform,
                              found->facts.common.name, found->facts.common.reason);
    if (found->facts.common.needs_bundle && !(options && (options->record || options->bundle)))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "it builds no kernels: give it a bundle of them (--bundle FOLDER; "
                              "tessera kernels export and build make one)");
    TRY(tsri_base_new(1, sizeof *dev, &dev));
    dev->state = state;
    dev->found = found;
    dev->facts = found->facts;
    dev->id = found->id;
    const tsr_status status = start(dev, options);
    pthread_mutex_lock(&open_lock);
    dev->next = open_devices;
    open_devices = dev;
    pthread_mutex_unlock(&open_lock);
    if (status != TSR_OK) {
        tsri_opencl_device_close(dev);
        return status;
    }
    *out = dev;
    return TSR_OK;
}

/* From the list of open devices. */
static void unlist(tsr_dev *dev) {
    pthread_mutex_lock(&open_lock);
    for (tsr_dev **at = &open_devices; *at; at = &(*at)->next)
        if (*at == dev) {
            *at = dev->next;
            break;
        }
    pthread_mutex_unlock(&open_lock);
}

/* Of a lost device: what leads to all that was left is kept where it can be found. */
static void leave(tsr_dev *dev) {
    static tsr_dev *left;
    pthread_mutex_lock(&open_lock);
    dev->next = left;
    left = dev;
    pthread_mutex_unlock(&open_lock);
}

void tsri_opencl_device_close(tsr_dev *dev) {
    if (!dev || tsri_opencl_forked())
        return;
    (void)!tsri_opencl_drain(dev);
    tsri_opencl_unmark(&dev->marker);
    unlist(dev);
    if (!tsri_opencl_releasable(dev)) {
        leave(dev);
        return;
    }
    while (dev->spare_events) {
        tsr_event *event = dev->spare_events;
        dev->spare_events = event->next;
        free(event);
    }
    tsri_opencl_chains_destroy(dev);
    tsri_opencl_programs_destroy(dev->programs);
    tsri_opencl_tuning_free(dev->tuning);
    tsri_opencl_bundle_free(dev->bundle);
    free(dev->probes);
    tsri_opencl_clblast_forget(dev);
    if (dev->scratch)
        tsri_opencl_release(dev, dev->scratch);
    for (size_t i = 0; i < dev->n_kept; i++)
        clReleaseMemObject(dev->kept[i]);
    free(dev->kept);
    if (dev->queue)
        clReleaseCommandQueue(dev->queue);
    if (dev->context)
        clReleaseContext(dev->context);
    if (dev->partitioned)
        clReleaseDevice(dev->id);
    free(dev);
}
