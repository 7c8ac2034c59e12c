/* A backend of devices that do nothing. Macros choose how the plugin is wrong: NAME, ABI, SIZE,
 * DROP (an entry is NULL), WILD (`extension` is no function), NO_TABLE, NO_SYMBOL, OPEN_FAILS, CACHE
 * (it reports the cache folder as a note). */
#include "tessera/backend.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef NAME
#define NAME "fake"
#endif
#ifndef ABI
#define ABI TSR_BACKEND_ABI
#endif
#ifndef FIRST_SCORE
#define FIRST_SCORE 2000
#endif
#ifndef SECOND_SCORE
#define SECOND_SCORE 3000
#endif
#ifndef SIZE
#define SIZE sizeof(tsr_backend)
#endif

struct tsr_state {
    const tsr_host *host;
    char note[512];
};
static struct tsr_state state;
struct tsr_dev {
    uint32_t index;
};
static struct tsr_dev devs[16];

static tsr_status open_it(const tsr_host *host, const tsr_options *options, tsr_state **out) {
    (void)options;
#ifdef OPEN_FAILS
    host->report(host->data, TSR_E_UNSUPPORTED, "the fake driver is on holiday");
    return TSR_E_UNSUPPORTED;
#endif
    state.host = host;
    snprintf(state.note, sizeof state.note, "cache: %s",
             host->cache_folder ? host->cache_folder : "none");
    *out = &state;
    return TSR_OK;
}
static void close_it(tsr_state *s) {
    (void)s;
}

static const tsr_facts facts[] = {
    {.type = TSR_DEVICE_CPU,
     .usable = 1,
     .score = FIRST_SCORE,
     .platform = "Fakeland",
     .name = "Plain CPU",
     .version = "Fake 1.0",
     .compute_units = 4},
    {.type = TSR_DEVICE_GPU,
     .usable = 1,
     .score = SECOND_SCORE,
     .platform = "Fakeland",
     .name = "Small GPU",
     .version = "Fake 1.0",
     .compute_units = 1},
    {.type = TSR_DEVICE_GPU,
     .usable = 1,
     .score = 4000,
     .platform = "Fakeland",
     .name = "Small GPU Ti"},
    {.type = TSR_DEVICE_ACCELERATOR,
     .usable = 1,
     .score = 0,
     .emulator = 1,
     .platform = "Fakeland",
     .name = "Board emulator"},
    {.type = TSR_DEVICE_GPU,
     .usable = 0,
     .score = 9000,
     .platform = "Otherland",
     .name = "Broken card",
     .reason = "its firmware is missing"},
    {.type = TSR_DEVICE_OTHER,
     .usable = 1,
     .score = 1,
     .platform = "Portable Computing Language",
     .name = "pthread-fake"},
    {.type = TSR_DEVICE_OTHER,
     .usable = 1,
     .score = 1,
     .platform = "Portable Computing Language",
     .name = "basic-fake"},
    {.type = TSR_DEVICE_OTHER, .usable = 1, .score = 2, .platform = "Twinland", .name = "Twin"},
    {.type = TSR_DEVICE_OTHER, .usable = 1, .score = 2, .platform = "Twinland", .name = "Twin"},
};

static tsr_status device_count(tsr_state *s, uint32_t *count) {
    (void)s;
    *count = sizeof facts / sizeof *facts;
    return TSR_OK;
}
static tsr_status device_facts(tsr_state *s, uint32_t index, tsr_facts *out) {
    (void)s;
    const uint32_t size = out->struct_size;
    tsr_facts mine = facts[index];
    mine.struct_size = size;
    memcpy(out, &mine, size < sizeof mine ? size : sizeof mine);
    return TSR_OK;
}
static tsr_status device_open(tsr_state *s, uint32_t index, const tsr_device_options *options,
                              tsr_dev **out) {
    (void)options;
    if (!facts[index].usable) {
        s->host->report(s->host->data, TSR_E_DEVICE, facts[index].reason);
        return TSR_E_DEVICE;
    }
    devs[index].index = index;
    *out = &devs[index];
    return TSR_OK;
}
static void device_close(tsr_dev *dev) {
    (void)dev;
}

/* The table needs these entries; the tests never call them. */
static tsr_status unused(void) {
    return TSR_E_UNSUPPORTED;
}
static void unused_void(void) {
}

static uint32_t note_count(tsr_state *s) {
    (void)s;
    return 1;
}
static const char *note(tsr_state *s, uint32_t i) {
    (void)i;
    return s->note;
}
static const void *extension(tsr_state *s, const char *name) {
    static const tsr_backend_notes notes = {
        .struct_size = sizeof notes, .count = note_count, .note = note};
    (void)s;
    return strcmp(name, "tsr.notes/1") == 0 ? &notes : NULL;
}

#pragma GCC diagnostic ignored "-Wcast-function-type"
static tsr_backend table = {
    .abi = ABI,
    .name = NAME,
    .version = "1",
    .description = "devices that do nothing",
    .open = open_it,
    .close = close_it,
    .device_count = device_count,
    .device_facts = device_facts,
    .device_open = device_open,
    .device_close = device_close,
    .extension = extension,
};

#ifndef NO_SYMBOL
const tsr_backend *tsr_backend_get(uint32_t abi) {
    (void)abi;
    table.struct_size = SIZE;
    table.buffer_create = (tsr_status(*)(tsr_dev *, const tsr_buffer_spec *, tsr_buf **))unused;
    table.buffer_destroy = (void (*)(tsr_buf *))unused_void;
    table.transfer =
        (tsr_status(*)(tsr_dev *, const tsr_transfer *, const tsr_waits *, tsr_event **))unused;
    table.event_wait = (tsr_status(*)(tsr_event *, uint64_t))unused;
    table.event_destroy = (void (*)(tsr_event *))unused_void;
    table.op_variants =
        (tsr_status(*)(tsr_dev *, const tsr_op *, tsr_variant_visitor, void *))unused;
    table.weight_store =
        (tsr_status(*)(tsr_dev *, const tsr_layout *, const tsr_rows *, tsr_buf *))unused;
    table.weight_load = (tsr_status(*)(tsr_dev *, const tsr_layout *, tsr_buf *, tsr_rows *))unused;
    table.plan_create = (tsr_status(*)(tsr_dev *, const tsr_plan_spec *, tsr_plan **))unused;
    table.plan_destroy = (void (*)(tsr_plan *))unused_void;
    table.plan_run =
        (tsr_status(*)(tsr_plan *, const tsr_run *, const tsr_waits *, tsr_event **))unused;
    table.plan_explain = (tsr_status(*)(tsr_plan *, size_t, tsr_variant_visitor, void *))unused;
    table.plan_profile = (tsr_status(*)(tsr_plan *, tsr_profile_visitor, void *))unused;
#ifdef DROP
    table.DROP = NULL;
#endif
#ifdef WILD
    table.extension = (const void *(*)(tsr_state *, const char *))(uintptr_t)8;
#endif
#ifdef NO_TABLE
    return NULL;
#else
    return &table;
#endif
}
#endif
