/* tune/tune.c - gathers groups of ops, and searches the values of a kernel variant for each
 * group. */
#include "tune/tune.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "graph/ops.h"
#include "tensor/operands.h"
#include "tune/contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALL_VALUES = 12, /* a range with more values is searched by powers of two */
    MOST_TRIED = 256
};

static const double worth = 0.98; /* as a share of the time of the best so far */

tsr_status tsri_tune_create(const tsri_run_options *options, tsri_tune **out) {
    const tsri_backend_device *device = options->devices[0];
    const tsr_backend_tune *backend =
        tsri_backend_extension(options->set, device->entry, "tsr.tune/1");
    *out = NULL;
    if (!backend)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "the backend %s of %s/%s has no kernel variants that can be tuned",
                              device->backend->name, device->facts.platform, device->facts.name);
    TRY(tsri_base_new(1, sizeof **out, out));
    (*out)->options = *options;
    (*out)->options.n_devices = 1;
    (*out)->options.kernels = NULL;
    (*out)->backend = backend;
    return TSR_OK;
}

void tsri_tune_destroy(tsri_tune **tune) {
    tsri_tune *t = *tune;
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cases; i++)
        tsri_tune_case_clear(&t->cases[i]);
    free(t->cases);
    free(t->counts);
    free(t->groups);
    free(t);
    *tune = NULL;
}

/* --- gathering --- */

typedef struct gathering {
    tsri_tune *tune;
    size_t index; /* of the case */
    int place;
    tsr_status status;
} gathering;

/* Keeps the cases with the most work, largest first. */
static void add_case(tsri_tune *tune, tsri_tune_group *g, size_t index) {
    size_t at = g->n_cases;
    while (at > 0 && tune->cases[g->cases[at - 1]].work < tune->cases[index].work)
        at--;
    if (at == TSRI_TUNE_CASES)
        return;
    const size_t last = g->n_cases < TSRI_TUNE_CASES ? g->n_cases++ : TSRI_TUNE_CASES - 1;
    memmove(&g->cases[at + 1], &g->cases[at], (last - at) * sizeof *g->cases);
    g->cases[at] = index;
}

/* variant "": it is about all of the op's. */
static void tell_not_tuned(const tsri_tune *tune, tsr_log_level level, const char *op,
                           const char *variant, const char *why) {
    char line[640];
    snprintf(line, sizeof line, "%s%s%s isn't tuned: %.400s", op, *variant ? "/" : "", variant,
             why);
    if (tune->options.log)
        tune->options.log(tune->options.log_data, level, line);
}

static void add_variant(void *data, const tsr_tunable_variant *variant) {
    gathering *to = data;
    tsri_tune *tune = to->tune;
    size_t i = 0;
    const int place = to->place++;
    bool choice = false;
    for (uint32_t t = 0; t < variant->n_tunables; t++)
        choice |= variant->tunables[t]->lowest < variant->tunables[t]->highest;
    if (!choice)
        return;
    if (variant->n_tunables > TSRI_RUN_TUNABLES) {
        tell_not_tuned(tune, TSR_LOG_WARNING, variant->op, variant->variant,
                       "it has more than 16 tunables");
        return;
    }
    while (i < tune->n_groups && (strcmp(tune->groups[i].op, variant->op) ||
                                  strcmp(tune->groups[i].variant, variant->variant) ||
                                  strcmp(tune->groups[i].condition, variant->condition)))
        i++;
    if (i == tune->n_groups) {
        if (to->status != TSR_OK ||
            (to->status = tsri_base_grow(&tune->groups, &tune->groups_room, i + 1,
                                         sizeof *tune->groups)) != TSR_OK)
            return;
        tsri_tune_group *g = &tune->groups[tune->n_groups++];
        *g = (tsri_tune_group){.n_tunables = variant->n_tunables,
                               .batch_variant = variant->batch_variant,
                               .place = place};
        snprintf(g->op, sizeof g->op, "%s", variant->op);
        snprintf(g->variant, sizeof g->variant, "%s", variant->variant);
        snprintf(g->condition, sizeof g->condition, "%s", variant->condition);
        for (uint32_t t = 0; t < variant->n_tunables; t++) {
            snprintf(g->name[t], sizeof g->name[t], "%s", variant->tunables[t]->name);
            g->first.of[t] = variant->tunables[t]->value;
            g->lowest[t] = variant->tunables[t]->lowest;
            g->highest[t] = variant->tunables[t]->highest;
        }
    }
    tsri_tune_group *g = &tune->groups[i];
    g->place = place < g->place ? place : g->place;
    g->work += tune->cases[to->index].work;
    add_case(tune, g, to->index);
}

