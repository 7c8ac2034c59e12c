/* model/spec/config_labels.c - what a config says about heads: its class, its labels and what they
 * mean. */
#include "base/error.h"
#include "base/memory.h"
#include "model/spec/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LABELS = 1 << 20 };

bool tsri_model_config_is_for(const tsri_model_config *config, const char *end) {
    const json_t *list = json_object_get(config->root, "architectures");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const size_t n = name ? strlen(name) : 0, m = strlen(end);
        if (n >= m && !strcmp(name + n - m, end))
            return true;
    }
    return false;
}

bool tsri_model_config_is_bare(const tsri_model_config *config) {
    return tsri_model_config_is_for(config, "Model") &&
           !tsri_model_config_is_for(config, "HeadModel") &&
           !tsri_model_config_is_for(config, "HeadsModel") &&
           !tsri_model_config_is_for(config, "MTModel");
}

tsr_status tsri_model_config_only(const tsri_model_config *config, const char *key,
                                  const char *served) {
    const char *text = served;
    TRY(tsri_base_json_text(config->root, config->what, key, &text));
    if (!strcmp(text, served))
        return TSR_OK;
    return tsri_base_fail(TSR_E_UNSUPPORTED, "%s: \"%s\" is \"%s\"; only \"%s\" is served",
                          config->what, key, text, served);
}

static tsr_status read_problem(const tsri_model_config *config, tsri_model_spec *spec) {
    const char *type = NULL;
    TRY(tsri_base_json_text(config->root, config->what, "problem_type", &type));
    if (!type || !strcmp(type, "single_label_classification"))
        /* as in transformers' pipeline: a single number is a probability by itself */
        spec->problem = spec->labels == 1 ? TSRI_PROBLEM_MULTIPLE : TSRI_PROBLEM_SINGLE;
    else if (!strcmp(type, "regression"))
        spec->problem = TSRI_PROBLEM_REGRESSION;
    else if (!strcmp(type, "multi_label_classification"))
        spec->problem = TSRI_PROBLEM_MULTIPLE;
    else
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"problem_type\" is \"%s\"; single_label_classification, "
                              "multi_label_classification and regression are served",
                              config->what, type);
    return TSR_OK;
}

static tsr_status read_labels(const tsri_model_config *config, const json_t *table,
                              tsri_model_spec *spec) {
    char **texts = NULL;
    TRY(tsri_base_new((size_t)spec->labels, sizeof *texts, &texts));
    spec->label_of = texts;
    for (int32_t i = 0; i < spec->labels; i++) {
        char key[16];
        snprintf(key, sizeof key, "%" PRId32, i);
        const json_t *label = json_object_get(table, key);
        if (!json_is_string(label))
            return tsri_base_fail(
                TSR_E_FORMAT, "%s: \"id2label\" has %" PRId32 " labels, but no text under \"%s\"",
                config->what, spec->labels, key);
        texts[i] = tsri_base_copy_text(json_string_value(label), json_string_length(label));
        if (!texts[i])
            return TSR_E_HOST_MEMORY;
    }
    return TSR_OK;
}

tsr_status tsri_model_spec_number_labels(tsri_model_spec *spec, int32_t n) {
    char **texts = NULL;
    TRY(tsri_base_new((size_t)n, sizeof *texts, &texts));
    spec->label_of = texts;
    spec->labels = n;
    for (int32_t i = 0; i < n; i++) {
        char text[24];
        snprintf(text, sizeof text, "LABEL_%" PRId32, i);
        texts[i] = tsri_base_copy_text(text, strlen(text));
        if (!texts[i])
            return TSR_E_HOST_MEMORY;
    }
    if (n == 1 && spec->problem == TSRI_PROBLEM_SINGLE)
        spec->problem = TSRI_PROBLEM_MULTIPLE;
    return TSR_OK;
}

tsr_status tsri_model_config_labels(const tsri_model_config *config, tsri_model_spec *spec) {
    const json_t *table = json_object_get(config->root, "id2label");
    if (!spec->encoder.layers || spec->decoder.layers)
        return TSR_OK;
    if (table && !json_is_null(table) && !json_is_object(table))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"id2label\" must be an object of numbers and their labels",
                              config->what);
    if (json_object_size(table) > MOST_LABELS)
        return tsri_base_fail(TSR_E_FORMAT, "%s: \"id2label\" has %zu labels; at most %d are read",
                              config->what, json_object_size(table), MOST_LABELS);
    if (tsri_model_config_is_for(config, "ForQuestionAnswering") ||
        tsri_io_find(config->archive, "qa_outputs.weight")) {
        spec->label_tokens = spec->label_spans = true;
        spec->labels = 2;
        return TSR_OK;
    }
    const int32_t named = (int32_t)json_object_size(table);
    spec->labels = named;
    TRY(tsri_model_config_int(config, "num_labels", false, 1, MOST_LABELS, &spec->labels));
    /* as in transformers, names of another number of labels are not read */
    if (spec->labels)
        TRY(named == spec->labels ? read_labels(config, table, spec)
                                  : tsri_model_spec_number_labels(spec, spec->labels));
    return read_problem(config, spec);
}
