/* model/load/family.c - finds the family of a model by its config or, where old configs don't say it, by its arrays. */
#include "model/load/family.h"

#include "base/error.h"
#include "base/json.h"
#include "model/weights/weights.h"

#include <stdio.h>
#include <string.h>

#define WANTED "add \"model_type\" to it, which says which architecture the model has"

/* The family of one of the classes; *first is the first class, NULL where there is none. */
static const tsri_model_arch *by_classes(const json_t *config, const char **first) {
    const json_t *list = json_object_get(config, "architectures");
    const tsri_model_arch *arch = NULL;
    *first = NULL;
    for (size_t i = 0; i < json_array_size(list) && !arch; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        *first = *first ? *first : name;
        arch = name ? tsri_model_arch_find_class(name) : NULL;
    }
    return arch;
}

/* The family, or the one that its models with rotary positions are of. */
static const tsri_model_arch *by_positions(const tsri_model_arch *arch, const json_t *config) {
    const char *positions = json_string_value(json_object_get(config, "position_embedding_type"));
    return arch && arch->rotary && positions && !strcmp(positions, "rotary")
               ? tsri_model_arch_find(arch->rotary)
               : arch;
}

/* Families of one layout and one way to read it: which of them it is changes nothing that is computed. */
static bool are_one(const tsri_model_arch *a, const tsri_model_arch *b) {
    return a->read == b->read && a->names == b->names && a->encoder_names == b->encoder_names;
}

static const char *prefix_of(const tsri_model_arch *arch) {
    return arch->names           ? arch->names->prefix
           : arch->encoder_names ? arch->encoder_names->prefix
                                 : "";
}

/* Whether the prefix of its arrays tells the family: "bert." does, "model." doesn't. */
static bool has_own_prefix(const tsri_model_arch *arch) {
    const tsri_model_arch *other;
    bool own = *prefix_of(arch);
    for (size_t i = 0; (other = tsri_model_arch_at(i)); i++)
        own = own && (are_one(arch, other) || strcmp(prefix_of(arch), prefix_of(other)) != 0);
    return own;
}

/* Whether the config and the arrays are those of a model of this family. Arrays that a family does not read are a sign
 * of another one, unless the prefix of all others is its own. */
static bool fits(const tsri_model_arch *arch, const json_t *json, const tsri_io_archive *archive) {
    static const tsri_model_keeping keeping = {.dtype = TSR_DTYPE_NONE};
    tsri_model_weights *weights = NULL;
    tsri_model_spec spec;
    json_t *copy = json_deep_copy(json);
    const tsri_model_config config = {.root = copy, .what = "config.json", .archive = archive};
    tsri_model_spec_defaults(&spec);
    snprintf(spec.family, sizeof spec.family, "%s", arch->name);
    bool well = copy && arch->read(&config, &spec) == TSR_OK &&
                tsri_model_config_labels(&config, &spec) == TSR_OK;
    if (well)
        tsri_model_spec_finish(&spec);
    well = well && tsri_model_spec_check(&spec, config.what) == TSR_OK &&
           tsri_model_weights_create(archive, arch, &spec, config.what, &keeping, &weights) ==
               TSR_OK &&
           (!weights->left_out.size || has_own_prefix(arch));
    tsri_model_weights_destroy(&weights);
    tsri_model_spec_clear(&spec);
    json_decref(copy);
    return well;
}

static tsr_status by_arrays(const json_t *config, const char *what, const tsri_io_archive *archive,
                            const tsri_model_arch **out) {
    char list[TSRI_MODEL_ARCH_LIST] = "";
    const tsri_model_arch *arch;
    size_t n = 0, others = 0;
    *out = NULL;
    for (size_t i = 0; (arch = tsri_model_arch_at(i)); i++) {
        if ((!arch->names && !arch->encoder_names) || (*out && are_one(*out, arch)) ||
            !fits(arch, config, archive))
            continue;
        others += *out != NULL;
        *out = *out ? *out : arch;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", arch->name);
    }
    if (others)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: \"model_type\" and \"architectures\" are missing, and its keys "
                              "and tensors are those of several families: %s; " WANTED,
                              what, list);
    return *out ? TSR_OK
                : tsri_base_fail(
                      TSR_E_FORMAT,
                      "%s: \"model_type\" and \"architectures\" are missing, and its keys and "
                      "tensors are those of no family that is served; " WANTED,
                      what);
}

tsr_status tsri_model_family_find(json_t *config, const char *what, const tsri_io_archive *archive,
                                  const tsri_model_arch **out, const char **how) {
    const char *type = NULL, *class;
    char list[TSRI_MODEL_ARCH_LIST];
    *how = NULL;
    if (!json_is_object(config))
        return tsri_base_fail(TSR_E_FORMAT, "%s: an object was expected", what);
    TRY(tsri_base_json_text(config, what, "model_type", &type));
    if (type && *type) {
        *out = by_positions(tsri_model_arch_find(type), config);
        if (*out)
            return TSR_OK;
        tsri_model_arch_list(false, list);
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"model_type\" is \"%s\", which is not served; these are: %s",
                              what, type, list);
    }
    *out = by_positions(by_classes(config, &class), config);
    *how = *out ? "its architectures" : "the names of its tensors";
    if (!*out && class)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "%s: \"model_type\" is missing, and \"architectures\" names %s, "
                              "which is of no family that is served; if it is, " WANTED,
                              what, class);
    if (!*out)
        TRY(by_arrays(config, what, archive, out));
    tsri_base_json_put(config, "model_type", json_string((*out)->name));
    return tsri_base_json_made(config, what);
}
