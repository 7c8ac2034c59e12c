/* learn.c - a model learns a text by heart, in a loop of the caller's own.
 *
 *     learn FOLDER [TEXT [STEPS [MODEL]]]
 *
 * MODEL is a decoder in Hugging Face's layout (without it, the bundled one). Each step computes the
 * gradients of the text, clips them by their norm and updates the weights. FOLDER, which must not
 * exist, becomes the new model; what it writes after the text's first line is printed last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

static void check(tsr_status status) {
    if (status != TSR_OK) {
        fprintf(stderr, "learn: %s\n", tsr_error_last());
        exit(1);
    }
}

/* The ids of a text by a model that was opened to be looked at. */
static int32_t *ids_of(const char *name, const char *text, size_t *n) {
    tsr_model *model = NULL;
    int32_t *ids = NULL;
    check(tsr_model_open(name, NULL, NULL, &model));
    check(tsr_encode(model, text, strlen(text), TSR_ENCODE_ADD_SPECIAL, &ids, n));
    tsr_model_close(&model);
    return ids;
}

int main(int argc, char **argv) {
    const char *text = argc > 2 ? argv[2] : "TESSERA:\nA tile is laid, and then another tile.\n";
    const char *name = argc > 4 ? argv[4] : "shakespeare";
    const int steps = argc > 3 ? atoi(argv[3]) : 30;
    const char *const set[] = {"weight_decay=0", "dropout=0"};
    const tsr_training_options options = {.struct_size = sizeof options, .set = set, .n_set = 2};
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_training *training = NULL;
    tsr_model *model = NULL;
    char *written = NULL;
    size_t n = 0;
    if (argc < 2) {
        fprintf(stderr, "learn FOLDER [TEXT [STEPS [MODEL]]]\n");
        return 2;
    }
    check(tsr_engine_create(NULL, &engine));
    check(tsr_device_open(engine, NULL, NULL, &device));
    check(tsr_training_create(name, device, &options, &training));

    /* One sequence; each of its tokens but the last is followed by the next. */
    int32_t *ids = ids_of(name, text, &n);
    if (n < 2)
        return 1;
    const tsr_training_batch batch = {
        .struct_size = sizeof batch, .B = 1, .T = (int32_t)n - 1, .ids = ids, .targets = ids + 1};
    for (int step = 0; step < steps; step++) {
        tsr_training_loss loss = {.struct_size = sizeof loss};
        double norm;
        check(tsr_training_gradients(training, &batch, 1, &loss));
        check(tsr_training_norm(training, &norm));
        check(tsr_training_step(training, 1e-3, norm > 1 ? 1 / norm : 1));
        printf("%3d  loss %.4f  norm %.3f\n", step + 1, loss.loss, norm);
    }
    check(tsr_training_save(training, argv[1]));
    tsr_training_destroy(&training);
    tsr_ids_free(ids);

    const tsr_generate_options greedy = {.struct_size = sizeof greedy,
                                         .max_new_tokens = (int64_t)n,
                                         .top_p = 1,
                                         .repeat_penalty = 1};
    check(tsr_model_open(argv[1], device, NULL, &model));
    check(tsr_generate_text(model, text, strcspn(text, "\n") + 1, &greedy, &written, NULL));
    printf("\n%.*s\n%s\n", (int)strcspn(text, "\n"), text, written);
    tsr_text_free(written);
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return 0;
}
