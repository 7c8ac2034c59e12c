/* cli/commands/merge.c - tessera merge: adds LoRA adapters to a model's weights, in a new folder.
 */
#include "cli/commands/commands.h"
#include "cli/shared/conversion.h"

#include <stdlib.h>

static int merge(const tsri_cli_conversion *c) {
    const tsr_merge_options options = {.struct_size = sizeof options,
                                       .lora = c->app.loras.items,
                                       .n_lora = (uint32_t)c->app.loras.n,
                                       .progress = tsri_cli_conversion_stop};
    return tsri_cli_converted(c, tsr_merge(c->app.model_name, c->folder, &options));
}

int tsri_cli_merge(int argc, char **argv) {
    tsri_cli_conversion c = {0};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {{"lora", 0, CLI_LIST, &c.app.loras, "FOLDER",
                                    "the adapter (in PEFT's layout); may be given several times", 0,
                                    0, NULL},
                                   {0}};
    const tsri_cli_option *tables[] = {tsri_cli_source_option(&c), own,
                                       tsri_cli_new_folder_option(&c),
                                       tsri_cli_common_options(&c.app), NULL};
    int code =
        tsri_cli_parse(argc, argv, "tessera merge MODEL --lora FOLDER -o FOLDER",
                       "Adds LoRA adapters to a model's weights, and writes the sum as a new model "
                       "folder. The new model\ngives the same results as MODEL with --lora.",
                       tables, &operands);
    if (code == CLI_OK)
        code = tsri_cli_take_model(&c.app, &operands, 0);
    if (code == CLI_OK && (!c.app.model_name || !c.folder || !c.app.loras.n))
        code = tsri_cli_fail(CLI_USAGE, "merge needs MODEL, --lora FOLDER and -o FOLDER; see "
                                        "tessera help merge");
    if (code == CLI_OK)
        code = merge(&c);
    free(operands.items);
    return tsri_cli_close(&c.app, code);
}
