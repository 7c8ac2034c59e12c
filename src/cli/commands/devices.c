/* cli/commands/devices.c - tessera devices: lists the devices found, and why each can or cannot be
 * used. */
#include "cli/base/app.h"
#include "cli/base/json.h"
#include "cli/commands/commands.h"

#include <string.h>

static const char *type_name(uint32_t type) {
    static const char *const names[] = {"other", "cpu", "gpu", "accelerator"};
    return type < sizeof names / sizeof *names ? names[type] : "other";
}

static void subgroups(const tsr_facts *f, char text[64]) {
    size_t n = 0;
    text[0] = 0;
    for (int i = 0; i < 8 && f->subgroup_sizes[i] && n < 56; i++)
        n += (size_t)snprintf(text + n, 64 - n, i ? ",%u" : "%u", f->subgroup_sizes[i]);
    if (!n)
        snprintf(text, 64, "none");
}

static void show(tsri_cli_app *app, size_t index, const tsr_device_info *info) {
    const tsr_facts *f = &info->facts;
    char groups[64];
    subgroups(f, groups);
    tsri_cli_print(app, "%zu%s  %s / %s\n", index, info->is_default ? " (default)" : "",
                   f->platform, f->name);
    tsri_cli_print(app, "    backend %s, %s%s, vendor %s, driver %s\n", info->backend,
                   type_name(f->type), f->emulator ? " (emulator)" : "", f->vendor, f->driver);
    tsri_cli_print(app, "    %s, %s\n", f->version,
                   *f->c_version ? f->c_version : "no kernel language");
    tsri_cli_print(app,
                   "    %u compute units, %u MHz, memory %llu MiB, one allocation %llu MiB, local "
                   "memory %llu KiB, work-group %u\n",
                   f->compute_units, f->clock_mhz, (unsigned long long)(f->memory >> 20),
                   (unsigned long long)(f->max_allocation >> 20),
                   (unsigned long long)(f->local_memory >> 10), f->max_work_group);
    tsri_cli_print(app,
                   "    sub-groups %s, fp16 %s, bf16 %s, fp64 %s, int-dot %s, command buffers %s\n",
                   groups, f->fp16 ? "yes" : "no", f->bf16 ? "yes" : "no", f->fp64 ? "yes" : "no",
                   f->int_dot ? "yes" : "no", f->command_buffers ? "yes" : "no");
    tsri_cli_print(app, "    %s: %s\n", f->usable ? "usable" : "not usable", f->reason);
}

static json_t *as_json(size_t index, const tsr_device_info *info) {
    const tsr_facts *f = &info->facts;
    json_t *groups = json_array();
    for (int i = 0; i < 8 && f->subgroup_sizes[i]; i++)
        tsri_cli_json_append(groups, json_integer(f->subgroup_sizes[i]));
    /* Drivers' texts are not always UTF-8. */
    json_t *o = json_pack(
        "{s:I,s:s,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:b,s:b,s:o,s:i,s:b}", "index", (json_int_t)index,
        "backend", info->backend, "platform", tsri_cli_json_string(f->platform), "device",
        tsri_cli_json_string(f->name), "type", type_name(f->type), "vendor",
        tsri_cli_json_string(f->vendor), "driver", tsri_cli_json_string(f->driver), "version",
        tsri_cli_json_string(f->version), "c_version", tsri_cli_json_string(f->c_version), "usable",
        (int)f->usable, "default", (int)info->is_default, "reason", tsri_cli_json_string(f->reason),
        "score", (int)f->score, "emulator", (int)f->emulator);
    json_t *more =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:b,s:b,s:b,s:b,s:b,s:b}", "compute_units",
                  (json_int_t)f->compute_units, "clock_mhz", (json_int_t)f->clock_mhz, "memory",
                  (json_int_t)f->memory, "max_allocation", (json_int_t)f->max_allocation,
                  "local_memory", (json_int_t)f->local_memory, "max_work_group",
                  (json_int_t)f->max_work_group, "subgroup_sizes", groups, "fp16", (int)f->fp16,
                  "bf16", (int)f->bf16, "fp64", (int)f->fp64, "int_dot", (int)f->int_dot,
                  "command_buffers", (int)f->command_buffers, "compiler", (int)f->compiler);
    tsri_cli_json_put(o, "needs_bundle", json_boolean(f->needs_bundle));
    const bool whole = json_object_update(o, more) == 0;
    json_decref(more);
    if (whole)
        return o;
    json_decref(o);
    return NULL;
}

static int list(tsri_cli_app *app) {
    json_t *devices = json_array(), *notes = json_array();
    int code = CLI_OK;
    for (size_t i = 0; i < tsr_device_count(app->engine) && code == CLI_OK; i++) {
        tsr_device_info info = {.struct_size = sizeof info};
        info.facts.struct_size = sizeof info.facts;
        code = tsri_cli_status(tsr_device_info_get(app->engine, i, &info));
        if (code == CLI_OK && app->json)
            tsri_cli_json_append(devices, as_json(i, &info));
        else if (code == CLI_OK)
            show(app, i, &info);
    }
    for (size_t i = 0; i < tsr_engine_note_count(app->engine); i++) {
        const char *note = tsr_engine_note(app->engine, i);
        if (app->json)
            tsri_cli_json_append(notes, tsri_cli_json_string(note));
        else
            tsri_cli_print(app, "-  %s\n", note);
    }
    json_t *all = json_pack("{s:o,s:o}", "devices", devices, "notes", notes);
    if (app->json)
        tsri_cli_json_print(app, all, JSON_INDENT(1));
    else
        json_decref(all);
    return code;
}

int tsri_cli_devices(int argc, char **argv) {
    tsri_cli_app app = {0};
    const tsri_cli_option own[] = {{"backend", 0, CLI_LIST, &app.backends, "FILE",
                                    "also load this backend plugin; may be given several times", 0,
                                    0, NULL},
                                   {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_json_option(&app),
                                       tsri_cli_common_options(&app), NULL};
    int code = tsri_cli_parse(argc, argv, "tessera devices [--json]",
                              "Lists the devices of all backends, whether each can be used, why or "
                              "why not, and which is the default.",
                              tables, NULL);
    if (code == CLI_OK)
        code = tsri_cli_open_engine(&app);
    if (code == CLI_OK)
        code = list(&app);
    return tsri_cli_close(&app, code);
}