tsr_status tsri_tune_add_op(tsri_tune *tune, const tsr_op *op) {
    tsri_tune_case fresh;
    if (tsri_tensor_op_writes(op->id)) /* it has nothing to tune */
        return TSR_OK;
    const tsr_status made = tsri_tune_case_make(op, 1, &fresh);
    if (made == TSR_E_UNSUPPORTED) {
        const tsri_graph_op_row *row = tsri_graph_op_find((tsr_op_id)op->id);
        tell_not_tuned(tune, TSR_LOG_WARNING, row ? row->name : "an op", "", tsri_base_reported());
        return TSR_OK;
    }
    TRY(made);
    for (size_t i = 0; i < tune->n_cases; i++)
        if (tsri_tune_case_same(&tune->cases[i], &fresh)) {
            tune->cases[i].work += fresh.work;
            tune->counts[i]++;
            tsri_tune_case_clear(&fresh);
            return TSR_OK;
        }
    tsr_status status =
        tsri_base_grow(&tune->cases, &tune->cases_room, tune->n_cases + 1, sizeof *tune->cases);
    if (status == TSR_OK)
        status = tsri_base_grow(&tune->counts, &tune->counts_room, tune->n_cases + 1,
                                sizeof *tune->counts);
    if (status != TSR_OK) {
        tsri_tune_case_clear(&fresh);
        return status;
    }
    tune->counts[tune->n_cases] = 1;
    tune->cases[tune->n_cases++] = fresh;
    return TSR_OK;
}

tsr_status tsri_tune_add_plan(tsri_tune *tune, const tsri_run_plan *plan) {
    for (size_t i = 0; i < tsri_run_step_count(plan); i++) {
        tsri_graph_op_store store;
        if (plan->placed->device[i] != 0)
            continue;
        tsri_graph_as_op(plan->placed->graph, tsri_graph_node_at(plan->placed->graph, i), &store);
        store.op.bounds = &plan->bounds;
        TRY(tsri_tune_add_op(tune, &store.op));
    }
    return TSR_OK;
}

static int by_use(const void *a, const void *b) {
    const tsri_tune_group *x = a, *y = b;
    return x->place != y->place ? x->place - y->place : (x->work < y->work) - (x->work > y->work);
}

static tsr_status make_groups(tsri_tune *tune) {
    const tsri_backend_device *device = tune->options.devices[0];
    tune->n_groups = 0;
    for (size_t i = 0; i < tune->n_cases; i++) {
        gathering to = {tune, i, 0, TSR_OK};
        tsri_graph_op_store store;
        TRY(tune->backend->rows(device->dev, tsri_tune_case_op(&tune->cases[i], &store),
                                add_variant, &to));
        TRY(to.status);
    }
    qsort(tune->groups, tune->n_groups, sizeof *tune->groups, by_use);
    return TSR_OK;
}

/* --- the search --- */

typedef struct search {
    const tsri_tune *tune;
    const tsri_tune_options *asked;
    tsri_tune_group *g;
    uint64_t deadline; /* of the group */
    tsri_tune_contender first, best;
    tsri_tune_values tried[MOST_TRIED];
    size_t n_tried;
    bool stopped, moved; /* moved: the best is not the first */
    bool unmeasured;     /* the device's events gave no time: the search failed with that */
} search;

static bool over(search *s) {
    s->stopped |= s->asked->stop && s->asked->stop(s->asked->data);
    return s->stopped || tsri_base_now_ns() >= s->deadline || s->n_tried == MOST_TRIED;
}

static bool was_tried(const search *s, const tsri_tune_values *v) {
    for (size_t i = 0; i < s->n_tried; i++)
        if (!memcmp(&s->tried[i], v, sizeof *v))
            return true;
    return false;
}

/* A failure of the device ends the search; a candidate that can't be built does not. */
static bool fatal(tsr_status status) {
    return status == TSR_E_DEVICE || status == TSR_E_HOST_MEMORY || status == TSR_E_CANCELLED;
}

