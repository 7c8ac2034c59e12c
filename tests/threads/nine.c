/* threads/nine.c - one generation, short enough for every thread of a test. */
#include "threads/nine.h"

#include <string.h>

typedef struct taken {
    int32_t *ids;
    int n;
} taken;

static int take(void *data, const tsr_generated *generated) {
    taken *t = data;
    if (generated->id >= 0 && t->n < TOKENS)
        t->ids[t->n++] = generated->id;
    return 0;
}

tsr_status continue_nine(tsr_device *device, int32_t ids[TOKENS]) {
    static const int32_t nine = 9;
    const tsr_prompt prompt = {.struct_size = sizeof prompt, .n_ids = 1, .ids = &nine};
    const tsr_prompt *const prompts[] = {&prompt};
    tsr_generate_options options = {.struct_size = sizeof options};
    taken all = {.ids = ids};
    tsr_model *model = NULL;
    memset(ids, 0, TOKENS * sizeof *ids);
    tsr_status status =
        tsr_model_open(TESSERA_SOURCE_DIR "/tests/golden/models/gpt2-tiny", device, NULL, &model);
    if (status == TSR_OK)
        status = tsr_generate_defaults(model, &options);
    options.temperature = 0;
    options.ignore_eos = 1;
    options.max_new_tokens = TOKENS;
    if (status == TSR_OK)
        status = tsr_generate(model, prompts, 1, &options, take, &all, NULL);
    tsr_model_close(&model);
    return status;
}
