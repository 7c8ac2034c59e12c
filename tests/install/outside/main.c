/* A program that uses the installed library: it prints eight greedy tokens of the bundled model. */
#include <stdio.h>
#include <string.h>
#include <tessera/tessera.h>

static int print(void *data, const tsr_generated *generated) {
    (void)data;
    fwrite(generated->text, 1, generated->text_size, stdout);
    return 0;
}

static tsr_status run(tsr_model *model, const char *text) {
    tsr_generate_options options = {.struct_size = sizeof options};
    tsr_status status = tsr_generate_defaults(model, &options);
    if (status != TSR_OK)
        return status;
    options.temperature = 0;
    options.max_new_tokens = 8;
    const tsr_prompt prompt = {
        .struct_size = sizeof prompt, .text = text, .text_size = strlen(text)};
    const tsr_prompt *const prompts[] = {&prompt};
    return tsr_generate(model, prompts, 1, &options, print, NULL, NULL);
}

int main(void) {
    tsr_engine *engine = NULL;
    tsr_device *device = NULL;
    tsr_model *model = NULL;
    tsr_status status = tsr_engine_create(NULL, &engine);
    if (status == TSR_OK)
        status = tsr_device_open(engine, NULL, NULL, &device);
    if (status == TSR_OK)
        status = tsr_model_open(NULL, device, NULL, &model);
    if (status == TSR_OK)
        status = run(model, "The");
    puts("");
    if (status != TSR_OK)
        fprintf(stderr, "outside: %s\n", tsr_error_last());
    tsr_model_close(&model);
    tsr_device_close(&device);
    tsr_engine_destroy(&engine);
    return status != TSR_OK;
}