static tsr_status try_values(search *s, const tsri_tune_values *v) {
    tsri_tune_contender candidate;
    tsri_tune_duel times = {0};
    bool right = true;
    if (was_tried(s, v))
        return TSR_OK;
    s->tried[s->n_tried++] = *v;
    s->g->found.tried++;
    tsr_status status = tsri_tune_contender_open(s->tune, s->g, v, &candidate);
    if (status != TSR_OK)
        return fatal(status) ? status : TSR_OK;
    /* The results of the first candidate were compared with those of the plain variant. */
    status = tsri_tune_contender_warm(&candidate);
    if (status == TSR_OK)
        right = tsri_tune_contender_agrees(s->g, &candidate, &s->first);
    s->g->found.wrong += status == TSR_OK && !right;
    if (status == TSR_OK && right)
        status = tsri_tune_contender_compare(s->tune, s->g, s->moved ? &s->best : &s->first,
                                             &candidate, &times);
    s->unmeasured |= times.unmeasured;
    if (status != TSR_OK || !right || times.b >= worth * times.a) {
        tsri_tune_contender_close(&candidate);
        return fatal(status) || s->unmeasured ? status : TSR_OK;
    }
    tsri_tune_contender_close(&s->best);
    s->best = candidate;
    s->moved = true;
    return TSR_OK;
}

/* Tries the values of one tunable: all of a short range; of a long one the powers of two and both
 * ends. */
static tsr_status try_tunable(search *s, uint32_t t) {
    const tsri_tune_group *g = s->g;
    const int64_t lowest = g->lowest[t], highest = g->highest[t];
    const bool all = highest - lowest < ALL_VALUES;
    for (int64_t value = lowest; value <= highest && !over(s);) {
        tsri_tune_values v = s->moved ? s->best.v : s->first.v;
        v.of[t] = (int32_t)value;
        TRY(try_values(s, &v));
        int64_t next = value + 1;
        if (!all) {
            for (next = 1; next <= value;)
                next *= 2;
            next = next > highest && value < highest ? highest : next;
        }
        value = next;
    }
    return TSR_OK;
}

/* Times first and best once more, so that what is kept and reported was measured at the same
 * time. */
static tsr_status conclude(search *s) {
    tsri_tune_group *g = s->g;
    tsri_tune_duel times;
    tsri_tune_values_print(g, &s->first.v, ",", g->found.before, sizeof g->found.before);
    tsri_tune_values_print(g, s->moved ? &s->best.v : &s->first.v, ",", g->found.after,
                           sizeof g->found.after);
    const tsr_status status =
        tsri_tune_contender_compare(s->tune, g, &s->first, s->moved ? &s->best : &s->first, &times);
    s->unmeasured |= times.unmeasured;
    TRY(status);
    g->found.before_ns = times.a;
    g->found.after_ns = times.b;
    g->found.kept = s->moved && times.b < worth * times.a;
    snprintf(g->note, sizeof g->note, "%s instead of %s: %.3g of the time in %u tried",
             g->found.after, g->found.before, times.b / times.a, g->found.tried);
    return TSR_OK;
}

static void take_values(void *data, const tsr_tunable_variant *variant) {
    tsri_tune_group *g = data;
    for (uint32_t t = 0; t < g->n_tunables && !strcmp(variant->variant, g->variant); t++)
        g->first.of[t] = variant->tunables[t]->value;
}

/* Opens the group's variant with its first values. Where the device doesn't take those of the tables,
 * the backend finds out when it may choose: the first values are then the defaults. */
static tsr_status open_first(tsri_tune *tune, tsri_tune_group *g, tsri_tune_contender *first) {
    tsri_graph_op_store store;
    const tsr_op *op = tsri_tune_case_op(&tune->cases[g->cases[0]], &store);
    const tsr_status status = tsri_tune_contender_open(tune, g, &g->first, first);
    if (status == TSR_OK || fatal(status))
        return status;
    TRY(tsri_tune_contender_open(tune, g, NULL, first));
    tsri_tune_contender_close(first);
    TRY(tune->backend->rows(tune->options.devices[0]->dev, op, take_values, g));
    return tsri_tune_contender_open(tune, g, &g->first, first);
}

