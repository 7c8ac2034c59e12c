/* cli/commands/quantize.c - tessera quantize: stores a model's matrices as blocks of 8 or 4 bits,
 * in a new folder.
 */
#include "cli/base/app.h"
#include "cli/commands/commands.h"

#include <stdlib.h>

static int stop_on_signal(void *data, uint64_t done, uint64_t total) {
    (void)data, (void)done, (void)total;
    return tsri_cli_signal();
}

static int quantize(tsri_cli_app *app, const char *folder) {
    tsr_model_options asked;
    int code = tsri_cli_model_settings(app, &asked);
    const tsr_quantize_options options = {
        .struct_size = sizeof options, .dtype = asked.dtype, .progress = stop_on_signal};
    if (code == CLI_OK && asked.dtype && asked.dtype != TSR_GGML_Q8_0 &&
        asked.dtype != TSR_GGML_Q4_0)
        code = tsri_cli_fail(CLI_USAGE, "--dtype %s: give q8 or q4", app->dtype_name);
    if (code != CLI_OK)
        return code;
    const tsr_status status = tsr_quantize(app->model_name, folder, &options);
    if (status == TSR_E_CANCELLED && tsri_cli_signal())
        return 128 + tsri_cli_signal();
    if (status == TSR_OK)
        tsri_cli_note(app, "%s was written; use it as any other model: -m %s", folder, folder);
    return tsri_cli_status(status);
}

int tsri_cli_quantize(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0};
    const char *folder = NULL;
    const tsri_cli_option own[] = {
        {"model", 'm', CLI_TEXT, &app.model_name, "MODEL",
         "a folder in Hugging Face's layout, or a bundled model", 0, 0, NULL},
        {"output", 'o', CLI_TEXT, &folder, "FOLDER", "the new folder; it must not exist", 0, 0,
         NULL},
        {"dtype", 0, CLI_TEXT, &app.dtype_name, "TYPE",
         "q8 or q4: blocks of 32 numbers with one scale (default: q8)", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_common_options(&app), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera quantize MODEL -o FOLDER [--dtype q8|q4]",
        "Writes a new model folder with the matrices stored in 8 or 4 bits, for any device. The "
        "new model\ngives the same results as the original with that --dtype.",
        tables, &operands);
    if (code == CLI_OK && operands.n > (app.model_name ? 0u : 1u))
        code = tsri_cli_fail(CLI_USAGE, "%s: give only one model", operands.items[operands.n - 1]);
    if (code == CLI_OK && operands.n)
        app.model_name = operands.items[0];
    if (code == CLI_OK && (!app.model_name || !folder))
        code = tsri_cli_fail(CLI_USAGE,
                             "quantize needs MODEL and -o FOLDER; see tessera help quantize");
    if (code == CLI_OK)
        code = quantize(&app, folder);
    free(operands.items);
    return tsri_cli_close(&app, code);
}
