/* backend/device.c - the public engine and device of tessera/device.h, over the host's side of the
 * plugin interface. */
#include "backend/opened.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tsr_engine {
    tsri_backend_set *set;
    void (*log)(void *data, tsr_log_level level, const char *line);
    void *log_data;
};

struct tsr_device {
    tsr_engine *engine;
    tsri_backend_device **devices;
    tsri_backend_opened_device opened;
    tsr_device_options options;
    uint64_t memory; /* of each device, for a model; 0: what it has */
    uint32_t turn;
    char *kernels, *bundle;
    tsri_bytes description;
};

const char *tsr_engine_cache_folder(const tsr_engine *engine) {
    return tsri_backend_cache_folder(engine->set);
}

tsr_status tsr_engine_create(const tsr_engine_options *options, tsr_engine **out) {
    TRY(NEED(out));
    tsr_engine_options given;
    tsr_engine *engine = NULL;
    TRY(tsri_base_adopt("tsr_engine_options", options, &given, sizeof given));
    for (uint32_t i = 0; i < given.n_backends; i++)
        if (!given.backends || !given.backends[i])
            return tsri_base_fail(TSR_E_ARGUMENT, "tsr_engine_options.backends[%u] is NULL", i);
    TRY(tsri_base_new(1, sizeof *engine, &engine));
    engine->log = given.log;
    engine->log_data = given.log_data;
    const tsri_backend_options wanted = {.plugins = given.backends,
                                         .n_plugins = given.n_backends,
                                         .log = given.log,
                                         .log_data = given.log_data,
                                         .threads = given.threads,
                                         .progress = given.progress,
                                         .progress_data = given.progress_data,
                                         .reference_alone =
                                             given.device && !strcmp(given.device, "reference")};
    const tsr_status status = tsri_backend_set_open(&wanted, &engine->set);
    if (status != TSR_OK)
        tsr_engine_destroy(&engine);
    *out = engine;
    return status;
}

void tsr_engine_destroy(tsr_engine **engine) {
    if (!*engine)
        return;
    tsri_backend_set_close(&(*engine)->set);
    free(*engine);
    *engine = NULL;
}

size_t tsr_engine_note_count(const tsr_engine *engine) {
    return tsri_backend_note_count(engine->set);
}

const char *tsr_engine_note(const tsr_engine *engine, size_t note) {
    return note < tsri_backend_note_count(engine->set) ? tsri_backend_note(engine->set, note)
                                                       : NULL;
}

size_t tsr_device_count(const tsr_engine *engine) {
    return tsri_backend_count(engine->set);
}

tsr_status tsr_device_info_get(const tsr_engine *engine, size_t index, tsr_device_info *out) {
    TRY(NEED(engine));
    TRY(NEED(out));
    TRY(tsri_base_check_out("tsr_device_info", out));
    if (index >= tsri_backend_count(engine->set))
        return tsri_base_fail(
            TSR_E_ARGUMENT, "there is no device %zu; the number of devices is %zu, counted from 0",
            index, tsri_backend_count(engine->set));
    const tsri_backend_entry *entry = tsri_backend_at(engine->set, index);
    const tsr_device_info info = {.struct_size = sizeof info,
                                  .is_default = index == tsri_backend_default(engine->set),
                                  .backend = entry->backend->name,
                                  .facts = entry->facts};
    tsri_base_give(&info, sizeof info, out);
    return TSR_OK;
}

static tsr_status describe(tsr_device *device, const tsr_facts *facts) {
    const char *plural = facts->compute_units == 1 ? "" : "s";
    return tsri_base_bytes_printf(&device->description, "%s%s / %s (%s, %u compute unit%s)",
                                  device->description.size ? " + " : "", facts->platform,
                                  facts->name, facts->version, facts->compute_units, plural);
}

/* Chooses the bundle that was asked for, or, where the backend has bundles, that of the
 * environment. */
static tsr_status choose_bundle(const tsr_device *device, size_t entry,
                                tsr_device_options *options) {
    const tsri_backend_entry *found = tsri_backend_at(device->opened.set, entry);
    const bool has = tsri_backend_extension(device->opened.set, entry, "tsr.bundle/1") != NULL;
    if (device->bundle && !has)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "the backend %s of %s/%s does not support bundles of kernels; open "
                              "the device without %s",
                              found->backend->name, found->facts.platform, found->facts.name,
                              device->bundle);
    const char *set = getenv("TESSERA_BUNDLE");
    options->bundle = device->bundle ? device->bundle : has && set && *set ? set : NULL;
    return TSR_OK;
}

/* Opens one more device. */
static tsr_status add(tsr_device *device, size_t entry) {
    tsri_backend_opened_device *opened = &device->opened;
    tsri_backend_device **devices =
        realloc(device->devices, (opened->n_devices + 1) * sizeof(tsri_backend_device *));
    if (!devices)
        return tsri_base_fail(TSR_E_HOST_MEMORY, "out of host memory for the list of devices");
    device->devices = devices;
    opened->devices = devices;
    tsr_device_options options = device->options;
    TRY(choose_bundle(device, entry, &options));
    TRY(tsri_backend_device_open(opened->set, entry, &options, &devices[opened->n_devices]));
    tsr_facts *facts = &devices[opened->n_devices++]->facts;
    if (device->memory && (!facts->memory || facts->memory > device->memory))
        facts->memory = device->memory;
    return describe(device, facts);
}

