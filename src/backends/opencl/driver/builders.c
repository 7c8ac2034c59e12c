/* backends/opencl/driver/builders.c - starts builders, hands orders to them, and hears that they are
 * done. */
#include "backends/opencl/driver/builders.h"
#include "backends/opencl/driver/helper.h"
#include "backends/opencl/driver/host.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SECONDS: of processor time for a program. */
enum { BUILDERS = 2, SECONDS = 120, SLICE_MS = 100 };

typedef struct builder {
    tsri_opencl_helper helper; /* without a child: it does not run */
    tsri_opencl_order *order;  /* what it builds; NULL: nothing, or an order that was withdrawn */
    bool busy;
    tsri_opencl_patience patience; /* where it is busy */
} builder;

struct tsri_opencl_builders {
    const tsr_state *state;
    char path[PATH_MAX]; /* the helper's */
    builder all[BUILDERS];
    tsri_opencl_order *first; /* those that wait, in the order in which they were given */
};

bool tsri_opencl_builds_ahead(void) {
    const char *cache = getenv("POCL_KERNEL_CACHE");
    return !(cache && !strcmp(cache, "0")) && tsri_system_cores_allowed() > 1;
}

tsri_opencl_builders *tsri_opencl_builders_new(const tsr_state *state) {
    tsri_opencl_builders *builders = NULL;
    if (tsri_base_new(1, sizeof *builders, &builders) != TSR_OK)
        return NULL;
    builders->state = state;
    if (tsri_opencl_helper_find(builders->path))
        return builders;
    free(builders);
    return NULL;
}

static bool start(const tsri_opencl_builders *builders, builder *b, const char *icd) {
    const char *const argv[] = {"probe", "--build", NULL};
    tsri_bytes text = {0};
    const char **env = NULL;
    const char *vendors = icd ? icd : builders->state->vendors;
    bool started = tsri_opencl_helper_environment(vendors, NULL, &text, &env) == TSR_OK;
    started = started && tsri_opencl_helper_open(&b->helper, builders->path, argv, env);
    free(env);
    tsri_base_bytes_clear(&text);
    return started;
}

/* Takes the builder's process away; an order that it had is over. */
static void stop(builder *b) {
    if (b->order)
        b->order->state = TSRI_OPENCL_ORDER_OVER;
    tsri_opencl_helper_clear(&b->helper);
    b->order = NULL;
    b->busy = false;
}

void tsri_opencl_builders_warm(tsri_opencl_builders *builders, const char *icd) {
    for (int i = 0; i < BUILDERS; i++)
        if (!builders->all[i].helper.child.process) {
            (void)start(builders, &builders->all[i], icd);
            return;
        }
}

/* One line of words separated by tabs, the last of which is the length of the source behind it. */
static bool hand_over(builder *b, tsri_opencl_order *order) {
    char head[1024];
    const int n = snprintf(head, sizeof head, "%s\t%s\t%s\t%zu\n", order->platform, order->device,
                           order->options, order->source->size);
    if (n < 0 || (size_t)n >= sizeof head ||
        !tsri_opencl_helper_send(&b->helper, head, (size_t)n) ||
        !tsri_opencl_helper_send(&b->helper, order->source->data, order->source->size))
        return false;
    order->state = TSRI_OPENCL_ORDER_RUNS;
    b->order = order;
    b->busy = true;
    tsri_opencl_patience_begin(&b->patience, &b->helper, tsri_opencl_helper_seconds(SECONDS));
    return true;
}

/* Ends a builder that is busy for too long, or has ended by itself; takes an answer. */
static void attend(builder *b) {
    bool answered = false, lives = true;
    if (!b->helper.child.process)
        return;
    lives = tsri_opencl_helper_hear(&b->helper, &answered);
    if (answered && b->busy) {
        if (b->order)
            b->order->state = TSRI_OPENCL_ORDER_OVER;
        b->order = NULL;
        b->busy = false;
    }
    if (!lives || (b->busy && tsri_opencl_helper_is_late(&b->helper, &b->patience)))
        stop(b);
}

/* A builder that runs and has nothing to do, else one that does not run. */
static builder *free_builder(tsri_opencl_builders *builders) {
    builder *found = NULL;
    for (int i = 0; i < BUILDERS; i++) {
        builder *b = &builders->all[i];
        attend(b);
        if (b->busy)
            continue;
        if (b->helper.child.process)
            return b;
        found = b;
    }
    return found;
}

void tsri_opencl_builders_tend(tsri_opencl_builders *builders) {
    builder *b;
    while (builders->first && (b = free_builder(builders)) != NULL) {
        tsri_opencl_order *order = builders->first;
        builders->first = order->next;
        if ((b->helper.child.process || start(builders, b, NULL)) && hand_over(b, order))
            continue;
        order->state = TSRI_OPENCL_ORDER_OVER;
        stop(b);
    }
}

void tsri_opencl_builders_give(tsri_opencl_builders *builders, tsri_opencl_order *order) {
    tsri_opencl_order **end = &builders->first;
    while (*end)
        end = &(*end)->next;
    order->state = TSRI_OPENCL_ORDER_WAITS;
    order->next = NULL;
    *end = order;
    tsri_opencl_builders_tend(builders);
}

static builder *builder_of(tsri_opencl_builders *builders, const tsri_opencl_order *order) {
    for (int i = 0; i < BUILDERS; i++)
        if (builders->all[i].order == order)
            return &builders->all[i];
    return NULL;
}

/* Waits a little for any of those that are busy. */
static void rest(tsri_opencl_builders *builders) {
    struct pollfd fds[BUILDERS];
    for (int i = 0; i < BUILDERS; i++) {
        const builder *b = &builders->all[i];
        fds[i] = (struct pollfd){b->busy ? (int)b->helper.child.out : -1, POLLIN, 0};
    }
    (void)poll(fds, BUILDERS, SLICE_MS);
}

tsr_status tsri_opencl_builders_wait(tsri_opencl_builders *builders, const tsri_opencl_order *order,
                                     const tsr_state *state) {
    for (;;) {
        for (int i = 0; i < BUILDERS; i++)
            attend(&builders->all[i]);
        tsri_opencl_builders_tend(builders);
        if (order->state == TSRI_OPENCL_ORDER_OVER || order->state == TSRI_OPENCL_ORDER_NONE)
            return TSR_OK;
        if (tsri_opencl_stops(state))
            return tsri_base_fail(TSR_E_CANCELLED, "stopped while building kernels");
        rest(builders);
    }
}

void tsri_opencl_builders_withdraw(tsri_opencl_builders *builders, tsri_opencl_order *order) {
    if (!builders || !order->state)
        return;
    for (tsri_opencl_order **at = &builders->first; *at; at = &(*at)->next)
        if (*at == order) {
            *at = order->next;
            break;
        }
    builder *b = builder_of(builders, order);
    if (b)
        b->order = NULL;
    order->state = TSRI_OPENCL_ORDER_NONE;
}

void tsri_opencl_builders_free(tsri_opencl_builders **builders) {
    if (!*builders)
        return;
    for (int i = 0; i < BUILDERS; i++)
        stop(&(*builders)->all[i]);
    free(*builders);
    *builders = NULL;
}
