/* cli/commands/verify.c - tessera verify: compares every kernel variant that fits with the
 * reference, or times it. */
#include "cli/base/devices.h"
#include "cli/base/json.h"
#include "cli/base/watch.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

typedef struct worst { /* of one op and kernel variant */
    char op[64], variant[96], name[128], reason[256];
    double error, bound;
    unsigned cases, misses;
} worst;

typedef struct skip { /* variants that ran no case, or not all that they fit, by reason */
    char why[320];
    unsigned rows;
} skip;

typedef struct job {
    tsri_cli_app app;
    const char *op, *variants; /* only these; NULL: all */
    bool smoke, bench, has_most_flops;
    int64_t most_flops;
    float seconds; /* for each variant and case of the benchmark */
    json_t *results;
    char *device;      /* the open one: "platform / name" */
    char heading[192]; /* op and case of the latest result of the benchmark */
    worst *worst;
    size_t n, room;
    skip *skips;
    size_t n_skips, skips_room;
} job;

static const char *status_name(uint32_t status) {
    static const char *const names[] = {"ok", "miss", "not offered", "skipped", "error", "timed"};
    return status < sizeof names / sizeof *names ? names[status] : "error";
}

static worst *find(job *j, const tsr_verify_result *r) {
    for (size_t i = j->n; i-- > 0;)
        if (!strcmp(j->worst[i].op, r->op) && !strcmp(j->worst[i].variant, r->variant))
            return &j->worst[i];
    if (j->n == j->room) {
        const size_t room = j->room ? j->room * 2 : 64;
        worst *grown = realloc(j->worst, room * sizeof *grown);
        if (!grown)
            return NULL;
        j->worst = grown;
        j->room = room;
    }
    worst *w = &j->worst[j->n++];
    *w = (worst){.bound = 1};
    snprintf(w->op, sizeof w->op, "%s", r->op);
    snprintf(w->variant, sizeof w->variant, "%s", r->variant);
    return w;
}

static bool count_skip(job *j, const char *why) {
    size_t i = 0;
    while (i < j->n_skips && strcmp(j->skips[i].why, why) != 0)
        i++;
    if (i == j->skips_room) {
        const size_t room = i ? i * 2 : 32;
        skip *grown = realloc(j->skips, room * sizeof *grown);
        if (!grown)
            return false;
        j->skips = grown;
        j->skips_room = room;
    }
    if (i == j->n_skips) {
        j->skips[j->n_skips] = (skip){.rows = 0};
        snprintf(j->skips[j->n_skips++].why, sizeof j->skips->why, "%s", why);
    }
    j->skips[i].rows++;
    return true;
}

static int take(void *data, const tsr_verify_result *r) {
    job *j = data;
    if (j->app.json)
        tsri_cli_json_append(j->results,
                             json_pack("{s:o,s:s,s:s,s:s,s:o,s:o,s:s,s:s,s:s}", "device",
                                       tsri_cli_json_string(j->device), "op", r->op, "variant",
                                       r->variant, "case", r->name, "error",
                                       tsri_cli_json_number(r->error), "bound",
                                       tsri_cli_json_number(r->bound), "reason", r->reason,
                                       "status", status_name(r->status), "message", r->message));
    else if (!*r->name) { /* about a variant or an op */
        tsri_cli_print(&j->app, "%-14s %-40s %s: %s\n", r->op, r->variant, status_name(r->status),
                       r->message);
        if (r->status == TSR_VERIFY_SKIPPED && !count_skip(j, r->message))
            return 1;
    } else {
        worst *w = find(j, r);
        if (!w)
            return 1;
        const bool bad = r->status == TSR_VERIFY_MISS || r->status == TSR_VERIFY_ERROR;
        if (bad)
            tsri_cli_print(&j->app, "%-14s %-40s %s in %s: error %.3g, bound %.3g: %s\n", r->op,
                           r->variant, status_name(r->status), r->name, r->error, r->bound,
                           r->message);
        if (w->cases == 0 || r->error * w->bound > w->error * r->bound) {
            w->error = r->error;
            w->bound = r->bound;
            snprintf(w->name, sizeof w->name, "%s", r->name);
            snprintf(w->reason, sizeof w->reason, "%s", r->reason);
        }
        w->cases++;
        w->misses += bad;
    }
    return tsri_cli_signal() || j->app.stopped;
}

/* ---- the benchmark ---- */

static json_t *known(double value) {
    return value > 0 ? json_real(value) : json_null();
}

