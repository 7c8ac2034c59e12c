/* backends/opencl/plugin.c - the table, and the one symbol that the host sees. */
#include "backends/opencl/bundle.h"
#include "backends/opencl/layout.h"
#include "backends/opencl/peaks.h"
#include "backends/opencl/plan.h"
#include "backends/opencl/tune.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TESSERA_VERSION
#define TESSERA_VERSION "0"
#endif

/* Failures deep inside know no state; a process has one host. */
static const tsr_host *current_host;
static _Thread_local char record[2048];

void tsri_base_report(tsr_status status, const char *sentence) {
    if (sentence != record)
        snprintf(record, sizeof record, "%s", sentence);
    if (current_host && current_host->report)
        current_host->report(current_host->data, status, record);
}

const char *tsri_base_reported(void) {
    return record;
}

void tsri_opencl_log(const tsr_state *state, tsr_log_level level, const char *format, ...) {
    char line[2048];
    va_list args;
    if (!state->host->log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    state->host->log(state->host->data, level, line);
}

static void close_backend(tsr_state *state) {
    if (!state)
        return;
    for (size_t i = 0; i < state->n_found; i++)
        tsri_opencl_free_found(&state->found[i]);
    for (size_t i = 0; i < state->n_notes; i++)
        free(state->notes[i]);
    free(state->found);
    free(state->notes);
    free(state);
}

enum { LEAST_CHAIN = 2 };

static tsr_status read_number(const char *name, const char *text, uint64_t highest, uint64_t *out) {
    char *end = NULL;
    const unsigned long long value = strtoull(text, &end, 10);
    if (!*text || *end || *text == '-' || value > highest)
        return tsri_base_fail(TSR_E_ARGUMENT, "option %s is \"%s\"; it is a number up to %llu",
                              name, text, (unsigned long long)highest);
    *out = value;
    return TSR_OK;
}

/* Option "chain", or TESSERA_CHAIN where there is none. */
static tsr_status read_chain(tsr_state *state, const char *text) {
    uint64_t value = LEAST_CHAIN;
    if (text && *text)
        TRY(read_number("chain", text, UINT32_MAX, &value));
    state->chain = (uint32_t)value;
    return TSR_OK;
}

static tsr_status read_options(tsr_state *state, const tsr_options *options) {
    uint64_t value = 0;
    TRY(read_chain(state, getenv("TESSERA_CHAIN")));
    for (uint32_t i = 0; options && i < options->count; i++) {
        const char *name = options->names[i], *text = options->values[i];
        if (!strcmp(name, "threads")) {
            TRY(read_number(name, text, 65536, &value));
            state->threads = (uint32_t)value;
        } else if (!strcmp(name, "launch_limit"))
            TRY(read_number(name, text, UINT64_MAX / 4, &state->launch_limit));
        else if (!strcmp(name, "chain"))
            TRY(read_chain(state, text));
    }
    return TSR_OK;
}

/* Drivers that can't be asked for part of a device read these when they start, so before the first
 * call. */
static void limit_drivers(uint32_t threads) {
    char text[16];
    if (!threads)
        return;
    snprintf(text, sizeof text, "%u", threads);
    setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
    setenv("CL_CONFIG_CPU_TBB_NUM_WORKERS", text, 0);
}

static tsr_status open_backend(const tsr_host *host, const tsr_options *options, tsr_state **out) {
    static bool draining;
    tsr_state *state = NULL;
    current_host = host;
    TRY(tsri_base_new(1, sizeof *state, &state));
    state->host = host;
    tsr_status status = read_options(state, options);
    if (status == TSR_OK) {
        limit_drivers(state->threads);
        status = tsri_opencl_discover(state);
    }
    if (status != TSR_OK) {
        close_backend(state);
        return status;
    }
    /* After the drivers registered theirs, so that it runs before them. */
    if (!draining && atexit(tsri_opencl_drain_all) == 0)
        draining = true;
    *out = state;
    return TSR_OK;
}

static tsr_status device_count(tsr_state *state, uint32_t *count) {
    *count = (uint32_t)state->n_found;
    return TSR_OK;
}

static tsr_status device_facts(tsr_state *state, uint32_t index, tsr_facts *facts) {
    if (index >= state->n_found)
        return tsri_base_fail(TSR_E_ARGUMENT, "device %u of %zu", index, state->n_found);
    const uint32_t size = facts->struct_size < sizeof *facts ? facts->struct_size : sizeof *facts;
    memcpy(facts, &state->found[index].facts.common, size);
    facts->struct_size = size;
    return TSR_OK;
}

static tsr_status device_open(tsr_state *state, uint32_t index, const tsr_device_options *options,
                              tsr_dev **out) {
    tsr_device_options taken;
    TRY(tsri_opencl_take(options, sizeof taken, &taken, "device options"));
    return tsri_opencl_device_open(state, index, &taken, out);
}

static tsr_status buffer_create(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out) {
    tsr_buffer_spec taken;
    TRY(tsri_opencl_take(spec, sizeof taken, &taken, "a buffer"));
    return tsri_opencl_buffer_create(dev, &taken, out);
}

static tsr_status transfer(tsr_dev *dev, const tsr_transfer *given, const tsr_waits *waits,
                           tsr_event **done) {
    tsr_transfer taken;
    TRY(tsri_opencl_take(given, sizeof taken, &taken, "a transfer"));
    return tsri_opencl_transfer(dev, &taken, waits, done);
}

static tsr_status plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out) {
    tsr_plan_spec taken;
    TRY(tsri_opencl_take(spec, sizeof taken, &taken, "a plan"));
    return tsri_opencl_plan_create(dev, &taken, out);
}

