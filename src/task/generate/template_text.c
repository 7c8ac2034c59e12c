/* task/generate/template_text.c - finds the chat template in a model's files. */
#include "base/error.h"
#include "base/files.h"
#include "task/generate/template.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG_LIMIT = 1 << 28, CONFIG_DEPTH = 64, TEMPLATE_LIMIT = 1 << 22 };

/* The template of a list of {"name", "template"}. */
static const json_t *of_list(const json_t *list, const char *wanted) {
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name && !strcmp(name, wanted))
            return json_object_get(item, "template");
    }
    return NULL;
}

static tsr_status from_json(const char *path, bool tools, tsri_bytes *text) {
    json_t *config = NULL;
    TRY(tsri_base_json_load(path, CONFIG_LIMIT, CONFIG_DEPTH, &config));
    const json_t *given = json_object_get(config, "chat_template"), *value = given;
    tsr_status status = TSR_OK;
    if (json_is_array(given)) {
        value = tools ? of_list(given, "tool_use") : NULL;
        value = value ? value : of_list(given, "default");
    }
    if (json_is_string(value))
        status = tsri_base_bytes_append(text, json_string_value(value), json_string_length(value));
    else if (json_is_array(given) && !value)
        status = tsri_base_fail(
            TSR_E_UNSUPPORTED,
            "%s: chat_template has %zu templates, but none is named \"default\": write the wanted "
            "one to a file, and give that with --chat-template",
            path, json_array_size(given));
    else if (value && !json_is_null(value))
        status = tsri_base_fail(TSR_E_FORMAT,
                                "%s: chat_template is neither a text nor a list of texts", path);
    json_decref(config);
    return status;
}

static tsr_status from_text(const char *path, bool tools, tsri_bytes *text) {
    (void)tools;
    return tsri_base_read_whole(path, TEMPLATE_LIMIT, text);
}

/* Where a folder may have a template; the first that has one counts. */
static const struct {
    const char *name;
    bool tools; /* only read where tools are given */
    tsr_status (*read)(const char *path, bool tools, tsri_bytes *text);
} places[] = {{"additional_chat_templates/tool_use.jinja", true, from_text},
              {"chat_template.jinja", false, from_text},
              {"tokenizer_config.json", false, from_json},
              {"chat_template.json", false, from_json}};

static tsr_status of_folder(const char *folder, bool tools, tsri_bytes *text) {
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < sizeof places / sizeof *places && status == TSR_OK && !text->size; i++) {
        char *path = tsri_base_join(folder, places[i].name);
        if (!path)
            return TSR_E_HOST_MEMORY;
        if ((tools || !places[i].tools) && tsri_base_is_file(path))
            status = places[i].read(path, tools, text);
        free(path);
    }
    return status;
}

static tsr_status of_gguf(const tsri_io_archive *archive, bool tools, tsri_bytes *text) {
    const char *found = NULL;
    size_t n = 0;
    if (tools)
        TRY(tsri_io_meta_text(archive, "tokenizer.chat_template.tool_use", &found, &n));
    if (!found)
        TRY(tsri_io_meta_text(archive, "tokenizer.chat_template", &found, &n));
    return found ? tsri_base_bytes_append(text, found, n) : TSR_OK;
}

tsr_status tsri_task_template_text(const tsri_model *model, bool tools, tsri_bytes *text) {
    if (model->archive && model->archive->format == TSRI_IO_GGUF)
        return of_gguf(model->archive, tools, text);
    return model->folder ? of_folder(model->folder, tools, text) : TSR_OK;
}
