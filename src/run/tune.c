/* run/tune.c - gathers groups of ops, and searches the values of a kernel variant for each
 * group. */
#include "run/tune.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "run/context.h"
#include "run/timing.h"
#include "run/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TUNABLES = 6,
    CASES = 3,       /* cases of a group: those with the most work */
    ROUNDS = 9,      /* timed runs of best and candidate */
    FEW = 3,         /* after this many runs a candidate that is clearly slower is dropped */
    ALL_VALUES = 12, /* a range with more values is searched by powers of two */
    MOST_TRIED = 256
};

/* Nanoseconds: after this time a slow op has been run often enough */
#define LONG UINT64_C(1000000000)

static const double worth = 0.98, hopeless = 1.2; /* as a share of the time of the best so far */

typedef struct values {
    int32_t of[TUNABLES];
} values;

/* A kernel variant with tunables, and the ops that it serves in the same way. */
typedef struct group {
    char op[48], row[64], condition[256], name[TUNABLES][32];
    uint32_t n_tunables, variant;
    int32_t lowest[TUNABLES], highest[TUNABLES];
    values first; /* the values in force before */
    int place;    /* its rank; 0: the variant that would be chosen */
    size_t cases[CASES], n_cases;
    double work;
    tsri_run_tuned found;
    char note[256];
} group;

struct tsri_run_tune {
    tsri_run_options options;
    const tsr_backend_tune *backend;
    size_t n_cases, cases_room, n_groups, groups_room;
    tsri_run_case *cases;
    group *groups;
    double *counts; /* for each case, how often the model has it */
    size_t counts_room;
};

tsr_status tsri_run_tune_create(const tsri_run_options *options, tsri_run_tune **out) {
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

void tsri_run_tune_destroy(tsri_run_tune **tune) {
    tsri_run_tune *t = *tune;
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cases; i++)
        tsri_run_case_clear(&t->cases[i]);
    free(t->cases);
    free(t->counts);
    free(t->groups);
    free(t);
    *tune = NULL;
}

/* --- gathering --- */

typedef struct gathering {
    tsri_run_tune *tune;
    size_t index; /* of the case */
    int place;
    tsr_status status;
} gathering;

/* Keeps the cases with the most work, largest first. */
static void add_case(tsri_run_tune *tune, group *g, size_t index) {
    size_t at = g->n_cases;
    while (at > 0 && tune->cases[g->cases[at - 1]].work < tune->cases[index].work)
        at--;
    if (at == CASES)
        return;
    const size_t last = g->n_cases < CASES ? g->n_cases++ : CASES - 1;
    memmove(&g->cases[at + 1], &g->cases[at], (last - at) * sizeof *g->cases);
    g->cases[at] = index;
}

static void add_row(void *data, const tsr_tunable_row *row) {
    gathering *to = data;
    tsri_run_tune *tune = to->tune;
    size_t i = 0;
    const int place = to->place++;
    bool choice = false;
    for (uint32_t t = 0; t < row->n_tunables; t++)
        choice |= row->tunables[t]->lowest < row->tunables[t]->highest;
    if (!choice)
        return;
    while (i < tune->n_groups &&
           (strcmp(tune->groups[i].op, row->op) || strcmp(tune->groups[i].row, row->row) ||
            strcmp(tune->groups[i].condition, row->condition)))
        i++;
    if (i == tune->n_groups) {
        if (to->status != TSR_OK || row->n_tunables > TUNABLES ||
            (to->status = tsri_base_grow(&tune->groups, &tune->groups_room, i + 1,
                                         sizeof *tune->groups)) != TSR_OK)
            return;
        group *g = &tune->groups[tune->n_groups++];
        *g = (group){.n_tunables = row->n_tunables, .variant = row->variant, .place = place};
        snprintf(g->op, sizeof g->op, "%s", row->op);
        snprintf(g->row, sizeof g->row, "%s", row->row);
        snprintf(g->condition, sizeof g->condition, "%s", row->condition);
        for (uint32_t t = 0; t < row->n_tunables; t++) {
            snprintf(g->name[t], sizeof g->name[t], "%s", row->tunables[t]->name);
            g->first.of[t] = row->tunables[t]->value;
            g->lowest[t] = row->tunables[t]->lowest;
            g->highest[t] = row->tunables[t]->highest;
        }
    }
    group *g = &tune->groups[i];
    g->place = place < g->place ? place : g->place;
    g->work += tune->cases[to->index].work;
    add_case(tune, g, to->index);
}

