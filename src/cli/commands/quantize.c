/* cli/commands/quantize.c - tessera quantize: stores a model's matrices as blocks of 8 or 4 bits,
 * in a new folder.
 */
#include "cli/commands/commands.h"
#include "cli/shared/conversion.h"

#include <stdlib.h>

static int quantize(tsri_cli_conversion *c) {
    tsr_model_options asked;
    int code = tsri_cli_model_settings(&c->app, &asked);
    const tsr_quantize_options options = {
        .struct_size = sizeof options, .dtype = asked.dtype, .progress = tsri_cli_conversion_stop};
    if (code == CLI_OK && asked.dtype && asked.dtype != TSR_GGML_Q8_0 &&
        asked.dtype != TSR_GGML_Q4_0)
        code = tsri_cli_fail(CLI_USAGE, "--dtype %s: give q8 or q4", c->app.dtype_name);
    if (code != CLI_OK)
        return code;
    return tsri_cli_converted(c, tsr_quantize(c->app.model_name, c->folder, &options));
}

int tsri_cli_quantize(int argc, char **argv) {
    tsri_cli_conversion c = {0};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"dtype", 0, CLI_TEXT, &c.app.dtype_name, "q8|q4",
         "blocks of 32 numbers with one scale, of 8 or 4 bits (default: q8)", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {tsri_cli_source_option(&c), tsri_cli_new_folder_option(&c),
                                       own, tsri_cli_common_options(&c.app), NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera quantize MODEL -o FOLDER [--dtype q8|q4]",
        "Writes a new model folder with the matrices stored in 8 or 4 bits, for any device. The "
        "new model\ngives the same results as the original with that --dtype.",
        tables, &operands);
    if (code == CLI_OK)
        code = tsri_cli_take_model(&c.app, &operands, 0);
    if (code == CLI_OK && (!c.app.model_name || !c.folder))
        code = tsri_cli_fail(CLI_USAGE,
                             "quantize needs MODEL and -o FOLDER; see tessera help quantize");
    if (code == CLI_OK)
        code = quantize(&c);
    free(operands.items);
    return tsri_cli_close(&c.app, code);
}