static tsr_status plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                           tsr_event **done) {
    tsr_run taken;
    TRY(tsri_opencl_take(run, sizeof taken, &taken, "a run"));
    return tsri_opencl_plan_run(plan, &taken, waits, done);
}

static uint32_t note_count(tsr_state *state) {
    return (uint32_t)state->n_notes;
}

static const char *note(tsr_state *state, uint32_t index) {
    return index < state->n_notes ? state->notes[index] : "";
}

static const void *extension(tsr_state *state, const char *name) {
    static const tsr_backend_notes notes = {sizeof notes, note_count, note};
    static const tsr_backend_peaks peaks = {sizeof peaks, tsri_opencl_peak};
    (void)state;
    return !strcmp(name, "tsr.notes/1")    ? (const void *)&notes
           : !strcmp(name, "tsr.tune/1")   ? (const void *)&tsri_opencl_tune
           : !strcmp(name, "tsr.bundle/1") ? (const void *)&tsri_opencl_bundles
           : !strcmp(name, "tsr.peaks/1")  ? &peaks
                                           : NULL;
}

TSR_API const tsr_backend *tsr_backend_get(uint32_t abi);

const tsr_backend *tsr_backend_get(uint32_t abi) {
    static const tsr_backend table = {
        .struct_size = sizeof table,
        .abi = TSR_BACKEND_ABI,
        .name = "opencl",
        .version = TESSERA_VERSION,
        .description = "every OpenCL 1.1 or newer device, by kernels built for it",
        .open = open_backend,
        .close = close_backend,
        .device_count = device_count,
        .device_facts = device_facts,
        .device_open = device_open,
        .device_close = tsri_opencl_device_close,
        .buffer_create = buffer_create,
        .buffer_destroy = tsri_opencl_buffer_destroy,
        .transfer = transfer,
        .event_wait = tsri_opencl_event_wait,
        .event_destroy = tsri_opencl_event_destroy,
        .op_rows = tsri_opencl_op_rows,
        .weight_layout = tsri_opencl_weight_layout,
        .weight_store = tsri_opencl_weight_store,
        .weight_load = tsri_opencl_weight_load,
        .plan_create = plan_create,
        .plan_destroy = tsri_opencl_plan_destroy,
        .plan_run = plan_run,
        .plan_explain = tsri_opencl_plan_explain,
        .plan_profile = tsri_opencl_plan_profile,
        .extension = extension,
    };
    return abi >> 16 == TSR_BACKEND_ABI >> 16 ? &table : NULL;
}
