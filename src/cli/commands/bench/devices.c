/* cli/commands/bench/devices.c - the devices that are measured. */
#include "cli/commands/bench/suite.h"

#include <stdio.h>
#include <string.h>

static bool read_info(const tsri_cli_app *app, size_t i, tsr_device_info *out) {
    *out = (tsr_device_info){.struct_size = sizeof *out};
    out->facts.struct_size = sizeof out->facts;
    return tsr_device_info_get(app->engine, i, out) == TSR_OK;
}

int tsri_cli_bench_find(tsri_cli_app *app, tsr_device_info *out) {
    const char *told = tsr_device_describe(app->device);
    for (size_t i = 0; i < tsr_device_count(app->engine); i++)
        if (read_info(app, i, out) && strstr(told, out->facts.name) &&
            strstr(told, out->facts.platform))
            return CLI_OK;
    return tsri_cli_fail(CLI_DEVICE, "%s: there is no device of this name", told);
}

int tsri_cli_bench_devices(tsri_cli_app *app, int (*run)(void *data), void *data) {
    if (!app->device_name || strcmp(app->device_name, "all") != 0)
        return run(data);
    int worst = tsri_cli_open_engine(app);
    for (size_t i = 0; worst <= CLI_MISS && i < tsr_device_count(app->engine) && !tsri_cli_signal();
         i++) {
        tsr_device_info info;
        char number[24];
        if (!read_info(app, i, &info) || !info.facts.usable || !strcmp(info.backend, "reference"))
            continue;
        snprintf(number, sizeof number, "%zu", i);
        app->device_name = number;
        const int code = run(data);
        worst = code > worst ? code : worst;
    }
    return worst;
}
