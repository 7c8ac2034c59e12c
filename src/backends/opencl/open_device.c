/* backends/opencl/open_device.c - opens a device with everything that this folder keeps for it, and
 * closes it. */
#include "backends/opencl/open_device.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/exit.h"
#include "backends/opencl/device/failure.h"
#include "backends/opencl/device/staging.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/driver/marker.h"
#include "backends/opencl/launch/chain.h"
#include "backends/opencl/launch/commands.h"
#include "backends/opencl/program/bundle.h"
#include "backends/opencl/program/probe.h"
#include "backends/opencl/program/program.h"
#include "backends/opencl/variants/shared/clblast.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { SPARE_EVENTS = 32 };

/* Replaces a CPU device by a sub-device with fewer compute units. Where the driver can't make one,
 * the whole device is used, and a line of the log says so. */
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
                        "%s/%s uses %u threads: its driver can't be limited to %u",
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
    /* The call of OpenCL 1.2: every driver has it, and old drivers have no other. */
    dev->queue = clCreateCommandQueue(dev->context, dev->id,
                                      dev->profile ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (!dev->queue)
        return tsri_opencl_fail_create(dev, code, "clCreateCommandQueue");
    tsri_opencl_commands_open(dev);
    TRY(tsri_opencl_events_reserve(dev, SPARE_EVENTS));
    TRY(tsri_base_new(1, sizeof *dev->probes, &dev->probes));
    TRY(tsri_opencl_programs_create(dev, &dev->programs));
    if (options && options->bundle && *options->bundle && !dev->record)
        TRY(tsri_opencl_bundle_load(dev, options->bundle, &dev->bundle));
    return tsri_opencl_tuning_load(dev, &dev->tuning);
}

tsr_status tsri_opencl_device_open(tsr_state *state, uint32_t index,
                                   const tsr_device_options *options, tsr_dev **out) {
    tsr_dev *dev = NULL;
    if (index >= state->n_found)
        return tsri_base_fail(TSR_E_ARGUMENT, "device index %u; there are %zu devices", index,
                              state->n_found);
    const tsri_opencl_found *found = &state->found[index];
    if (!found->facts.common.usable)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "%s/%s is not usable: %s",
                              found->facts.common.platform, found->facts.common.name,
                              found->facts.common.reason);
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
    tsri_opencl_list(dev);
    if (status != TSR_OK) {
        tsri_opencl_device_close(dev);
        return status;
    }
    *out = dev;
    return TSR_OK;
}

void tsri_opencl_device_close(tsr_dev *dev) {
    if (!dev || tsri_opencl_forked())
        return;
    (void)!tsri_opencl_drain(dev);
    tsri_opencl_unmark(&dev->marker);
    tsri_opencl_unlist(dev);
    if (!tsri_opencl_releasable(dev)) {
        tsri_opencl_leave(dev);
        return;
    }
    while (dev->spare_events) {
        tsr_event *event = dev->spare_events;
        dev->spare_events = event->next;
        free(event);
    }
    tsri_opencl_staging_free(dev);
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
