/* model/weights/adapter_config.c - reads adapter_config.json, and refuses settings that are not
 * served. */
#include "model/weights/adapter_config.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES = 4 << 20, CONFIG_DEPTH = 16, MOST_RANK = 1 << 16 };

/* Settings that make an adapter something other than W + scale * B A, unless they are null, false
 * or empty. */
static const char *const refused[] = {"use_dora",
                                      "lora_bias",
                                      "alpha_pattern",
                                      "layer_replication",
                                      "target_parameters",
                                      "use_qalora",
                                      "use_bdlora",
                                      "trainable_token_indices",
                                      "alora_invocation_tokens",
                                      "arrow_config"};

static bool is_set(const json_t *value) {
    return json_is_true(value) || json_is_string(value) || json_is_number(value) ||
           json_array_size(value) > 0 || json_object_size(value) > 0;
}

static tsr_status check_settings(const json_t *config, const char *what) {
    const json_t *type = json_object_get(config, "peft_type"),
                 *start = json_object_get(config, "init_lora_weights");
    if (!json_is_string(type))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"peft_type\" is missing; it must be \"LORA\"",
                              what);
    if (strcmp(json_string_value(type), "LORA") != 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"peft_type\" is \"%.40s\"; only LORA is served", what,
                              json_string_value(type));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (is_set(json_object_get(config, refused[i])))
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "%s: \"%s\" is set, which is not served; merge such an adapter "
                                  "with PEFT and give the merged model",
                                  what, refused[i]);
    if (json_is_string(start) && strcmp(json_string_value(start), "gaussian") != 0 &&
        strcmp(json_string_value(start), "eva") != 0 &&
        strcmp(json_string_value(start), "orthogonal") != 0)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"init_lora_weights\" is \"%.40s\", which changed the model's "
                              "own weights; merge such an adapter with PEFT",
                              what, json_string_value(start));
    return TSR_OK;
}

static tsr_status read_numbers(const json_t *config, const char *what,
                               tsri_model_adapter_config *out) {
    const json_t *rank = json_object_get(config, "r"),
                 *alpha = json_object_get(config, "lora_alpha"),
                 *root = json_object_get(config, "use_rslora");
    if (!json_is_integer(rank) || json_integer_value(rank) < 1 ||
        json_integer_value(rank) > MOST_RANK)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"r\" must be a whole number from 1 to %d", what,
                              MOST_RANK);
    if (alpha && (!json_is_number(alpha) || !isfinite(json_number_value(alpha))))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"lora_alpha\" must be a number", what);
    if (root && !json_is_null(root) && !json_is_boolean(root))
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"use_rslora\" must be true or false", what);
    *out = (tsri_model_adapter_config){
        .rank = json_integer_value(rank),
        .alpha = alpha ? json_number_value(alpha) : 8, /* PEFT's default */
        .by_root = json_is_true(root),
        .tying = json_is_true(json_object_get(config, "ensure_weight_tying")),
        .ranks_vary = json_object_size(json_object_get(config, "rank_pattern")) > 0};
    return TSR_OK;
}

tsr_status tsri_model_adapter_config_read(const char *folder, tsri_model_adapter_config *out) {
    json_t *config = NULL;
    char *path = tsri_base_join(folder, "adapter_config.json");
    tsr_status status = path ? TSR_OK : TSR_E_HOST_MEMORY;
    if (status == TSR_OK && !tsri_base_is_folder(folder))
        status =
            tsri_base_fail(TSR_E_IO,
                           "%s: %s; a LoRA adapter is a folder with "
                           "adapter_config.json and adapter_model.safetensors",
                           folder, tsri_base_is_file(folder) ? "this is a file" : "no such folder");
    if (status == TSR_OK && !tsri_base_is_file(path))
        status =
            tsri_base_fail(TSR_E_IO, "%s: no such file; the folder is not a LoRA adapter", path);
    if (status == TSR_OK)
        status = tsri_base_json_load(path, CONFIG_BYTES, CONFIG_DEPTH, &config);
    if (status == TSR_OK && !json_is_object(config))
        status = tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", path);
    if (status == TSR_OK)
        status = check_settings(config, path);
    if (status == TSR_OK)
        status = read_numbers(config, path, out);
    json_decref(config);
    free(path);
    return status;
}