tsr_status tsri_run_tune_add_op(tsri_run_tune *tune, const tsr_op *op) {
    tsri_run_case fresh;
    const tsr_status made = tsri_run_case_make(op, 1, &fresh);
    if (made != TSR_OK) /* an op that writes a state has nothing to tune */
        return made == TSR_E_UNSUPPORTED ? TSR_OK : made;
    for (size_t i = 0; i < tune->n_cases; i++)
        if (tsri_run_case_same(&tune->cases[i], &fresh)) {
            tune->cases[i].work += fresh.work;
            tune->counts[i]++;
            tsri_run_case_clear(&fresh);
            return TSR_OK;
        }
    tsr_status status =
        tsri_base_grow(&tune->cases, &tune->cases_room, tune->n_cases + 1, sizeof *tune->cases);
    if (status == TSR_OK)
        status = tsri_base_grow(&tune->counts, &tune->counts_room, tune->n_cases + 1,
                                sizeof *tune->counts);
    if (status != TSR_OK) {
        tsri_run_case_clear(&fresh);
        return status;
    }
    tune->counts[tune->n_cases] = 1;
    tune->cases[tune->n_cases++] = fresh;
    return TSR_OK;
}

tsr_status tsri_run_tune_add_plan(tsri_run_tune *tune, const tsri_run_plan *plan) {
    for (size_t i = 0; i < tsri_run_step_count(plan); i++) {
        tsri_graph_op_store store;
        if (plan->placed->device[i] != 0)
            continue;
        tsri_graph_as_op(plan->placed->graph, tsri_graph_node_at(plan->placed->graph, i), &store);
        store.op.bounds = &plan->bounds;
        TRY(tsri_run_tune_add_op(tune, &store.op));
    }
    return TSR_OK;
}

static int by_use(const void *a, const void *b) {
    const group *x = a, *y = b;
    return x->place != y->place ? x->place - y->place : (x->work < y->work) - (x->work > y->work);
}

static tsr_status make_groups(tsri_run_tune *tune) {
    const tsri_backend_device *device = tune->options.devices[0];
    tune->n_groups = 0;
    for (size_t i = 0; i < tune->n_cases; i++) {
        gathering to = {tune, i, 0, TSR_OK};
        tsri_graph_op_store store;
        TRY(tune->backend->rows(device->dev, tsri_run_case_op(&tune->cases[i], &store), add_row,
                                &to));
        TRY(to.status);
    }
    qsort(tune->groups, tune->n_groups, sizeof *tune->groups, by_use);
    return TSR_OK;
}

/* --- one setting of a group --- */

typedef struct contender {
    values v;
    tsri_run_trial trials[CASES];
    size_t n;
} contender;

static void print_values(const group *g, const values *v, const char *separator, char *out,
                         size_t size) {
    size_t n = 0;
    out[0] = 0;
    for (uint32_t t = 0; t < g->n_tunables && n < size; t++)
        n += (size_t)snprintf(out + n, size - n, "%s%s=%" PRId32, t ? separator : "", g->name[t],
                              v->of[t]);
}

static void close_contender(contender *c) {
    for (size_t i = 0; i < c->n; i++)
        tsri_run_trial_close(&c->trials[i]);
    c->n = 0;
}

static tsr_status open_contender(const tsri_run_tune *tune, const group *g, const values *v,
                                 contender *out) {
    char text[160], kernels[320];
    tsri_run_options options = tune->options;
    print_values(g, v, ":", text, sizeof text);
    snprintf(kernels, sizeof kernels, "%s=%s:%s", g->op, g->row, text);
    options.kernels = kernels;
    *out = (contender){.v = *v};
    for (; out->n < g->n_cases; out->n++) {
        const tsr_status status =
            tsri_run_trial_open(&tune->cases[g->cases[out->n]], &options, &out->trials[out->n]);
        if (status != TSR_OK) {
            close_contender(out);
            return status;
        }
    }
    return TSR_OK;
}

/* Compares with the plain variant, for few rows, as it is slow. */
static tsr_status check_plain(const tsri_run_tune *tune, const group *g, contender *c, bool *near) {
    tsri_run_options options = tune->options;
    char kernels[64];
    snprintf(kernels, sizeof kernels, "%s=plain", g->op);
    options.kernels = kernels;
    *near = true;
    for (size_t i = 0; i < c->n && *near && strcmp(g->row, "plain") != 0; i++) {
        tsri_run_trial plain;
        const tsri_run_case *wanted = c->trials[i].c;
        TRY(tsri_run_trial_open(wanted, &options, &plain));
        tsr_status status = tsri_run_trial_results(&plain, wanted->small);
        if (status == TSR_OK)
            status = tsri_run_trial_results(&c->trials[i], wanted->small);
        if (status == TSR_OK)
            *near = tsri_run_trial_near(&c->trials[i], &plain);
        tsri_run_trial_close(&plain);
        TRY(status);
    }
    return TSR_OK;
}

