/* cli/commands/dump.c - tessera dump: writes what a model computes inside to a safetensors file. */
#include "cli/base/watch.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"

#include <stdlib.h>
#include <string.h>

/* Rows of ids, padded on the right to the length of the longest, and their mask. */
typedef struct padded {
    size_t B, T;
    int64_t *ids, *mask;
} padded;

static void drop(padded *rows) {
    free(rows->ids);
    free(rows->mask);
}

static int pad(int32_t *const *rows, const size_t *lengths, size_t B, padded *out) {
    *out = (padded){.B = B};
    for (size_t b = 0; b < B; b++)
        out->T = lengths[b] > out->T ? lengths[b] : out->T;
    out->ids = calloc(B * out->T + 1, sizeof *out->ids);
    out->mask = calloc(B * out->T + 1, sizeof *out->mask);
    if (!out->ids || !out->mask)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    for (size_t b = 0; b < B; b++)
        for (size_t t = 0; t < lengths[b]; t++) {
            out->ids[b * out->T + t] = rows[b][t];
            out->mask[b * out->T + t] = 1;
        }
    return CLI_OK;
}

static int pad_lists(const char *option, const tsri_cli_list *lists, padded *out) {
    int32_t **rows = calloc(lists->n + 1, sizeof *rows);
    size_t *lengths = calloc(lists->n + 1, sizeof *lengths);
    int code = rows && lengths ? CLI_OK : tsri_cli_fail(CLI_OTHER, "out of memory");
    for (size_t i = 0; code == CLI_OK && i < lists->n; i++)
        code = tsri_cli_parse_ids(option, lists->items[i], &rows[i], &lengths[i]);
    if (code == CLI_OK)
        code = pad(rows, lengths, lists->n, out);
    for (size_t i = 0; rows && i < lists->n; i++)
        free(rows[i]);
    free(rows);
    free(lengths);
    return code;
}

static int pad_text(tsri_cli_app *app, const char *text, const char *encoding, padded *out) {
    int32_t *ids = NULL;
    char *given = NULL;
    size_t n, size = strlen(text);
    int code = CLI_OK;
    if (!strcmp(text, "-")) {
        code = tsri_cli_read_input(app, NULL, encoding, &given, &size);
        size = code == CLI_OK ? tsri_cli_line_size(given, size) : 0;
    }
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_encode(app->model, given ? given : text, size,
                                          TSR_ENCODE_ADD_SPECIAL | TSR_ENCODE_PARSE_SPECIAL, &ids,
                                          &n));
    free(given);
    if (code != CLI_OK)
        return code;
    code = pad(&ids, &n, 1, out);
    tsr_ids_free(ids);
    return code;
}

static int from_rows(tsri_cli_app *app, const char *text, const char *encoding,
                     const tsri_cli_list *ids, const tsri_cli_list *decoder_ids, bool attention,
                     const char *path) {
    padded rows = {0}, decoder = {0};
    int code = text ? pad_text(app, text, encoding, &rows) : pad_lists("--ids ", ids, &rows);
    if (code == CLI_OK)
        code = pad_lists("--decoder-ids ", decoder_ids, &decoder);
    if (code == CLI_OK && decoder.B && decoder.B != rows.B)
        code = tsri_cli_fail(
            CLI_USAGE,
            "%zu rows and %zu --decoder-ids were given; give --decoder-ids once for each row",
            rows.B, decoder.B);
    if (code == CLI_OK) {
        const tsr_dump_inputs inputs = {.struct_size = sizeof inputs,
                                        .attention = attention,
                                        .B = (int64_t)rows.B,
                                        .T = (int64_t)rows.T,
                                        .input_ids = rows.ids,
                                        .attention_mask = rows.mask,
                                        .decoder_T = (int64_t)decoder.T,
                                        .decoder_input_ids = decoder.B ? decoder.ids : NULL,
                                        .decoder_attention_mask = decoder.B ? decoder.mask : NULL};
        code = tsri_cli_status(tsr_dump(app->model, &inputs, path));
    }
    drop(&rows);
    drop(&decoder);
    return code;
}

int tsri_cli_dump(int argc, char **argv) {
    tsri_cli_app app = {0};
    tsri_cli_list operands = {0}, ids = {0}, decoder_ids = {0};
    const char *text = NULL, *encoding = NULL, *inputs = NULL, *path = NULL;
    bool attention = false;
    const tsri_cli_option own[] = {
        {"ids", 0, CLI_LIST, &ids, "1,2,3", "a row of token ids; may be given several times", 0, 0,
         NULL},
        {"decoder-ids", 0, CLI_LIST, &decoder_ids, "1,2,3",
         "what the decoder of an encoder-decoder reads for each row (default: its start token)", 0,
         0, NULL},
        {"text", 0, CLI_TEXT, &text, "TEXT", "a row given as text; - is standard input", 0, 0,
         NULL},
        {"inputs", 0, CLI_TEXT, &inputs, "FILE.json",
         "rows of input_ids, optionally of attention_mask, position_ids, token_type_ids, and of "
         "the same with decoder_",
         0, 0, NULL},
        {"attention", 0, CLI_FLAG, &attention, NULL, "also write the attention probabilities", 0, 0,
         NULL},
        {"output", 'o', CLI_TEXT, &path, "FILE", "the safetensors file to write", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_encoding_option(&encoding),
                                       tsri_cli_running_options(&app, false), NULL};
    int code = tsri_cli_parse(
        argc, argv,
        "tessera dump -m MODEL (--ids 1,2,3 | --text TEXT | --inputs FILE.json) -o FILE",
        "Writes a model's logits and hidden states to a safetensors file, as f32.", tables,
        &operands);
    tsri_cli_watch_output(path);
    if (code == CLI_OK && (operands.n || (ids.n != 0) + (text != NULL) + (inputs != NULL) != 1 ||
                           !path || (inputs && decoder_ids.n)))
        code = tsri_cli_fail(
            CLI_USAGE,
            "dump needs one of --ids, --text and --inputs, and -o FILE; see tessera help dump");
    if (code == CLI_OK)
        code = tsri_cli_open_model(&app);
    if (code == CLI_OK)
        code = inputs ? tsri_cli_status(tsr_dump_json(app.model, inputs, attention, path))
                      : from_rows(&app, text, encoding, &ids, &decoder_ids, attention, path);
    free(operands.items);
    free(ids.items);
    free(decoder_ids.items);
    return tsri_cli_close(&app, code);
}
