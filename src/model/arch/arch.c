/* model/arch/arch.c - the table of architectures, and the search by name. */
#include "model/arch/arch.h"

#include "base/error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const tsri_model_arch *const archs[] = {
#define TSRI_MODEL_ARCH(name) &tsri_model_arch_##name,
#include "model/arch/arch.def"
#undef TSRI_MODEL_ARCH
};
enum { ARCHS = sizeof archs / sizeof *archs };

const tsri_model_arch *tsri_model_arch_find(const char *model_type) {
    for (size_t i = 0; i < ARCHS; i++)
        if (strcmp(archs[i]->name, model_type) == 0)
            return archs[i];
    return NULL;
}

const tsri_model_arch *tsri_model_arch_at(size_t i) {
    return i < ARCHS ? archs[i] : NULL;
}

static bool is_one_of(const char *names, const char *name, size_t n) {
    for (; names; names = strchr(names, '|') ? strchr(names, '|') + 1 : NULL)
        if (!strncmp(names, name, n) && (!names[n] || names[n] == '|'))
            return true;
    return false;
}

/* How much of a class's name stands before what says its task: "GPT2" of "GPT2LMHeadModel". */
static size_t without_task(const char *class) {
    static const char *const ends[] = {"WithLMHeadModel", "LMHeadModel",  "DoubleHeadsModel",
                                       "MTModel",         "EncoderModel", "Model"};
    for (size_t n = 1; *class && class[n]; n++) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            if (strcmp(class + n, ends[i]) == 0)
                return n;
        if (strncmp(class + n, "For", 3) == 0 && isupper((unsigned char)class[n + 3]))
            return n;
    }
    return strlen(class);
}

/* Whether a name with neither underscores nor hyphens, in any case, is that of a class. */
static bool is_named(const char *name, const char *class, size_t n) {
    size_t at = 0;
    for (; *name; name++)
        if (isalnum((unsigned char)*name) &&
            (at == n || tolower((unsigned char)class[at++]) != *name))
            return false;
    return at == n;
}

const tsri_model_arch *tsri_model_arch_find_class(const char *class) {
    const size_t whole = strlen(class), n = without_task(class);
    for (size_t i = 0; i < ARCHS; i++)
        if (archs[i]->classes &&
            (is_one_of(archs[i]->classes, class, whole) || is_one_of(archs[i]->classes, class, n)))
            return archs[i];
    for (size_t i = 0; i < ARCHS; i++)
        if (n < whole && is_named(archs[i]->name, class, n))
            return archs[i];
    return NULL;
}

const tsri_model_arch *tsri_model_arch_find_gguf(const char *architecture) {
    for (size_t i = 0; i < ARCHS; i++)
        if (archs[i]->gguf && is_one_of(archs[i]->gguf, architecture, strlen(architecture)))
            return archs[i];
    return NULL;
}

void tsri_model_arch_list(bool gguf, char text[TSRI_MODEL_ARCH_LIST]) {
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < ARCHS && n < TSRI_MODEL_ARCH_LIST; i++) {
        const char *name = gguf ? archs[i]->gguf : archs[i]->name;
        for (; name && n < TSRI_MODEL_ARCH_LIST;
             name = name[strcspn(name, "|")] ? strchr(name, '|') + 1 : NULL)
            n += (size_t)snprintf(text + n, TSRI_MODEL_ARCH_LIST - n, "%s%.*s", n ? ", " : "",
                                  (int)strcspn(name, "|"), name);
    }
}

tsr_status tsri_model_arch_read(json_t *config, const char *what, const tsri_model_arch **arch,
                                tsri_model_spec *spec) {
    static const tsri_io_archive nothing = {0};
    const tsri_model_config read = {.root = config, .what = what, .archive = &nothing};
    const char *type = json_string_value(json_object_get(config, "model_type"));
    tsri_model_spec_defaults(spec);
    *arch = tsri_model_arch_find(type ? type : "");
    if (!*arch)
        return tsri_base_fail(TSR_E_INTERNAL, "%s: no architecture has this name",
                              type ? type : "nothing");
    snprintf(spec->family, sizeof spec->family, "%s", type);
    TRY((*arch)->read(&read, spec));
    TRY(tsri_model_config_labels(&read, spec));
    tsri_model_spec_finish(spec);
    return tsri_model_spec_check(spec, what);
}
