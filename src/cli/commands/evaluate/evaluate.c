/* cli/commands/evaluate/evaluate.c - tessera evaluate: scores a model on a text, on labelled texts,
 * on questions or on translations.
 */
#include "cli/commands/evaluate/evaluate.h"
#include "cli/base/json.h"
#include "cli/commands/commands.h"
#include "cli/reading/input.h"

typedef struct kind {
    const char *const *file;
    int (*run)(tsri_cli_evaluation *job);
} kind;

/* The kind of evaluation that was asked for. */
static int run(tsri_cli_evaluation *j) {
    const kind kinds[] = {{&j->perplexity, tsri_cli_evaluate_perplexity},
                          {&j->labelled, tsri_cli_evaluate_labels},
                          {&j->words, tsri_cli_evaluate_words},
                          {&j->answers, tsri_cli_evaluate_answers},
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
        return tsri_cli_fail(
            CLI_USAGE,
            "evaluate needs %s--perplexity FILE, --labelled FILE, --words FILE, "
            "--answers FILE, --parallel FILE or --hypotheses FILE; see tessera help evaluate",
            n ? "only one of " : "");
    if (!j->hypotheses != !j->references)
        return tsri_cli_fail(CLI_USAGE, "--hypotheses and --references must be given together");
    return found->run(j);
}

int tsri_cli_evaluate(int argc, char **argv) {
    tsri_cli_evaluation j = {0};
    const tsri_cli_option own[] = {
        {"perplexity", 0, CLI_TEXT, &j.perplexity, "FILE",
         "print the loss per token, perplexity and bits per byte of this text; - is standard input",
         0, 0, NULL},
        {"window", 0, CLI_INT, &j.window, "N",
         "for --perplexity: the model sees N tokens at once (default: its context)", 2, 1 << 30,
         NULL},
        {"stride", 0, CLI_INT, &j.stride, "N",
         "for --perplexity: the next window begins N tokens later (default: half a window)", 1,
         1 << 30, NULL},
        {"labelled", 0, CLI_TEXT, &j.labelled, "FILE",
         "print a classifier's accuracy and F1 on this file: CSV or TSV with a header, or JSON "
         "Lines",
         0, 0, NULL},
        {"words", 0, CLI_TEXT, &j.words, "FILE",
         "print the accuracy of a model that labels words, and the F1 of entities: a word a line "
         "with its label in the last column, or JSON Lines with lists; in UTF-8",
         0, 0, NULL},
        {"text-field", 0, CLI_TEXT, &j.text_field, "NAME",
         "for --labelled and --words: the field of the texts (default: text; tokens)", 0, 0, NULL},
        {"label-field", 0, CLI_TEXT, &j.label_field, "NAME",
         "for --labelled and --words: the field of the labels (default: label; ner_tags)", 0, 0,
         NULL},
        {"answers", 0, CLI_TEXT, &j.answers, "FILE",
         "print exact match and F1 of a model that answers questions, as SQuAD's evaluation does: "
         "JSON Lines with \"question\", \"context\" and \"answers\", or SQuAD's JSON",
         0, 0, NULL},
        {"longest", 0, CLI_INT, &j.longest, "N",
         "for --answers: answers of at most N tokens (default: 15)", 1, 1 << 16, NULL},
        {"parallel", 0, CLI_TEXT, &j.parallel, "FILE",
         "translate the sources in lines \"source<TAB>translation\", and print BLEU and chrF", 0, 0,
         NULL},
        {"from|source-lang", 0, CLI_TEXT, &j.from, "LANGUAGE",
         "for --parallel: the language of the sources, as in tessera translate", 0, 0, NULL},
        {"to|target-lang", 0, CLI_TEXT, &j.to, "LANGUAGE",
         "for --parallel: the language of the translations", 0, 0, NULL},
        {"batch-size", 0, CLI_INT, &j.batch, "N",
         "for --parallel: translate N sentences at once (default: 32)", 1, 4096, NULL},
        {"hypotheses", 0, CLI_TEXT, &j.hypotheses, "FILE",
         "print BLEU and chrF of these translations, one per line; needs no model", 0, 0, NULL},
        {"references", 0, CLI_TEXT, &j.references, "FILE",
         "the reference translations for --hypotheses, one per line", 0, 0, NULL},
        {"metric", 0, CLI_TEXT, &j.metrics, "LIST",
         "for translations: bleu, chrf, or both (default: bleu,chrf)", 0, 0, NULL},
        {0}};
    const tsri_cli_option *tables[] = {own,
                                       tsri_cli_encoding_option(&j.encoding),
                                       tsri_cli_searching_options(&j.searching),
                                       tsri_cli_split_options(&j.app),
                                       tsri_cli_running_options(&j.app, true),
                                       NULL};
    int code = tsri_cli_parse(
        argc, argv,
        "tessera evaluate --perplexity|--labelled|--words|--answers|--parallel FILE [-m MODEL]",
        "Scores a model. For perplexity, sliding windows score each token of a text once, after at "
        "least\nwindow - stride other tokens. BLEU and chrF agree with sacrebleu digit by digit "
        "(13a, exponential\nsmoothing; chrF2), and are printed with its signature.",
        tables, NULL);
    if (code == CLI_OK)
        code = tsri_cli_open_ranks(&j.app, argv[0], tables);
    if (code == CLI_OK)
        code = run(&j);
    tsri_cli_searching_clear(&j.searching);
    return tsri_cli_close(&j.app, code);
}