/* Runs the cases at their full size, which is also the warm-up. */
static tsr_status run_whole(contender *c) {
    for (size_t i = 0; i < c->n; i++) {
        uint64_t ignored;
        TRY(tsri_run_trial_results(&c->trials[i], c->trials[i].c->sizes));
        TRY(tsri_run_trial_time(&c->trials[i], &ignored));
    }
    return TSR_OK;
}

static bool agrees(const group *g, const contender *a, const contender *b) {
    for (size_t i = 0; i < a->n; i++)
        if (g->variant ? !tsri_run_trial_near(&a->trials[i], &b->trials[i])
                       : !tsri_run_trial_same(&a->trials[i], &b->trials[i]))
            return false;
    return true;
}

static double median(const uint64_t *times, int n) {
    uint64_t sorted[ROUNDS];
    memcpy(sorted, times, (size_t)n * sizeof *times);
    return tsri_run_median(sorted, (size_t)n);
}

typedef struct duel {
    double a, b; /* medians, summed over the cases, each as often as the model has it */
} duel;

/* Times them in turn: best, candidate, best, candidate. */
static tsr_status compare(const tsri_run_tune *tune, const group *g, contender *a, contender *b,
                          duel *out) {
    *out = (duel){0};
    for (size_t i = 0; i < a->n; i++) {
        uint64_t x[ROUNDS], y[ROUNDS];
        const double count = tune->counts[g->cases[i]];
        const uint64_t end = tsri_base_now_ns() + LONG;
        int n = 0;
        for (; n < ROUNDS && !(n && tsri_base_now_ns() > end) &&
               !(n == FEW && median(y, n) > hopeless * median(x, n));
             n++) {
            TRY(tsri_run_trial_time(&a->trials[i], &x[n]));
            TRY(tsri_run_trial_time(&b->trials[i], &y[n]));
        }
        out->a += count * median(x, n);
        out->b += count * median(y, n);
    }
    return out->a > 0 && out->b > 0
               ? TSR_OK
               : tsri_base_fail(TSR_E_UNSUPPORTED,
                                "%s/%s does not measure launches, so it can't be tuned",
                                tune->options.devices[0]->facts.platform,
                                tune->options.devices[0]->facts.name);
}

/* --- the search --- */

typedef struct search {
    const tsri_run_tune *tune;
    const tsri_run_search *asked;
    group *g;
    uint64_t deadline; /* of the group */
    contender first, best;
    values tried[MOST_TRIED];
    size_t n_tried;
    bool stopped, moved; /* moved: the best is not the first */
} search;

static bool over(search *s) {
    s->stopped |= s->asked->stop && s->asked->stop(s->asked->data);
    return s->stopped || tsri_base_now_ns() >= s->deadline || s->n_tried == MOST_TRIED;
}

static bool was_tried(const search *s, const values *v) {
    for (size_t i = 0; i < s->n_tried; i++)
        if (!memcmp(&s->tried[i], v, sizeof *v))
            return true;
    return false;
}

/* A failure of the device ends the search; a candidate that can't be built does not. */
static bool fatal(tsr_status status) {
    return status == TSR_E_DEVICE || status == TSR_E_HOST_MEMORY || status == TSR_E_CANCELLED;
}

static tsr_status try_values(search *s, const values *v) {
    contender candidate;
    duel times;
    bool right = true;
    if (was_tried(s, v))
        return TSR_OK;
    s->tried[s->n_tried++] = *v;
    s->g->found.tried++;
    tsr_status status = open_contender(s->tune, s->g, v, &candidate);
    if (status != TSR_OK)
        return fatal(status) ? status : TSR_OK;
    /* The results of the first candidate were compared with those of the plain variant. */
    status = run_whole(&candidate);
    if (status == TSR_OK)
        right = agrees(s->g, &candidate, &s->first);
    s->g->found.wrong += status == TSR_OK && !right;
    if (status == TSR_OK && right)
        status = compare(s->tune, s->g, s->moved ? &s->best : &s->first, &candidate, &times);
    if (status != TSR_OK || !right || times.b >= worth * times.a) {
        close_contender(&candidate);
        return fatal(status) || status == TSR_E_UNSUPPORTED ? status : TSR_OK;
    }
    close_contender(&s->best);
    s->best = candidate;
    s->moved = true;
    return TSR_OK;
}

