/* branches.c - the likeliest ways on from a text: one prompt, read once, and a copy for each.
 *
 *     branches [TEXT [MODEL]]
 *
 * The prompt goes through the model once. Each of its likeliest next tokens begins a branch: a fork of the
 * session, which shares the prompt's keys and values, goes on with the likeliest token each time.
 * MODEL is a decoder (without it, the bundled one); TESSERA_DEVICE names the device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

enum { BRANCHES = 4, LENGTH = 24 };

static tsr_status check(tsr_status status) {
    if (status != TSR_OK) {
        fprintf(stderr, "branches: %s\n", tsr_error_last());
        exit(1);
    }
    return status;
}

/* The BRANCHES largest logits, best first, and their probabilities. */
static void best(const float *logits, int64_t n, int32_t ids[BRANCHES], double share[BRANCHES]) {
    double sum = 0;
    float largest = logits[0];
    for (int64_t i = 1; i < n; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - (double)largest);
    for (int b = 0; b < BRANCHES; b++) {
        ids[b] = -1;
        for (int32_t i = 0; i < n; i++) {
            int taken = 0;
            for (int k = 0; k < b; k++)
                taken |= ids[k] == i;
            if (!taken && (ids[b] < 0 || logits[i] > logits[ids[b]]))
                ids[b] = i;
        }
        share[b] = exp((double)logits[ids[b]] - (double)largest) / sum;
    }
}

int main(int argc, char **argv) {
    const char *text = argc > 1 ? argv[1] : "ROMEO:\nI";
    const tsr_session_options options = {.struct_size = sizeof options, .sequences = BRANCHES};
    tsr_model_info info = {.struct_size = sizeof info};
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    tsr_session *session = NULL;
    int32_t *prompt = NULL, first[BRANCHES], written[BRANCHES][LENGTH];
    double share[BRANCHES];
    size_t n = 0;
    check(tsr_engine_create(NULL, &engine));
    check(tsr_device_open(engine, NULL, NULL, &device));
    check(tsr_model_open(argc > 2 ? argv[2] : NULL, device, NULL, &model));
    check(tsr_model_info_get(model, &info));
    check(tsr_session_create(model, &options, &session));
    check(tsr_encode(model, text, strlen(text), TSR_ENCODE_ADD_SPECIAL, &prompt, &n));

    float *logits = malloc((size_t)info.vocab * sizeof *logits);
    if (!logits)
        return 1;
    check(tsr_session_prefill(session, 0, prompt, n, logits, NULL));
    best(logits, info.vocab, first, share);
    for (uint32_t b = 1; b < BRANCHES; b++)
        check(tsr_session_fork(session, 0, b));

    int32_t next[BRANCHES];
    memcpy(next, first, sizeof next);
    for (int t = 0; t < LENGTH; t++) { /* all branches in one batch */
        for (int b = 0; b < BRANCHES; b++)
            written[b][t] = next[b];
        check(tsr_session_step(session, next, 1, NULL, next));
    }
    for (int b = 0; b < BRANCHES; b++) {
        char *way = NULL;
        check(tsr_decode(model, written[b], LENGTH, 1, &way, NULL));
        printf("%5.1f %%  %s%s\n\n", 100 * share[b], text, way);
        tsr_text_free(way);
    }
    free(logits);
    tsr_ids_free(prompt);
    tsr_session_destroy(&session);
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return 0;
}
