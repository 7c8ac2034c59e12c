/* cli/commands/bench/devices.c - measures one device after the other. */
#include "cli/base/devices.h"
#include "cli/base/watch.h"
#include "cli/commands/bench/suite.h"

#include <string.h>

int tsri_cli_bench_open_device(tsri_cli_app *app, tsr_device_info *out) {
    const int code = tsri_cli_open_device(app);
    return code == CLI_OK ? tsri_cli_device_info(app, out) : code;
}

int tsri_cli_bench_close_device(tsri_cli_app *app, tsr_status status,
                                const tsr_bench_summary *summary) {
    tsr_device_close(&app->device);
    const int code = tsri_cli_run_status(status);
    return code != CLI_OK ? code : summary->failed_accuracy + summary->errors ? CLI_MISS : CLI_OK;
}

typedef struct every { /* of --device all */
    tsri_cli_bench_writer *writer;
    int (*run)(void *data);
    void *data;
    bool ran;
} every;

static int run_one(void *data, const tsr_device_info *device) {
    every *e = data;
    if (!strcmp(device->backend, "reference"))
        return CLI_OK;
    e->ran = true;
    return e->run(e->data);
}

static int leave_out(void *data, const tsr_device_info *device) {
    const every *e = data;
    return tsri_cli_bench_left_out(e->writer, device);
}

static int run_devices(tsri_cli_app *app, every *e) {
    if (!app->device_name || strcmp(app->device_name, "all") != 0)
        return e->run(e->data);
    const int code = tsri_cli_each_device(app, run_one, leave_out, e);
    return code != CLI_OK || e->ran || tsri_cli_signal()
               ? code
               : tsri_cli_fail(CLI_DEVICE, "--device all: there is nothing to measure but the "
                                           "reference; tessera devices says why");
}

int tsri_cli_bench_run(tsri_cli_app *app, const char *format, const char *path,
                       const tsr_bench_file_options *options, tsri_cli_bench_writer *writer,
                       int (*run)(void *data), void *data) {
    every e = {.writer = writer, .run = run, .data = data};
    int code = tsri_cli_bench_begin(app, app->json ? "json" : format, path, options, writer);
    tsri_cli_watch_patience(CLI_END_MS);
    if (code == CLI_OK)
        code = run_devices(app, &e);
    return tsri_cli_bench_end(writer, code, tsri_cli_signal() != 0);
}