/* Tries the values of one tunable: all of a short range; of a long one the powers of two and both
 * ends. */
static tsr_status try_tunable(search *s, uint32_t t) {
    const group *g = s->g;
    const int64_t lowest = g->lowest[t], highest = g->highest[t];
    const bool all = highest - lowest < ALL_VALUES;
    for (int64_t value = lowest; value <= highest && !over(s);) {
        values v = s->moved ? s->best.v : s->first.v;
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
    group *g = s->g;
    duel times;
    print_values(g, &s->first.v, ",", g->found.before, sizeof g->found.before);
    print_values(g, s->moved ? &s->best.v : &s->first.v, ",", g->found.after,
                 sizeof g->found.after);
    TRY(compare(s->tune, g, &s->first, s->moved ? &s->best : &s->first, &times));
    g->found.before_ns = times.a;
    g->found.after_ns = times.b;
    g->found.kept = s->moved && times.b < worth * times.a;
    snprintf(g->note, sizeof g->note, "%s instead of %s: %.3g of the time in %u tried",
             g->found.after, g->found.before, times.b / times.a, g->found.tried);
    return TSR_OK;
}

static tsr_status search_group(tsri_run_tune *tune, group *g, const tsri_run_search *asked,
                               double seconds, bool *stopped) {
    search *s = NULL;
    bool right = true;
    TRY(tsri_base_new(1, sizeof *s, &s));
    s->tune = tune;
    s->asked = asked;
    s->g = g;
    s->deadline = tsri_base_now_ns() + (uint64_t)(seconds * 1e9);
    s->tried[s->n_tried++] = g->first;
    tsr_status status = open_contender(tune, g, &g->first, &s->first);
    if (status == TSR_OK)
        status = check_plain(tune, g, &s->first, &right);
    if (status == TSR_OK)
        status = run_whole(&s->first);
    for (bool again = right; status == TSR_OK && again && !over(s);) {
        const values before = s->moved ? s->best.v : s->first.v;
        for (uint32_t t = 0; t < g->n_tunables && status == TSR_OK && !over(s); t++)
            status = try_tunable(s, t);
        again = s->moved && memcmp(&before, &s->best.v, sizeof before) != 0;
    }
    if (status == TSR_OK)
        status = conclude(s);
    *stopped = s->stopped;
    close_contender(&s->best);
    close_contender(&s->first);
    free(s);
    /* A variant that can't run here by itself keeps its values. */
    if (status != TSR_OK && tune->options.log) {
        char line[640];
        snprintf(line, sizeof line, "%s/%s isn't tuned: %.400s", g->op, g->row,
                 tsri_base_reported());
        tune->options.log(tune->options.log_data, TSR_LOG_DEBUG, line);
    }
    return fatal(status) ? status : TSR_OK;
}

tsr_status tsri_run_tune_search(tsri_run_tune *tune, const tsri_run_search *asked) {
    const uint64_t end = tsri_base_now_ns() + (uint64_t)(asked->seconds * 1e9);
    bool stopped = false;
    TRY(make_groups(tune));
    for (size_t i = 0; i < tune->n_groups && !stopped; i++) {
        group *g = &tune->groups[i];
        const uint64_t now = tsri_base_now_ns();
        size_t alike = 0; /* groups that are searched before those of lower-ranked variants */
        for (size_t k = i; k < tune->n_groups; k++)
            alike += tune->groups[k].place == g->place;
        if (now >= end)
            break;
        g->found = (tsri_run_tuned){.op = g->op, .row = g->row, .condition = g->condition};
        TRY(search_group(tune, g, asked, (double)(end - now) / 1e9 / (double)alike, &stopped));
        if (asked->visit && *g->found.before)
            asked->visit(asked->data, &g->found);
    }
    return stopped ? tsri_base_fail(TSR_E_CANCELLED, "tuning was stopped") : TSR_OK;
}

tsr_status tsri_run_tune_keep(tsri_run_tune *tune, const char *path) {
    tsr_tuned *kept = NULL;
    const tsr_tuned **list = NULL;
    size_t n = 0;
    tsr_status status = tsri_base_new(tune->n_groups + 1, sizeof *kept, &kept);
    if (status == TSR_OK)
        status = tsri_base_new(tune->n_groups + 1, sizeof *list, &list);
    for (size_t i = 0; i < tune->n_groups && status == TSR_OK; i++) {
        const group *g = &tune->groups[i];
        if (!g->found.kept)
            continue;
        kept[n] = (tsr_tuned){.struct_size = sizeof *kept,
                              .op = g->op,
                              .row = g->row,
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
