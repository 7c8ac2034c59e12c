#include "train/adapter.h"

#include "base/error.h"
#include "base/files.h"
#include "io/archive.h"

#include <stdlib.h>
#include <string.h>

/* Adds "q_proj" of "x.y.q_proj.lora_A.weight", once. */
static void add_module(json_t *modules, const char *name) {
    const char *end = strstr(name, ".lora_A"), *begin = end;
    size_t i;
    json_t *held;
    if (!end)
        return;
    while (begin > name && begin[-1] != '.')
        begin--;
    json_array_foreach(modules, i, held) {
        if (json_string_length(held) == (size_t)(end - begin) &&
            !memcmp(json_string_value(held), begin, (size_t)(end - begin)))
            return;
    }
    json_array_append_new(modules, json_stringn(begin, (size_t)(end - begin)));
}

tsr_status tsri_train_adapter_config(const char *folder, const char *weights, const char *base,
                                     const tsri_train_settings *settings) {
    tsri_io_archive *archive = NULL;
    TRY(tsri_io_open(weights, &archive));
    json_t *modules = json_array();
    for (size_t i = 0; i < archive->n_arrays; i++)
        add_module(modules, archive->arrays[i].name);
    tsri_io_close(&archive);
    json_t *all =
        json_pack("{s:s,s:s,s:I,s:f,s:f,s:s,s:b,s:b,s:o}", "peft_type", "LORA",
                  "base_model_name_or_path", base ? base : "", "r", (json_int_t)settings->lora_rank,
                  "lora_alpha", settings->lora_alpha, "lora_dropout", 0.0, "bias", "none",
                  "fan_in_fan_out", 0, "inference_mode", 1, "target_modules", modules);
    char *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    char *path = tsri_base_join(folder, "adapter_config.json");
    const tsr_status status =
        text && path ? tsri_base_write_whole(path, text, strlen(text))
                     : tsri_base_fail(TSR_E_HOST_MEMORY, "%s: out of host memory", folder);
    free(path);
    free(text);
    json_decref(all);
    return status;
}
