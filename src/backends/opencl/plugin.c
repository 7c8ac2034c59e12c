/* backends/opencl/plugin.c - the backend's table, and the one symbol that the host sees. */
#include "backends/opencl/choose/layout.h"
#include "backends/opencl/choose/select.h"
#include "backends/opencl/choose/tune.h"
#include "backends/opencl/device/buffer.h"
#include "backends/opencl/device/exit.h"
#include "backends/opencl/driver/discover.h"
#include "backends/opencl/driver/host.h"
#include "backends/opencl/launch/profile.h"
#include "backends/opencl/open_device.h"
#include "backends/opencl/peaks.h"
#include "backends/opencl/plan.h"
#include "backends/opencl/program/bundle_write.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef TESSERA_VERSION
#define TESSERA_VERSION "0"
#endif

/* One thread at a time loads drivers and asks them for their devices: pocl 3.1 crashes where two
 * start doing so. */
static pthread_mutex_t discovering = PTHREAD_MUTEX_INITIALIZER;

enum { LEAST_CHAIN = 2, REST_MS = 10000 };

static tsr_status read_number(const char *name, const char *text, uint64_t highest, uint64_t *out) {
    char *end = NULL;
    const unsigned long long value = strtoull(text, &end, 10);
    if (!*text || *end || *text == '-' || value > highest)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "option %s is \"%s\"; it must be a number from 0 to %llu", name, text,
                              (unsigned long long)highest);
    *out = value;
    return TSR_OK;
}

/* An option, or its variable where the option is not given: *out stays where neither is. */
static tsr_status read_u32(const char *name, const char *text, uint32_t highest, uint32_t *out) {
    uint64_t value = *out;
    if (text && *text)
        TRY(read_number(name, text, highest, &value));
    *out = (uint32_t)value;
    return TSR_OK;
}

static tsr_status read_options(tsr_state *state, const tsr_options *options) {
    uint64_t rest_ms = REST_MS;
    state->chain = LEAST_CHAIN;
    state->commands = TSRI_OPENCL_COMMANDS_ON_GPUS;
    TRY(read_u32("chain", getenv("TESSERA_CHAIN"), UINT32_MAX, &state->chain));
    TRY(read_u32("commands", getenv("TESSERA_COMMAND_BUFFERS"), TSRI_OPENCL_COMMANDS_ALWAYS,
                 &state->commands));
    for (uint32_t i = 0; options && i < options->count; i++) {
        const char *name = options->names[i], *text = options->values[i];
        if (!strcmp(name, "threads"))
            TRY(read_u32(name, text, 65536, &state->threads));
        else if (!strcmp(name, "launch_limit"))
            TRY(read_number(name, text, UINT64_MAX / 4, &state->launch_limit));
        else if (!strcmp(name, "rest_ms"))
            TRY(read_number(name, text, UINT32_MAX, &rest_ms));
        else if (!strcmp(name, "chain"))
            TRY(read_u32(name, text, UINT32_MAX, &state->chain));
        else if (!strcmp(name, "commands"))
            TRY(read_u32(name, text, TSRI_OPENCL_COMMANDS_ALWAYS, &state->commands));
    }
    state->rest_ns = rest_ms * 1000000;
    return TSR_OK;
}

static tsr_status discover(tsr_state *state) {
    static bool draining;
    TRY(tsri_opencl_check_process());
    tsri_opencl_loads_drivers();
    pthread_mutex_lock(&discovering);
    const tsr_status status = tsri_opencl_discover(state);
    /* Registered after the drivers' own exit handlers, so that it runs before them. */
    if (status == TSR_OK && !draining && atexit(tsri_opencl_drain_all) == 0)
        draining = true;
    pthread_mutex_unlock(&discovering);
    return status;
}

static tsr_status open_backend(const tsr_host *host, const tsr_options *options, tsr_state **out) {
    tsr_state *state = NULL;
    tsri_opencl_enter(&(tsr_state){.host = host});
    TRY(tsri_base_new(1, sizeof *state, &state));
    state->host = host;
    tsr_status status = read_options(state, options);
    if (status == TSR_OK)
        status = discover(state);
    if (status != TSR_OK) {
        tsri_opencl_state_free(state);
        return status;
    }
    *out = state;
    return TSR_OK;
}

static tsr_status device_count(tsr_state *state, uint32_t *count) {
    *count = (uint32_t)state->n_found;
    return TSR_OK;
}

static tsr_status device_facts(tsr_state *state, uint32_t index, tsr_facts *facts) {
    tsri_opencl_enter(state);
    if (index >= state->n_found)
        return tsri_base_fail(TSR_E_ARGUMENT, "device index %u; there are %zu devices", index,
                              state->n_found);
    const uint32_t size = facts->struct_size < sizeof *facts ? facts->struct_size : sizeof *facts;
    memcpy(facts, &state->found[index].facts.common, size);
    facts->struct_size = size;
    return TSR_OK;
}

static tsr_status device_open(tsr_state *state, uint32_t index, const tsr_device_options *options,
                              tsr_dev **out) {
    tsr_device_options taken;
    tsri_opencl_enter(state);
    TRY(tsri_opencl_check_process());
    TRY(tsri_opencl_take(options, sizeof taken, &taken, "device options"));
    return tsri_opencl_device_open(state, index, &taken, out);
}

static void device_close(tsr_dev *dev) {
    if (!dev)
        return;
    tsri_opencl_enter(dev->state);
    tsri_opencl_device_close(dev);
}

static tsr_status buffer_create(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out) {
    tsr_buffer_spec taken;
    tsri_opencl_enter(dev->state);
    TRY(tsri_opencl_take(spec, sizeof taken, &taken, "a buffer"));
    return tsri_opencl_buffer_create(dev, &taken, out);
}