static void print_timed(job *j, const tsr_verify_result *r) {
    char heading[sizeof j->heading], share[32] = "", ratio[32] = "";
    snprintf(heading, sizeof heading, "%s  %s", r->op, r->name);
    if (strcmp(heading, j->heading) != 0)
        tsri_cli_print(&j->app, "%s\n", strcpy(j->heading, heading));
    if (r->status != TSR_VERIFY_TIMED) {
        tsri_cli_print(&j->app, "  %-38s %s: %s\n", r->variant, status_name(r->status), r->message);
        return;
    }
    if (r->peak_share > 0)
        snprintf(share, sizeof share, "  %6.1f %% of peak", 100 * r->peak_share);
    if (r->plain_ratio > 0)
        snprintf(ratio, sizeof ratio, "  %8.2f x plain", r->plain_ratio);
    tsri_cli_print(
        &j->app, "  %-38s %11.1f us best %11.1f us median %8.1f GFLOP/s %7.1f GB/s%s%s\n",
        r->variant, r->best_seconds * 1e6, r->median_seconds * 1e6,
        r->flops / r->best_seconds * 1e-9, r->bytes / r->best_seconds * 1e-9, share, ratio);
}

static int take_timed(void *data, const tsr_verify_result *r) {
    job *j = data;
    if (j->app.json)
        tsri_cli_json_append(
            j->results, json_pack("{s:o,s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:i,s:o,s:o,s:o,s:o}", "device",
                                  tsri_cli_json_string(j->device), "op", r->op, "variant",
                                  r->variant, "case", r->name, "status", status_name(r->status),
                                  "message", r->message, "best_seconds", known(r->best_seconds),
                                  "median_seconds", known(r->median_seconds), "runs", (int)r->runs,
                                  "flops", known(r->flops), "bytes", known(r->bytes), "of_peak",
                                  known(r->peak_share), "ratio_to_plain", known(r->plain_ratio)));
    else
        print_timed(j, r);
    tsri_cli_flush(&j->app);
    return tsri_cli_signal() || j->app.stopped;
}

/* ---- a device ---- */

/* Prints how many cases ran, which variants did not run, and why. */
static void close_report(job *j, const tsr_verify_summary *summary) {
    if (j->bench) {
        tsri_cli_print(&j->app, "%u timed, %u failed to run, %u skipped, %u ops not offered\n",
                       summary->timed, summary->errors, summary->skipped, summary->not_offered);
        return;
    }
    if (j->n_skips)
        tsri_cli_print(&j->app, "skipped variants:\n");
    for (size_t i = 0; i < j->n_skips; i++)
        tsri_cli_print(&j->app, "%5u  %s\n", j->skips[i].rows, j->skips[i].why);
    tsri_cli_print(&j->app,
                   "%u ok on %zu variants, %u missed, %u failed to run, %u variants skipped, %u "
                   "ops not offered\n",
                   summary->ok, j->n, summary->misses, summary->errors, summary->skipped,
                   summary->not_offered);
}

static int open_device(job *j) {
    tsr_device_info info;
    int code = tsri_cli_open_device(&j->app);
    if (code == CLI_OK)
        code = tsri_cli_device_info(&j->app, &info);
    free(j->device);
    j->device = NULL;
    if (code != CLI_OK || asprintf(&j->device, "%s / %s", info.facts.platform, info.facts.name) > 0)
        return code;
    j->device = NULL;
    return tsri_cli_fail(CLI_OTHER, "out of memory");
}

static int verify_device(job *j) {
    tsr_verify_summary summary = {.struct_size = sizeof summary};
    const tsr_verify_options options = {.struct_size = sizeof options,
                                        .level = j->smoke,
                                        .most_flops = (double)j->most_flops,
                                        .op = j->op,
                                        .variants = j->variants,
                                        .bench_seconds = j->bench ? (double)j->seconds : 0};
    int code = open_device(j);
    if (code != CLI_OK)
        return code;
    j->n = j->n_skips = 0;
    const tsr_status status =
        tsr_verify(j->app.device, &options, j->bench ? take_timed : take, j, &summary);
    if (status != TSR_OK && status != TSR_E_CANCELLED)
        code = tsri_cli_status(status);
    for (size_t i = 0; i < j->n && !j->app.json; i++) {
        const worst *w = &j->worst[i];
        tsri_cli_print(
            &j->app, "%-14s %-40s %u cases, %u missed; worst error %.3g of %.3g in %s (%s)\n",
            w->op, w->variant, w->cases, w->misses, w->error, w->bound, w->name, w->reason);
    }
    if (status == TSR_E_CANCELLED && tsri_cli_signal()) {
        tsri_cli_flush(&j->app);
        code = j->bench
                   ? tsri_cli_fail(128 + tsri_cli_signal(),
                                   "interrupted after %u of %u ops: %u timed, %u failed to run",
                                   summary.ops_done, summary.ops, summary.timed, summary.errors)
                   : tsri_cli_fail(
                         128 + tsri_cli_signal(),
                         "interrupted after %u of %u ops: %u ok, %u missed, %u failed to run",
                         summary.ops_done, summary.ops, summary.ok, summary.misses, summary.errors);
    } else if (!j->app.json && code == CLI_OK)
        close_report(j, &summary);
    tsri_cli_flush(&j->app);
    tsr_device_close(&j->app.device);
    return code != CLI_OK ? code : summary.misses + summary.errors ? CLI_MISS : CLI_OK;
}

