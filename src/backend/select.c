/* backend/select.c - finds the device that a user means, and opens it. */
#include "backend/host.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NO_DEVICE = -1 };

size_t tsri_backend_default(const tsri_backend_set *set) {
    const size_t n = tsri_backend_count(set);
    size_t best = n - 1; /* the reference */
    for (size_t i = n; i-- > 0;) {
        const tsr_facts *facts = &tsri_backend_at(set, i)->facts;
        const int32_t least = tsri_backend_at(set, best)->facts.score;
        if (facts->usable && facts->score > 0 && (best == n - 1 || facts->score >= least))
            best = i;
    }
    return best;
}

/* Whether a device is usable, of the same driver and type as another one, and as good a default. */
static bool is_like(const tsri_backend_set *set, size_t i, size_t other) {
    const tsr_facts *facts = &tsri_backend_at(set, i)->facts,
                    *like = &tsri_backend_at(set, other)->facts;
    return facts->usable && facts->type == like->type && facts->score == like->score &&
           strcmp(facts->platform, like->platform) == 0;
}

/* Of the devices that are like the best one, the one whose turn it is; after the last, the first again. */
static size_t in_turn(const tsri_backend_set *set, size_t best, uint32_t turn) {
    const size_t n = tsri_backend_count(set);
    uint32_t alike = 0;
    for (size_t i = 0; i < n; i++)
        alike += is_like(set, i, best);
    turn = alike ? turn % alike : 0;
    for (size_t i = 0; i < n; i++)
        if (is_like(set, i, best) && !turn--)
            return i;
    return best;
}

/* Refuses with `why` and a list of the devices that `fits` marks (NULL: all), one on each line. */
static tsr_status refuse(const tsri_backend_set *set, const char *selector, const char *why,
                         const bool *fits) {
    tsri_bytes list = {0};
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < tsri_backend_count(set) && status == TSR_OK; i++) {
        const tsri_backend_entry *entry = tsri_backend_at(set, i);
        if (!fits || fits[i])
            status = tsri_base_bytes_printf(
                &list, "\n  %zu  %s: %s/%s%s%s", i, entry->backend->name, entry->facts.platform,
                entry->facts.name, entry->facts.usable ? "" : " (not usable: ",
                entry->facts.usable ? "" : entry->facts.reason);
        if (status == TSR_OK && (!fits || fits[i]) && !entry->facts.usable)
            status = tsri_base_bytes_append(&list, ")", 1);
    }
    for (size_t i = 0; i < tsri_backend_note_count(set) && status == TSR_OK && !fits; i++)
        status = tsri_base_bytes_printf(&list, "\n  -  %s", tsri_backend_note(set, i));
    if (status == TSR_OK)
        status = tsri_base_fail(TSR_E_ARGUMENT, "device \"%s\" %s:%s", selector, why,
                                list.data ? list.data : "");
    tsri_base_bytes_clear(&list);
    return status;
}

static bool contains(const char *text, const char *part) {
    return strcasestr(text, part) != NULL;
}

/* How well a selector matches a device: 2: all of its name, 1: a part, 0: not. pocl calls its
 * platform "Portable Computing Language". */
static int match(const tsri_backend_entry *entry, const char *selector) {
    const char *const platforms[] = {
        entry->facts.platform,
        contains(entry->facts.platform, "Portable Computing Language") ? "pocl" : ""};
    int best = 0;
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        if (!*platforms[i])
            continue;
        snprintf(text, sizeof text, "%s/%s", platforms[i], entry->facts.name);
        if (strcasecmp(text, selector) == 0 || strcasecmp(entry->facts.name, selector) == 0)
            return 2;
        best = contains(text, selector) ? 1 : best;
    }
    return best;
}

static tsr_status take(const tsri_backend_set *set, const char *selector, size_t device,
                       size_t *out) {
    const tsri_backend_entry *entry = tsri_backend_at(set, device);
    if (!entry->facts.usable)
        return tsri_base_fail(TSR_E_ARGUMENT, "device \"%s\" (%s/%s) is not usable: %s", selector,
                              entry->facts.platform, entry->facts.name, entry->facts.reason);
    *out = device;
    return TSR_OK;
}

static tsr_status by_index(const tsri_backend_set *set, const char *selector, size_t *device) {
    char *end;
    const unsigned long index = strtoul(selector, &end, 10);
    if (strlen(selector) > 9 || index >= tsri_backend_count(set))
        return refuse(set, selector, "is not one of these", NULL);
    return take(set, selector, index, device);
}

