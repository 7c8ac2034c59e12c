/* cli/commands/merge.c - tessera merge: adds LoRA adapters to a model's weights, in a new folder.
 */
#include "cli/base/app.h"
#include "cli/commands/commands.h"

#include <stdlib.h>

static int stop_on_signal(void *data, uint64_t done, uint64_t total) {
    (void)data, (void)done, (void)total;
    return tsri_cli_signal();
}

static int merge(tsri_cli_app *app, const char *folder) {
    const tsr_merge_options options = {.struct_size = sizeof options,
                                       .lora = app->loras.items,
                                       .n_lora = (uint32_t)app->loras.n,
                                       .progress = stop_on_signal};
    const tsr_status status = tsr_merge(app->model_name, folder, &options);
    if (status == TSR_E_CANCELLED && tsri_cli_signal())
        return 128 + tsri_cli_signal();
    if (status == TSR_OK)
        tsri_cli_note(app, "%s was written; use it as any other model: -m %s", folder, folder);
    return tsri_cli_status(status);
}

int tsri_cli_merge(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0};
    const char *folder = NULL;
    const tsri_cli_option own[] = {
        {"model", 'm', CLI_TEXT, &app.model_name, "MODEL",
         "a folder in Hugging Face's layout, or a bundled model", 0, 0, NULL},
        {"lora", 0, CLI_LIST, &app.loras, "FOLDER",
         "the adapter (in PEFT's layout); may be given several times", 0, 0, NULL},
        {"output", 'o', CLI_TEXT, &folder, "FOLDER", "the new folder; it must not exist", 0, 0,
         NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_common_options(&app), NULL};
    int code =
        tsri_cli_parse(argc, argv, "tessera merge MODEL --lora FOLDER -o FOLDER",
                       "Adds LoRA adapters to a model's weights, and writes the sum as a new model "
                       "folder. The new model\ngives the same results as MODEL with --lora.",
                       tables, &operands);
    if (code == CLI_OK && operands.n > (app.model_name ? 0u : 1u))
        code = tsri_cli_fail(CLI_USAGE, "%s: give only one model", operands.items[operands.n - 1]);
    if (code == CLI_OK && operands.n)
        app.model_name = operands.items[0];
    if (code == CLI_OK && (!app.model_name || !folder || !app.loras.n))
        code = tsri_cli_fail(CLI_USAGE, "merge needs MODEL, --lora FOLDER and -o FOLDER; see "
                                        "tessera help merge");
    if (code == CLI_OK)
        code = merge(&app, folder);
    free(operands.items);
    return tsri_cli_close(&app, code);
}
