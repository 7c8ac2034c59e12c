/* cli/dump.c - tessera dump: what a model computes inside, as a safetensors file. */
#include "cli/app.h"

#include <stdlib.h>
#include <string.h>

/* Rows of ids, padded on the right to the longest, with their mask. */
static int from_rows(tsri_cli_app *app, int32_t *const *rows, const size_t *lengths, size_t B,
                     bool attention, const char *path) {
    size_t T = 0;
    for (size_t b = 0; b < B; b++)
        T = lengths[b] > T ? lengths[b] : T;
    int64_t *ids = calloc(B * T + 1, sizeof *ids), *mask = calloc(B * T + 1, sizeof *mask);
    int code = ids && mask ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
    for (size_t b = 0; code == CLI_OK && b < B; b++)
        for (size_t t = 0; t < lengths[b]; t++) {
            ids[b * T + t] = rows[b][t];
            mask[b * T + t] = 1;
        }
    if (code == CLI_OK) {
        const tsr_dump_inputs inputs = {.struct_size = sizeof inputs,
                                        .attention = attention,
                                        .B = (int64_t)B,
                                        .T = (int64_t)T,
                                        .input_ids = ids,
                                        .attention_mask = mask};
        code = tsri_cli_status(tsr_dump(app->model, &inputs, path));
    }
    free(ids);
    free(mask);
    return code;
}

static int from_ids(tsri_cli_app *app, const tsri_cli_list *lists, bool attention,
                    const char *path) {
    int32_t **rows = calloc(lists->n, sizeof *rows);
    size_t *lengths = calloc(lists->n, sizeof *lengths);
    int code = rows && lengths ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
    for (size_t i = 0; code == CLI_OK && i < lists->n; i++)
        code = tsri_cli_parse_ids("--ids ", lists->items[i], &rows[i], &lengths[i]);
    if (code == CLI_OK)
        code = from_rows(app, rows, lengths, lists->n, attention, path);
    for (size_t i = 0; rows && i < lists->n; i++)
        free(rows[i]);
    free(rows);
    free(lengths);
    return code;
}

static int from_text(tsri_cli_app *app, const char *text, bool attention, const char *path) {
    int32_t *ids;
    size_t n;
    int code =
        tsri_cli_status(tsr_encode(app->model, text, strlen(text),
                                   TSR_ENCODE_ADD_SPECIAL | TSR_ENCODE_PARSE_SPECIAL, &ids, &n));
    if (code != CLI_OK)
        return code;
    code = from_rows(app, &ids, &n, 1, attention, path);
    tsr_ids_free(ids);
    return code;
}

int tsri_cli_dump(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0}, ids = {0};
    const char *text = NULL, *inputs = NULL, *path = NULL;
    bool attention = false;
    const tsri_cli_option own[] = {
        {"ids", 0, CLI_LIST, &ids, "1,2,3", "a row of token ids; may be given again", 0, 0, NULL},
        {"text", 0, CLI_TEXT, &text, "TEXT", "a row as text", 0, 0, NULL},
        {"inputs", 0, CLI_TEXT, &inputs, "FILE.json",
         "input_ids, and optionally attention_mask and position_ids, as rows", 0, 0, NULL},
        {"attention", 0, CLI_FLAG, &attention, NULL, "attention probabilities too", 0, 0, NULL},
        {"output", 'o', CLI_TEXT, &path, "FILE", "the safetensors file to write", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_model_options(&app),
                                       tsri_cli_device_options(&app), tsri_cli_common_options(&app),
                                       NULL};
    int code = tsri_cli_parse(
        argc, argv,
        "tessera dump -m MODEL (--ids 1,2,3 | --text TEXT | --inputs FILE.json) -o FILE",
        "Writes logits and hidden states of a model as f32.", tables, &operands);
    if (code == CLI_OK &&
        (operands.n || (ids.n != 0) + (text != NULL) + (inputs != NULL) != 1 || !path))
        code = tsri_cli_fail(
            CLI_USAGE,
            "dump wants one of --ids, --text and --inputs, and -o FILE; see tessera help dump");
    if (code == CLI_OK)
        code = tsri_cli_open_model(&app);
    if (code == CLI_OK)
        code = inputs ? tsri_cli_status(tsr_dump_json(app.model, inputs, attention, path))
               : text ? from_text(&app, text, attention, path)
                      : from_ids(&app, &ids, attention, path);
    free(operands.items);
    free(ids.items);
    return tsri_cli_close(&app, code);
}
