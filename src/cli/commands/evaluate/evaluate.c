/* cli/commands/evaluate/evaluate.c - tessera evaluate: how good a model is, by a text, by labels or
 * by translations.
 */
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/commands/evaluate/evaluate.h"
#include "cli/reading/input.h"

#include <stdlib.h>

typedef struct kind {
    const char *const *file;
    int (*run)(tsri_cli_evaluation *job);
} kind;

/* The one that was asked for. */
static int run(tsri_cli_evaluation *j) {
    const kind kinds[] = {{&j->perplexity, tsri_cli_evaluate_perplexity},
                          {&j->labelled, tsri_cli_evaluate_labels},
                          {&j->parallel, tsri_cli_evaluate_parallel},
                          {&j->hypotheses, tsri_cli_evaluate_hypotheses}};
    const kind *found = NULL;
    int n = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (*kinds[i].file) {
            found = &kinds[i];
            n++;
        }
    if (n != 1)
        return tsri_cli_fail(CLI_USAGE,
                             "evaluate wants %s--perplexity FILE, --labelled FILE, --parallel FILE "
                             "or --hypotheses FILE; see tessera help evaluate",
                             n ? "only one of " : "");
    if (!j->hypotheses != !j->references)
        return tsri_cli_fail(CLI_USAGE, "--hypotheses and --references go together");
    return found->run(j);
}

int tsri_cli_evaluate(int argc, char **argv) {
    tsri_cli_evaluation j = {.text_field = "text", .label_field = "label"};
    tsri_cli_list operands = {0};
    const tsri_cli_option own[] = {
        {"perplexity", 0, CLI_TEXT, &j.perplexity, "FILE",
         "loss a token, perplexity and bits a byte of this text (- for standard input)", 0, 0,
         NULL},
        {"window", 0, CLI_INT, &j.window, "N",
         "tokens that the model sees at once; its context without it", 2, 1 << 30, NULL},
        {"stride", 0, CLI_INT, &j.stride, "N",
         "tokens from one window to the next; half a window without it", 1, 1 << 30, NULL},
        {"labelled", 0, CLI_TEXT, &j.labelled, "FILE",
         "accuracy and F1 of a classifier on a CSV or TSV with a header, or on JSON lines", 0, 0,
         NULL},
        {"text-field", 0, CLI_TEXT, &j.text_field, "NAME", "its texts; text without it", 0, 0,
         NULL},
        {"label-field", 0, CLI_TEXT, &j.label_field, "NAME", "its labels; label without it", 0, 0,
         NULL},
        {"parallel", 0, CLI_TEXT, &j.parallel, "FILE",
         "BLEU and chrF of a translator on lines \"source<TAB>translation\"", 0, 0, NULL},
        {"from|source-lang", 0, CLI_TEXT, &j.from, "LANGUAGE",
         "language of its first part, as for translate", 0, 0, NULL},
        {"to|target-lang", 0, CLI_TEXT, &j.to, "LANGUAGE", "language of its second", 0, 0, NULL},
        {"batch-size", 0, CLI_INT, &j.batch, "N", "sentences at once; 32 without it", 1, 4096,
         NULL},
        {"hypotheses", 0, CLI_TEXT, &j.hypotheses, "FILE",
         "BLEU and chrF of these translations, a line each; no model is wanted", 0, 0, NULL},
        {"references", 0, CLI_TEXT, &j.references, "FILE", "what they should be, line by line", 0,
         0, NULL},
        {"metric", 0, CLI_TEXT, &j.metrics, "LIST", "of translations: bleu,chrf without it", 0, 0,
         NULL},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_encoding_option(&j.encoding),
                                       tsri_cli_searching_options(&j.searching),
                                       tsri_cli_model_options(&j.app),
                                       tsri_cli_device_options(&j.app),
                                       tsri_cli_json_option(&j.app),
                                       tsri_cli_common_options(&j.app),
                                       NULL};
    int code = tsri_cli_parse(
        argc, argv, "tessera evaluate --perplexity|--labelled|--parallel FILE [-m MODEL]",
        "How good a model is. Perplexity: each token of a text is scored once, in sliding "
        "windows,\nafter at least window - stride others. BLEU and chrF are sacrebleu's, digit by "
        "digit (13a,\nexponential smoothing; chrF2), with its signature.",
        tables, &operands);
    if (code == CLI_OK && operands.n)
        code = tsri_cli_fail(CLI_USAGE, "%s: evaluate takes no operands", operands.items[0]);
    if (code == CLI_OK)
        code = run(&j);
    tsri_cli_searching_clear(&j.searching);
    free(operands.items);
    return tsri_cli_close(&j.app, code);
}
