/* translate.c - translates each line of standard input, and prints the model's score for it.
 *
 *     translate [MODEL] < lines
 *
 * MODEL is an encoder-decoder (without it, the bundled one from German to English); TESSERA_DEVICE
 * names the device. */
#include <stdio.h>
#include <string.h>
#include <tessera/tessera.h>

typedef struct lines {
    char line[4096];
} lines;

/* Gives the next line when one is asked for. */
static int next(void *data, int wait, const char **text, size_t *size) {
    lines *l = data;
    if (!wait)
        return -1; /* read nothing ahead, so that each line is answered at once */
    if (!fgets(l->line, sizeof l->line, stdin))
        return 0;
    *text = l->line;
    *size = strcspn(l->line, "\r\n");
    return 1;
}

static int print(void *data, const tsr_translated *translated) {
    (void)data;
    if (translated->status != TSR_OK)
        printf("?\t%s\n", translated->error);
    else
        printf("%.3f\t%s\n", (double)translated->best[0].score, translated->best[0].text);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv) {
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    lines input;
    tsr_status status = tsr_engine_create(NULL, &engine);
    if (status == TSR_OK)
        status = tsr_device_open(engine, NULL, NULL, &device);
    if (status == TSR_OK)
        status = tsr_model_open(argc > 1 ? argv[1] : "translate-de-en", device, NULL, &model);
    if (status == TSR_OK)
        status = tsr_translate(model, NULL, next, print, &input, NULL);
    if (status != TSR_OK)
        fprintf(stderr, "translate: %s\n", tsr_error_last());
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return status != TSR_OK;
}
