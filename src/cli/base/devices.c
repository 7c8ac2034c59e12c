/* cli/base/devices.c - what is known of the open device; and work on every device, one after the other. */
#include "cli/base/devices.h"
#include "cli/base/watch.h"

#include <stdlib.h>

static int read_info(const tsri_cli_app *app, size_t i, tsr_device_info *out) {
    *out = (tsr_device_info){.struct_size = sizeof *out};
    out->facts.struct_size = sizeof out->facts;
    return tsri_cli_status(tsr_device_info_get(app->engine, i, out));
}

int tsri_cli_device_info(const tsri_cli_app *app, tsr_device_info *out) {
    size_t first = 0;
    const size_t n = tsr_device_indices(app->device, &first, 1);
    const int code = read_info(app, first, out);
    if (n > 1)
        out->facts.name = tsr_device_describe(app->device);
    return code;
}

/* One whose driver builds no kernels needs a bundle. */
static bool can_be_opened(const tsri_cli_app *app, const tsr_facts *facts) {
    return facts->usable && (!facts->needs_bundle || app->bundle || getenv("TESSERA_BUNDLE"));
}

static bool goes_on(int code) {
    return code == CLI_OK || code == CLI_MISS || code == CLI_DEVICE;
}

int tsri_cli_each_device(tsri_cli_app *app, tsri_cli_device_fn *run, tsri_cli_device_fn *leave_out,
                         void *data) {
    const char *const given = app->device_name;
    int code = tsri_cli_open_engine(app), worst = code;
    const size_t n = code == CLI_OK ? tsr_device_count(app->engine) : 0;
    for (size_t i = 0; i < n && goes_on(code) && !tsri_cli_signal() && !app->stopped; i++) {
        tsr_device_info info;
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        app->device_name = number;
        code = read_info(app, i, &info);
        if (code == CLI_OK && can_be_opened(app, &info.facts))
            code = run(data, &info);
        else if (code == CLI_OK && leave_out)
            code = leave_out(data, &info);
        tsr_device_close(&app->device);
        app->device_name = given;
        worst = code > worst ? code : worst;
    }
    return worst;
}
