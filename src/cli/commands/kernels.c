/* cli/commands/kernels.c - tessera kernels: exports a model's kernels to a folder, for devices
 * without a compiler, and builds them. */
#include "cli/base/app.h"
#include "cli/base/watch.h"
#include "cli/commands/commands.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    tsri_cli_app app;
    const char *output, *binary;
    bool train;
    tsri_cli_list operands; /* the verb first */
} job;

/* The largest batch whose kernels are exported, and the tokens of a short text. */
enum { TRAINED = 8, TRAINED_TOKENS = 256, SHORT = 16 };

/* Learns from a batch of B sequences of T tokens, and of S of a source, and from a teacher's logits unless
 * NULL: nothing runs on a device that records, but the kernels of each step are chosen. */
static tsr_status learn(tsr_training *training, int32_t B, int32_t T, int32_t S,
                        const float *teacher) {
    static const int32_t zeros[TRAINED * TRAINED_TOKENS];
    const tsr_training_batch batch = {.struct_size = sizeof batch,
                                      .B = B,
                                      .T = T,
                                      .S = S,
                                      .ids = zeros,
                                      .targets = zeros,
                                      .source = S ? zeros : NULL,
                                      .teacher = teacher};
    tsr_training_loss loss = {.struct_size = sizeof loss};
    tsr_status status = tsr_training_gradients(training, &batch, 1, &loss);
    return status == TSR_OK ? tsr_training_evaluate(training, &batch, &loss) : status;
}

/* Chooses the kernels of a training of all weights by AdamW, for single short texts and for batches. */
static tsr_status record_training(job *j, const tsr_model_info *info, const float *teacher) {
    static const char *const set[] = {"kl_weight=0.5"};
    const tsr_training_options options = {.struct_size = sizeof options,
                                          .set = set,
                                          .n_set = teacher ? 1 : 0,
                                          .teacher = teacher != NULL};
    tsr_training *training = NULL;
    double norm;
    const int64_t reads = info->source_context && info->source_context < info->context
                              ? info->source_context
                              : info->context;
    const int32_t most = reads < TRAINED_TOKENS ? (int32_t)reads : TRAINED_TOKENS;
    tsr_status status = tsr_training_create(j->app.model_name, j->app.device, &options, &training);
    for (int many = 0; many < 2 && status == TSR_OK; many++) {
        const int32_t tokens = many || most < SHORT ? most : SHORT;
        status =
            learn(training, many ? TRAINED : 1, tokens, info->source_context ? tokens : 0, teacher);
    }
    if (status == TSR_OK)
        status = tsr_training_norm(training, &norm);
    if (status == TSR_OK)
        status = tsr_training_step(training, 0, 1);
    tsr_training_destroy(&training);
    return status;
}

/* From targets alone, and from a teacher, which some models can't learn from (a recurrent decoder). */
static int record_trainings(job *j) {
    tsr_model_info info = {.struct_size = sizeof info};
    tsr_status status = tsr_model_info_get(j->app.model, &info);
    if (status == TSR_OK)
        status = record_training(j, &info, NULL);
    if (status != TSR_OK)
        return tsri_cli_status(status);
    const int64_t outputs = info.vocab > info.labels ? info.vocab : info.labels;
    float *teacher = calloc((size_t)(TRAINED * TRAINED_TOKENS * outputs), sizeof *teacher);
    if (!teacher)
        return tsri_cli_fail(CLI_OTHER, "out of memory");
    status = record_training(j, &info, teacher);
    free(teacher);
    return status == TSR_E_UNSUPPORTED ? CLI_OK : tsri_cli_status(status);
}

static int export_model(job *j) {
    int code = tsri_cli_take_model(&j->app, &j->operands, 1);
    if (code != CLI_OK)
        return code;
    if (!j->output)
        return tsri_cli_fail(CLI_USAGE, "the folder to write is missing; give -o FOLDER");
    j->app.record = true;
    code = tsri_cli_open_model(&j->app);
    if (code == CLI_OK && j->train)
        code = record_trainings(j);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_bundle_export(j->app.model, j->output));
    if (code == CLI_OK)
        tsri_cli_note(&j->app,
                      "%s has the source and the manifest; next, run tessera kernels build %s",
                      j->output, j->output);
    return code;
}

static int build_folder(job *j) {
    if (j->operands.n != 2)
        return tsri_cli_fail(CLI_USAGE, "give one folder, as tessera kernels export wrote it");
    /* A device without a compiler can be opened, to be given a binary. */
    j->app.record = true;
    int code = tsri_cli_open_device(&j->app);
    if (code == CLI_OK)
        code = tsri_cli_status(tsr_bundle_build(j->app.device, j->operands.items[1], j->binary));
    if (code == CLI_OK)
        tsri_cli_note(&j->app, "%s is ready; use it with tessera generate --bundle %s",
                      j->operands.items[1], j->operands.items[1]);
    return code;
}

int tsri_cli_kernels(int argc, char **argv) {
    job j = {0};
    const tsri_cli_option own[] = {
        {"output", 'o', CLI_TEXT, &j.output, "FOLDER", "with export: the new folder", 0, 0, NULL},
        {"train", 0, CLI_FLAG, &j.train, NULL, "with export: the kernels that training uses, too",
         0, 0, NULL},
        {"binary", 0, CLI_TEXT, &j.binary, "FILE",
         "with build: take this file, which the vendor's compiler made from program.cl", 0, 0,
         NULL},
        {0}};
    const tsri_cli_option *tables[] = {own, tsri_cli_running_options(&j.app, false), NULL};
    tsri_cli_watch_patience(CLI_END_MS);
    int code = tsri_cli_parse(
        argc, argv, "tessera kernels export [MODEL] -o FOLDER | build FOLDER [options]",
        "For devices without a compiler: export writes the kernels that a model uses on a device "
        "as one\nsource file with a manifest, and build compiles it there. See docs/bundles.md.",
        tables, &j.operands);
    const char *verb = j.operands.n ? j.operands.items[0] : "";
    if (code == CLI_OK && !strcmp(verb, "export"))
        code = export_model(&j);
    else if (code == CLI_OK && !strcmp(verb, "build"))
        code = build_folder(&j);
    else if (code == CLI_OK)
        code = tsri_cli_fail(CLI_USAGE, "%s%sgive export or build", verb, *verb ? ": " : "");
    free(j.operands.items);
    return tsri_cli_close(&j.app, code);
}