static bool is_open(const tsri_backend_opened_device *opened, size_t entry) {
    for (size_t i = 0; i < opened->n_devices; i++)
        if (opened->devices[i]->entry == entry)
            return true;
    return false;
}

static void warn_of_same(const tsr_device *device, size_t entry) {
    const tsri_backend_opened_device *opened = &device->opened;
    const tsr_facts *facts = &tsri_backend_at(opened->set, entry)->facts;
    char line[512];
    snprintf(line, sizeof line,
             "%s/%s was named more than once: it gets the work of each, and its memory is counted "
             "for each (tessera devices lists the others)",
             facts->platform, facts->name);
    if (opened->log)
        opened->log(opened->log_data, TSR_LOG_WARNING, line);
}

/* Finds the device that a name in "A,B" means: the first in turn that no name before it has opened. */
static tsr_status find_next(const tsr_device *device, const char *name, size_t *entry) {
    const tsri_backend_opened_device *opened = &device->opened;
    for (uint32_t i = 0; i <= opened->n_devices; i++) {
        TRY(tsri_backend_select(opened->set, name, device->turn + i, entry));
        if (!is_open(opened, *entry))
            return TSR_OK;
    }
    warn_of_same(device, *entry);
    return TSR_OK;
}

/* Opens the devices of "A,B", one after the other. */
static tsr_status add_each(tsr_device *device, const char *selector) {
    for (const char *at = selector;;) {
        const size_t n = strcspn(at, ",");
        char *one = tsri_base_copy_text(at, n);
        if (!one)
            return TSR_E_HOST_MEMORY;
        size_t entry;
        tsr_status status =
            n ? find_next(device, one, &entry)
              : tsri_base_fail(TSR_E_ARGUMENT,
                               "device \"%s\": give a device on both sides of each comma",
                               selector);
        if (status == TSR_OK)
            status = add(device, entry);
        free(one);
        TRY(status);
        if (!at[n])
            return TSR_OK;
        at += n + 1;
    }
}

static tsr_status add_default(tsr_device *device) {
    const tsr_engine *engine = device->engine;
    size_t entry;
    TRY(tsri_backend_select(engine->set, NULL, device->turn, &entry));
    if (entry == tsri_backend_count(engine->set) - 1 && engine->log)
        engine->log(
            engine->log_data, TSR_LOG_WARNING,
            "no OpenCL device is usable, so the slow reference runs (see: tessera devices)");
    return add(device, entry);
}

tsr_status tsr_device_open(tsr_engine *engine, const char *selector,
                           const tsr_device_open_options *options, tsr_device **out) {
    TRY(NEED(engine));
    TRY(NEED(out));
    tsr_device_open_options given;
    tsr_device *device = NULL;
    TRY(tsri_base_adopt("tsr_device_open_options", options, &given, sizeof given));
    TRY(tsri_base_new(1, sizeof *device, &device));
    device->engine = engine;
    device->memory = given.memory;
    device->turn = given.turn;
    device->options = (tsr_device_options){.struct_size = sizeof device->options,
                                           .threads = given.threads,
                                           .profile = given.profile,
                                           .no_self_test = given.no_self_test,
                                           .record = given.record};
    device->opened = (tsri_backend_opened_device){.set = engine->set,
                                                  .threads = given.threads,
                                                  .profile = given.profile,
                                                  .record = given.record != 0,
                                                  .log = engine->log,
                                                  .log_data = engine->log_data};
    tsr_status status = TSR_OK;
    if (given.kernels && !(device->opened.kernels = device->kernels =
                               tsri_base_copy_text(given.kernels, strlen(given.kernels))))
        status = TSR_E_HOST_MEMORY;
    if (given.bundle && !(device->opened.bundle = device->bundle =
                              tsri_base_copy_text(given.bundle, strlen(given.bundle))))
        status = TSR_E_HOST_MEMORY;
    const char *chosen = selector && *selector ? selector : getenv("TESSERA_DEVICE");
    if (status == TSR_OK)
        status = chosen && *chosen ? add_each(device, chosen) : add_default(device);
    if (status != TSR_OK && chosen != selector && chosen && *chosen)
        status = tsri_base_fail_within(status, "TESSERA_DEVICE");
    if (status != TSR_OK)
        tsr_device_close(&device);
    *out = device;
    return status;
}

void tsr_device_close(tsr_device **device) {
    tsr_device *d = *device;
    if (!d)
        return;
    while (d->opened.n_devices > 0)
        tsri_backend_device_close(&d->devices[--d->opened.n_devices]);
    free(d->devices);
    free(d->kernels);
    free(d->bundle);
    tsri_base_bytes_clear(&d->description);
    free(d);
    *device = NULL;
}

const char *tsr_device_describe(const tsr_device *device) {
    return device->description.data;
}

size_t tsr_device_indices(const tsr_device *device, size_t *indices, size_t room) {
    const size_t n = device->opened.n_devices;
    for (size_t i = 0; i < n && i < room; i++)
        indices[i] = device->devices[i]->entry;
    return n;
}

const tsri_backend_opened_device *tsri_backend_opened(const tsr_device *device) {
    return &device->opened;
}