/* One of --device all. */
static int verify_one(void *data, const tsr_device_info *device) {
    job *j = data;
    if (!j->app.json)
        tsri_cli_print(&j->app, "%s / %s\n", device->facts.platform, device->facts.name);
    return verify_device(j);
}

static int check_op(const char *op) {
    enum { MOST_OPS = 256 };
    const char *names[MOST_OPS];
    char all[4096] = "";
    size_t n = 0, used = 0;
    for (; n < MOST_OPS && (names[n] = tsr_verify_op_name(n)); n++) {
        if (!op || !strcmp(op, names[n]))
            return CLI_OK;
        if (used < sizeof all)
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s%s", n ? ", " : "", names[n]);
    }
    const char *meant = tsr_name_nearest(op, names, n);
    return tsri_cli_fail(CLI_USAGE,
                         meant ? "--op %s: no op has this name. Did you mean %s?"
                               : "--op %s: no op has this name; the ops are %s",
                         op, meant ? meant : all);
}

int tsri_cli_verify(int argc, char **argv) {
    job j = {0};
    j.seconds = 0.2f;
    j.app.no_self_test = true; /* a wrong variant must be reported as a miss, not refused */
    const tsri_cli_option own[] = {
        {"op", 0, CLI_TEXT, &j.op, "OP", "verify only this op", 0, 0, NULL},
        {"variant", 0, CLI_TEXT, &j.variants, "NAME[:TUNABLE=N]..[,NAME]..",
         "with --op: verify only these kernel variants, with these values of their tunables, and "
         "fail if one of them can't run, or doesn't run every case that fits it",
         0, 0, NULL},
        {"smoke", 0, CLI_FLAG, &j.smoke, NULL,
         "run only a few cases of each kernel variant: a large one, and, where the device would "
         "choose the variant, one for each type of weights and one for each edge",
         0, 0, NULL},
        {"most-flops", 0, CLI_INT, &j.most_flops, "N",
         "with --smoke: the largest case of up to N operations, for simulators (default: 16777216)",
         1, INT64_C(1) << 50, &j.has_most_flops},
        {"bench", 0, CLI_FLAG, &j.bench, NULL,
         "compare nothing; time the variants on cases with sizes as models have them", 0, 0, NULL},
        {"seconds", 0, CLI_REAL, &j.seconds, "S",
         "with --bench: time each variant and case for about S seconds (default: 0.2)", 1e-4, 10,
         NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_device_options(&j.app),
                                       tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app), NULL};
    tsri_cli_watch_patience(CLI_END_MS);
    int code = tsri_cli_parse(
        argc, argv, "tessera verify [--device D|all] [--op OP [--variant NAME]] [--smoke|--bench]",
        "Runs every op's test cases on every kernel variant that fits the "
        "device, and compares the results\nwith the reference; or, with "
        "--bench, times the variants: best and median of several runs,\n"
        "GFLOP/s, GB/s, share of the device's measured peak, and how much "
        "faster than the variant `plain`.\nWith --device all, a device that can't be opened is "
        "reported, and the others are verified. Each\nresult of --json names its device; after "
        "Ctrl-C, those so far are printed.",
        tables, NULL);
    if (code == CLI_OK)
        code = tsri_cli_refuse_profile(&j.app, "verify");
    if (code == CLI_OK && j.smoke && j.bench)
        code = tsri_cli_fail(CLI_USAGE, "--smoke and --bench can't be combined");
    if (code == CLI_OK && j.has_most_flops && !j.smoke)
        code = tsri_cli_fail(CLI_USAGE, "--most-flops needs --smoke: without it all cases are run");
    if (code == CLI_OK)
        code = check_op(j.op);
    if (code == CLI_OK && j.variants && (!j.op || j.bench))
        code = tsri_cli_fail(CLI_USAGE, "--variant needs --op, and can't be combined with --bench");
    if (code == CLI_OK && j.app.kernels)
        code = tsri_cli_fail(CLI_USAGE,
                             "--kernels %s: verify runs each kernel variant by itself; "
                             "choose some with --op and --variant",
                             j.app.kernels);
    j.app.measure = j.bench;
    j.results = j.app.json ? json_array() : NULL;
    if (code == CLI_OK)
        code = j.app.device_name && !strcmp(j.app.device_name, "all")
                   ? tsri_cli_each_device(&j.app, verify_one, NULL, &j)
                   : verify_device(&j);
    if (j.app.json && (code == CLI_OK || code == CLI_MISS || json_array_size(j.results)))
        tsri_cli_json_print(&j.app, j.results, JSON_INDENT(1));
    else
        json_decref(j.results);
    free(j.device);
    free(j.worst);
    free(j.skips);
    return tsri_cli_close(&j.app, code);
}
