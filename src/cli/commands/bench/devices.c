/* cli/commands/bench/devices.c - measures one device after the other. */
#include "cli/base/watch.h"
#include "cli/commands/bench/suite.h"

#include <stdio.h>
#include <string.h>

static bool read_info(const tsri_cli_app *app, size_t i, tsr_device_info *out) {
    *out = (tsr_device_info){.struct_size = sizeof *out};
    out->facts.struct_size = sizeof out->facts;
    return tsr_device_info_get(app->engine, i, out) == TSR_OK;
}

int tsri_cli_bench_open_device(tsri_cli_app *app, tsr_device_info *out) {
    const int code = tsri_cli_open_device(app);
    if (code != CLI_OK)
        return code;
    const char *told = tsr_device_describe(app->device);
    for (size_t i = 0; i < tsr_device_count(app->engine); i++)
        if (read_info(app, i, out) && strstr(told, out->facts.name) &&
            strstr(told, out->facts.platform))
            return CLI_OK;
    return tsri_cli_fail(CLI_DEVICE, "%s: there is no device of this name", told);
}

int tsri_cli_bench_close_device(tsri_cli_app *app, tsr_status status,
                                const tsr_bench_summary *summary) {
    tsr_device_close(&app->device);
    const int code = tsri_cli_run_status(status);
    return code != CLI_OK ? code : summary->failed_accuracy + summary->errors ? CLI_MISS : CLI_OK;
}

static int run_devices(tsri_cli_app *app, int (*run)(void *data), void *data) {
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

int tsri_cli_bench_run(tsri_cli_app *app, const char *format, const char *path,
                       const tsr_bench_file_options *options, tsri_cli_bench_writer *writer,
                       int (*run)(void *data), void *data) {
    int code = tsri_cli_bench_begin(app, app->json ? "json" : format, path, options, writer);
    tsri_cli_watch_patience(CLI_END_MS);
    if (code == CLI_OK)
        code = run_devices(app, run, data);
    return tsri_cli_bench_end(writer, code, tsri_cli_signal() != 0);
}