static void buffer_destroy(tsr_buf *buf) {
    if (!buf)
        return;
    tsri_opencl_enter(buf->dev->state);
    tsri_opencl_buffer_destroy(buf);
}

static tsr_status transfer(tsr_dev *dev, const tsr_transfer *given, const tsr_waits *waits,
                           tsr_event **done) {
    tsr_transfer taken;
    tsri_opencl_enter(dev->state);
    TRY(tsri_opencl_take(given, sizeof taken, &taken, "a transfer"));
    return tsri_opencl_transfer(dev, &taken, waits, done);
}

static tsr_status event_wait(tsr_event *event, uint64_t timeout_ns) {
    tsri_opencl_enter(event->dev->state);
    return tsri_opencl_event_wait(event, timeout_ns);
}

static tsr_status op_variants(tsr_dev *dev, const tsr_op *op, tsr_variant_visitor visit,
                              void *data) {
    tsri_opencl_enter(dev->state);
    return tsri_opencl_op_variants(dev, op, visit, data);
}

static tsr_status weight_layout(tsr_dev *dev, const tsr_weight_use *const *uses, size_t n,
                                const char *kernels, tsr_layout *layout) {
    tsri_opencl_enter(dev->state);
    return tsri_opencl_weight_layout(dev, uses, n, kernels, layout);
}

static tsr_status weight_store(tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                               tsr_buf *buf) {
    tsri_opencl_enter(dev->state);
    return tsri_opencl_weight_store(dev, layout, rows, buf);
}

static tsr_status weight_load(tsr_dev *dev, const tsr_layout *layout, tsr_buf *buf,
                              tsr_rows *rows) {
    tsri_opencl_enter(dev->state);
    return tsri_opencl_weight_load(dev, layout, buf, rows);
}

static tsr_status plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out) {
    tsr_plan_spec taken;
    tsri_opencl_enter(dev->state);
    TRY(tsri_opencl_take(spec, sizeof taken, &taken, "a plan"));
    return tsri_opencl_plan_create(dev, &taken, out);
}

static void plan_destroy(tsr_plan *plan) {
    if (!plan)
        return;
    tsri_opencl_enter(plan->dev->state);
    tsri_opencl_plan_destroy(plan);
}

static tsr_status plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                           tsr_event **done) {
    tsr_run taken;
    tsri_opencl_enter(plan->dev->state);
    TRY(tsri_opencl_take(run, sizeof taken, &taken, "a run"));
    return tsri_opencl_plan_run(plan, &taken, waits, done);
}

static tsr_status plan_explain(tsr_plan *plan, size_t op, tsr_variant_visitor visit, void *data) {
    tsri_opencl_enter(plan->dev->state);
    return tsri_opencl_plan_explain(plan, op, visit, data);
}

static tsr_status plan_profile(tsr_plan *plan, tsr_profile_visitor visit, void *data) {
    tsri_opencl_enter(plan->dev->state);
    return tsri_opencl_plan_profile(plan, visit, data);
}

static uint32_t note_count(tsr_state *state) {
    return (uint32_t)state->n_notes;
}

static const char *note(tsr_state *state, uint32_t index) {
    return index < state->n_notes ? state->notes[index] : "";
}

static tsr_status plan_announce(tsr_dev *dev, const tsr_plan_spec *spec) {
    tsr_plan_spec taken;
    tsri_opencl_enter(dev->state);
    TRY(tsri_opencl_take(spec, sizeof taken, &taken, "a plan"));
    return tsri_opencl_plan_announce(dev, &taken);
}

static const void *extension(tsr_state *state, const char *name) {
    static const tsr_backend_notes notes = {sizeof notes, note_count, note};
    static const tsr_backend_peaks peaks = {sizeof peaks, tsri_opencl_peak};
    static const tsr_backend_ahead ahead = {sizeof ahead, plan_announce};
    (void)state;
    return !strcmp(name, "tsr.notes/1")    ? (const void *)&notes
           : !strcmp(name, "tsr.tune/1")   ? (const void *)&tsri_opencl_tune
           : !strcmp(name, "tsr.bundle/1") ? (const void *)&tsri_opencl_bundles
           : !strcmp(name, "tsr.peaks/1")  ? (const void *)&peaks
           : !strcmp(name, "tsr.ahead/1")  ? &ahead
                                           : NULL;
}

TSR_API const tsr_backend *tsr_backend_get(uint32_t abi);

const tsr_backend *tsr_backend_get(uint32_t abi) {
    static const tsr_backend table = {
        .struct_size = sizeof table,
        .abi = TSR_BACKEND_ABI,
        .name = "opencl",
        .version = TESSERA_VERSION,
        .description = "every device of OpenCL 1.1 or newer, with kernels built for it",
        .open = open_backend,
        .close = tsri_opencl_state_free,
        .device_count = device_count,
        .device_facts = device_facts,
        .device_open = device_open,
        .device_close = device_close,
        .buffer_create = buffer_create,
        .buffer_destroy = buffer_destroy,
        .transfer = transfer,
        .event_wait = event_wait,
        .event_destroy = tsri_opencl_event_destroy,
        .op_variants = op_variants,
        .weight_layout = weight_layout,
        .weight_store = weight_store,
        .weight_load = weight_load,
        .plan_create = plan_create,
        .plan_destroy = plan_destroy,
        .plan_run = plan_run,
        .plan_explain = plan_explain,
        .plan_profile = plan_profile,
        .extension = extension,
    };
    return abi >> 16 == TSR_BACKEND_ABI >> 16 ? &table : NULL;
}
