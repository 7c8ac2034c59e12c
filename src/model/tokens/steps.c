/* model/tokens/steps.c - the steps of a tokenizer.json that tokenizer_config.json states anew. */
#include "model/tokens/families.h"

#include "base/error.h"

#include <ctype.h>
#include <string.h>

/* Classes of transformers that give the step of this type, where it stands by itself, the values of
 * tokenizer_config.json; as config.json's model_type has their names, without "_" and "-". */
static const struct stated {
    const char *type;
    const char *classes[20];
    struct {
        const char *key, *member;
        bool or_null; /* null is a value, too */
    } fields[3];
} all[] = {{"BertNormalizer",
            {"bert", "convbert", "distilbert", "dpr", "dprcontextencoder", "dprquestionencoder",
             "dprreader", "electra", "funnel", "layoutlm", "layoutlmv2", "lxmert", "mobilebert",
             "mpnet", "realm", "retribert", "splinter", "squeezebert"},
            {{"do_lower_case", "lowercase", false},
             {"strip_accents", "strip_accents", true},
             {"tokenize_chinese_chars", "handle_chinese_chars", false}}},
           {"ByteLevel",
            {"bart", "blenderbot", "codegen", "deberta", "gpt2", "gptneo", "gptneox", "led",
             "longformer", "opt", "qwen2", "roberta", "whisper"},
            {{"add_prefix_space", "add_prefix_space", false}}}};

void tsri_model_class_of(const tsri_model_place *place, char out[TSRI_MODEL_CLASS]) {
    static const char key[] = "tokenizer_class";
    const char *name = json_string_value(json_object_get(place->config, key));
    if (!name)
        name = json_string_value(json_object_get(place->model_config, key));
    if (!name)
        name = json_string_value(json_object_get(place->model_config, "model_type"));
    const char *end = name ? strstr(name, "Tokenizer") : NULL;
    size_t n = 0;
    for (; name && *name && name != end && n + 1 < TSRI_MODEL_CLASS; name++)
        if (*name != '_' && *name != '-')
            out[n++] = (char)tolower((unsigned char)*name);
    out[n] = 0;
}

static bool names(const struct stated *s, const char *class) {
    for (size_t i = 0; i < sizeof s->classes / sizeof *s->classes && s->classes[i]; i++)
        if (!strcmp(s->classes[i], class))
            return true;
    return false;
}

static tsr_status add_fields(const tsri_model_place *place, const struct stated *s, json_t *out) {
    for (size_t i = 0; i < sizeof s->fields / sizeof *s->fields && s->fields[i].key; i++) {
        const char *key = s->fields[i].key;
        json_t *value = json_object_get(place->config, key);
        bool asked;
        if (!value || (json_is_null(value) && !s->fields[i].or_null))
            continue;
        TRY(tsri_base_json_bool(place->config, place->config_path, key, &asked));
        tsri_base_json_put(out, s->fields[i].member, json_incref(value));
    }
    return TSR_OK;
}

tsr_status tsri_model_stated_steps(const tsri_model_place *place, json_t **out) {
    char class[TSRI_MODEL_CLASS];
    *out = json_object();
    tsri_model_class_of(place, class);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!names(&all[i], class))
            continue;
        json_t *fields = json_object();
        const tsr_status status = add_fields(place, &all[i], fields);
        tsri_base_json_put(*out, all[i].type, fields);
        TRY(status);
    }
    return tsri_base_json_made(*out, "tokenizer_config.json");
}
