/* cli/verify.c - tessera verify: every kernel row that fits, against the reference. */
#include "cli/app.h"
#include "cli/watch.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct worst { /* of one op and row */
    char op[64], row[96], name[128], reason[256];
    double error, bound;
    unsigned cases, misses;
} worst;

typedef struct job {
    tsri_cli_app app;
    json_t *results;
    worst *worst;
    size_t n, room;
} job;

static const char *status_name(uint32_t status) {
    static const char *const names[] = {"ok", "miss", "not offered", "skipped", "error"};
    return status < sizeof names / sizeof *names ? names[status] : "error";
}

static worst *find(job *j, const tsr_verify_result *r) {
    for (size_t i = j->n; i-- > 0;)
        if (!strcmp(j->worst[i].op, r->op) && !strcmp(j->worst[i].row, r->row))
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
    snprintf(w->row, sizeof w->row, "%s", r->row);
    return w;
}

static int take(void *data, const tsr_verify_result *r) {
    job *j = data;
    if (j->app.json)
        json_array_append_new(j->results,
                              json_pack("{s:s,s:s,s:s,s:f,s:f,s:s,s:s,s:s}", "op", r->op, "row",
                                        r->row, "case", r->name, "error", r->error, "bound",
                                        r->bound, "reason", r->reason, "status",
                                        status_name(r->status), "message", r->message));
    else if (r->status == TSR_VERIFY_NOT_OFFERED || r->status == TSR_VERIFY_SKIPPED)
        tsri_cli_print(&j->app, "%-14s %-40s %s: %s\n", r->op, r->row, status_name(r->status),
                       r->message);
    else {
        worst *w = find(j, r);
        if (!w)
            return 1;
        const bool bad = r->status == TSR_VERIFY_MISS || r->status == TSR_VERIFY_ERROR;
        if (bad)
            tsri_cli_print(&j->app, "%-14s %-40s %s in %s: error %.3g, bound %.3g: %s\n", r->op,
                           r->row, status_name(r->status), r->name, r->error, r->bound, r->message);
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

static int verify_device(job *j, const char *op, bool smoke) {
    tsr_verify_summary summary = {.struct_size = sizeof summary};
    const tsr_verify_options options = {.struct_size = sizeof options, .level = smoke, .op = op};
    int code = tsri_cli_open_device(&j->app);
    if (code != CLI_OK)
        return code;
    j->n = 0;
    const tsr_status status = tsr_verify(j->app.device, &options, take, j, &summary);
    if (status != TSR_OK && status != TSR_E_CANCELLED)
        code = tsri_cli_status(status);
    for (size_t i = 0; i < j->n && !j->app.json; i++) {
        const worst *w = &j->worst[i];
        tsri_cli_print(&j->app,
                       "%-14s %-40s %u cases, %u missed; worst error %.3g of %.3g in %s (%s)\n",
                       w->op, w->row, w->cases, w->misses, w->error, w->bound, w->name, w->reason);
    }
    if (!j->app.json)
        tsri_cli_print(
            &j->app, "%u ok, %u missed, %u failed to run, %u rows skipped, %u ops not offered\n",
            summary.ok, summary.misses, summary.errors, summary.skipped, summary.not_offered);
    tsri_cli_flush(&j->app);
    tsr_device_close(&j->app.device);
    return code != CLI_OK ? code : summary.misses + summary.errors ? CLI_MISS : CLI_OK;
}

/* Every usable device, one after the other. */
static int verify_all(job *j, const char *op, bool smoke) {
    int worst_code = tsri_cli_open_engine(&j->app);
    for (size_t i = 0;
         worst_code <= CLI_MISS && i < tsr_device_count(j->app.engine) && !tsri_cli_signal(); i++) {
        tsr_device_info info = {.struct_size = sizeof info};
        char number[24];
        info.facts.struct_size = sizeof info.facts;
        if (tsr_device_info_get(j->app.engine, i, &info) != TSR_OK || !info.facts.usable ||
            (info.facts.needs_bundle && !j->app.bundle && !getenv("TESSERA_BUNDLE")))
            continue;
        snprintf(number, sizeof number, "%zu", i);
        j->app.device_name = number;
        if (!j->app.json)
            tsri_cli_print(&j->app, "%s / %s\n", info.facts.platform, info.facts.name);
        const int code = verify_device(j, op, smoke);
        worst_code = code > worst_code ? code : worst_code;
    }
    return worst_code;
}

int tsri_cli_verify(int argc, char **argv) {
    job j = {0};
    tsri_cli_list operands = {0};
    const char *op = NULL;
    bool smoke = false;
    j.app.no_self_test = true; /* a wrong row is to be a miss, not a refusal */
    const tsri_cli_option own[] = {{"op", 0, CLI_TEXT, &op, "OP", "only this op", 0, 0, NULL},
                                   {"smoke", 0, CLI_FLAG, &smoke, NULL,
                                    "one case an op, for devices whose compiler is slow", 0, 0,
                                    NULL},
                                   {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_device_options(&j.app),
                                       tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app), NULL};
    tsri_cli_watch_patience(CLI_END_MS);
    int code = tsri_cli_parse(argc, argv, "tessera verify [--device D|all] [--op OP]",
                              "Runs the cases of every op on every kernel row that fits the "
                              "device, against the reference.",
                              tables, &operands);
    if (code == CLI_OK && operands.n)
        code = tsri_cli_fail(CLI_USAGE, "%s: verify takes no operands", operands.items[0]);
    j.results = j.app.json ? json_array() : NULL;
    if (code == CLI_OK)
        code = j.app.device_name && !strcmp(j.app.device_name, "all")
                   ? verify_all(&j, op, smoke)
                   : verify_device(&j, op, smoke);
    char *text =
        j.results && code <= CLI_MISS && code >= 0 ? json_dumps(j.results, JSON_INDENT(1)) : NULL;
    if (text)
        tsri_cli_print(&j.app, "%s\n", text);
    free(text);
    json_decref(j.results);
    free(j.worst);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}