/* The best-scored usable device of a type (where type >= 0) or of a backend, or another one like it. */
static tsr_status best_of(const tsri_backend_set *set, const char *selector, int type,
                          uint32_t turn, size_t *device) {
    long best = NO_DEVICE, unusable = NO_DEVICE;
    for (size_t i = 0; i < tsri_backend_count(set); i++) {
        const tsri_backend_entry *entry = tsri_backend_at(set, i);
        if (type >= 0 ? entry->facts.type != (uint32_t)type
                      : strcmp(entry->backend->name, selector) != 0)
            continue;
        if (!entry->facts.usable)
            unusable = unusable == NO_DEVICE ? (long)i : unusable;
        else if (best == NO_DEVICE ||
                 entry->facts.score > tsri_backend_at(set, (size_t)best)->facts.score)
            best = (long)i;
    }
    if (best == NO_DEVICE && unusable == NO_DEVICE)
        return refuse(set, selector, "is not available; these devices are", NULL);
    return take(set, selector,
                best == NO_DEVICE ? (size_t)unusable : in_turn(set, (size_t)best, turn), device);
}

static tsr_status by_name(const tsri_backend_set *set, const char *selector, size_t *device) {
    const size_t n = tsri_backend_count(set);
    bool *fits = NULL;
    int best = 0;
    size_t found = 0, last = 0;
    TRY(tsri_base_new(n, sizeof *fits, &fits));
    for (size_t i = 0; i < n; i++) {
        const int how = match(tsri_backend_at(set, i), selector);
        if (how > best) {
            memset(fits, 0, n * sizeof *fits);
            found = 0;
            best = how;
        }
        if (how > 0 && how == best) {
            fits[i] = true;
            found++;
            last = i;
        }
    }
    tsr_status status;
    if (found == 1)
        status = take(set, selector, last, device);
    else if (found > 1)
        status = refuse(set, selector,
                        "fits more than one; give the number of one, or more of its name", fits);
    else
        status = refuse(set, selector,
                        "fits none of these; give a number, a part of platform/device, gpu, cpu, "
                        "accelerator, or the name of a backend",
                        NULL);
    free(fits);
    return status;
}

static tsr_status select_named(const tsri_backend_set *set, const char *selector, uint32_t turn,
                               size_t *device) {
    static const struct {
        const char *name;
        tsr_device_type type;
    } types[] = {
        {"gpu", TSR_DEVICE_GPU}, {"cpu", TSR_DEVICE_CPU}, {"accelerator", TSR_DEVICE_ACCELERATOR}};
    if (strspn(selector, "0123456789") == strlen(selector))
        return by_index(set, selector, device);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(selector, types[i].name) == 0)
            return best_of(set, selector, (int)types[i].type, turn, device);
    for (size_t i = 0; i < tsri_backend_count(set); i++)
        if (strcmp(tsri_backend_at(set, i)->backend->name, selector) == 0)
            return best_of(set, selector, -1, turn, device);
    return by_name(set, selector, device);
}

tsr_status tsri_backend_select(const tsri_backend_set *set, const char *selector, uint32_t turn,
                               size_t *device) {
    if (selector && *selector)
        return select_named(set, selector, turn, device);
    const char *chosen = getenv("TESSERA_DEVICE");
    if (!chosen || !*chosen) {
        *device = in_turn(set, tsri_backend_default(set), turn);
        return TSR_OK;
    }
    const tsr_status status = select_named(set, chosen, turn, device);
    return status == TSR_OK ? status : tsri_base_fail_within(status, "TESSERA_DEVICE");
}

tsr_status tsri_backend_device_open(tsri_backend_set *set, size_t device,
                                    const tsr_device_options *options, tsri_backend_device **out) {
    const tsri_backend_entry *entry = tsri_backend_at(set, device);
    const tsr_device_options none = {.struct_size = sizeof none};
    tsri_backend_device *opened = NULL;
    TRY(tsri_base_new(1, sizeof *opened, &opened));
    *opened =
        (tsri_backend_device){.backend = entry->backend, .facts = entry->facts, .entry = device};
    const tsr_status status = entry->backend->device_open(entry->state, entry->index,
                                                          options ? options : &none, &opened->dev);
    if (status != TSR_OK) {
        free(opened);
        return tsri_base_fail_within(status, "%s/%s", entry->facts.platform, entry->facts.name);
    }
    *out = opened;
    return TSR_OK;
}

void tsri_backend_device_close(tsri_backend_device **device) {
    if (!*device)
        return;
    (*device)->backend->device_close((*device)->dev);
    free(*device);
    *device = NULL;
}

tsr_status tsri_backend_reference_open(tsri_backend_set *set, tsri_backend_device **out) {
    return tsri_backend_device_open(set, tsri_backend_count(set) - 1, NULL,
                                    out); /* it is listed last */
}