/* TSR_E_UNSUPPORTED: the device measured nothing. */
static tsr_status search_group(tsri_tune *tune, tsri_tune_group *g, const tsri_tune_options *asked,
                               double seconds, bool *stopped) {
    search *s = NULL;
    bool right = true;
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->tune = tune;
    s->asked = asked;
    s->g = g;
    s->deadline = tsri_base_now_ns() + (uint64_t)(seconds * 1e9);
    tsr_status status = open_first(tune, g, &s->first);
    s->tried[s->n_tried++] = g->first;
    if (status == TSR_OK)
        status = tsri_tune_contender_check(tune, g, &s->first, &right);
    if (status == TSR_OK)
        status = tsri_tune_contender_warm(&s->first);
    for (bool again = right; status == TSR_OK && again && !over(s);) {
        const tsri_tune_values before = s->moved ? s->best.v : s->first.v;
        for (uint32_t t = 0; t < g->n_tunables && status == TSR_OK && !over(s); t++)
            status = try_tunable(s, t);
        again = s->moved && memcmp(&before, &s->best.v, sizeof before) != 0;
    }
    if (status == TSR_OK)
        status = conclude(s);
    *stopped = s->stopped;
    const bool ends = fatal(status) || s->unmeasured;
    tsri_tune_contender_close(&s->best);
    tsri_tune_contender_close(&s->first);
    free(s);
    /* A variant that can't run here by itself keeps its values. */
    if (status != TSR_OK)
        tell_not_tuned(tune, TSR_LOG_DEBUG, g->op, g->variant, tsri_base_reported());
    return ends ? status : TSR_OK;
}

/* Keeps what was found until now: for the device, or as lines of the file at `path`. */
static tsr_status keep_found(tsri_tune *tune, const char *path) {
    tsr_tuned *kept = NULL;
    const tsr_tuned **list = NULL;
    size_t n = 0;
    tsr_status status = tsri_base_new(tune->n_groups + 1, sizeof *kept, &kept);
    if (status == TSR_OK)
        status = tsri_base_new(tune->n_groups + 1, sizeof *list, &list);
    for (size_t i = 0; i < tune->n_groups && status == TSR_OK; i++) {
        const tsri_tune_group *g = &tune->groups[i];
        if (!g->found.kept)
            continue;
        kept[n] = (tsr_tuned){.struct_size = sizeof *kept,
                              .op = g->op,
                              .variant = g->variant,
                              .condition = g->condition,
                              .values = g->found.after,
                              .note = g->note};
        list[n] = &kept[n];
        n++;
    }
    if (status == TSR_OK && (n || path))
        status = tune->backend->keep(tune->options.devices[0]->dev, path, list, n);
    free(list);
    free(kept);
    return status;
}

static tsr_status keep_all(tsri_tune *tune, const tsri_tune_options *asked) {
    TRY(keep_found(tune, NULL));
    return asked->write ? keep_found(tune, asked->write) : TSR_OK;
}

tsr_status tsri_tune_search(tsri_tune *tune, const tsri_tune_options *asked) {
    const uint64_t end = tsri_base_now_ns() + (uint64_t)(asked->seconds * 1e9);
    bool stopped = false, measured = false;
    TRY(make_groups(tune));
    for (size_t i = 0; i < tune->n_groups && !stopped; i++) {
        tsri_tune_group *g = &tune->groups[i];
        const uint64_t now = tsri_base_now_ns();
        size_t alike = 0; /* groups that are searched before those of lower-ranked variants */
        for (size_t k = i; k < tune->n_groups; k++)
            alike += tune->groups[k].place == g->place;
        if (now >= end)
            break;
        g->found = (tsri_tune_tuned){.op = g->op, .variant = g->variant, .condition = g->condition};
        const tsr_status status =
            search_group(tune, g, asked, (double)(end - now) / 1e9 / (double)alike, &stopped);
        /* A coarse clock may give no time for the shortest ops alone. */
        if (status != TSR_OK && !(status == TSR_E_UNSUPPORTED && measured))
            return status;
        measured |= g->found.before_ns > 0;
        if (g->found.kept)
            TRY(keep_all(tune, asked));
        if (asked->visit && g->found.before_ns > 0)
            asked->visit(asked->data, &g->found);
    }
    TRY(keep_all(tune, asked));
    return stopped ? tsri_base_fail(TSR_E_CANCELLED, "tuning was stopped") : TSR_OK;
}
