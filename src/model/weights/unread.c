/* model/weights/unread.c - what becomes of the arrays that no weight is made from: some are never read, some belong to
 * heads that are left out, and all others are refused. */
#include "model/weights/arrays_by_name.h"

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool is_ignored(const tsri_model_names *names, const char *name) {
    for (const char *const *end = names ? names->ignored : NULL; end && *end; end++)
        if (tsri_base_ends_with(name, *end))
            return true;
    return false;
}

static bool begins_with(const char *name, const char *begin, size_t n) {
    return strncmp(name, begin, n) == 0;
}

/* Whether the array belongs to a decoder that is left out. */
static bool is_of_decoder(const tsri_model_finder *finder, const tsri_model_names *names,
                          const char *name) {
    char stack[TSRI_MODEL_ARRAY_NAME];
    if (!names || !names->stack || finder->weights->spec->decoder.layers)
        return false;
    tsri_model_find_begin(finder, names->stack, 0, "", stack);
    return begins_with(name, stack, strlen(stack));
}

/* How much of the array's name is that of a layer behind those that are computed; 0: it is of none. */
static size_t layer_behind(const tsri_model_finder *finder, const tsri_model_names *names,
                           const char *name) {
    const tsri_model_stack *stack = tsri_model_main_stack(finder->weights->spec);
    char begin[TSRI_MODEL_ARRAY_NAME];
    for (int32_t i = 0; names && names->layers && i < stack->unused_layers; i++) {
        tsri_model_find_begin(finder, names->layers, stack->layers + i, "", begin);
        if (begins_with(name, begin, strlen(begin)))
            return strlen(begin) - 1;
    }
    return 0;
}

/* The same for a part that the family names as one that is not computed. */
static size_t part_unserved(const tsri_model_names *names, const char *name) {
    for (const char *const *begin = names ? names->unserved : NULL; begin && *begin; begin++)
        if (begins_with(name, *begin, strlen(*begin)))
            return strlen(*begin) - 1;
    return 0;
}

/* ---- heads that no family has ---- */

/* Whether the family has a head under this first part of a name: then what it doesn't read there would change that
 * head. */
static bool is_of_family(const tsri_model_names *names, const char *part, size_t n) {
    static const size_t heads[] = {
        offsetof(tsri_model_names, head),         offsetof(tsri_model_names, head_bias),
        offsetof(tsri_model_names, masked_dense), offsetof(tsri_model_names, masked_norm),
        offsetof(tsri_model_names, pooler),       offsetof(tsri_model_names, next),
        offsetof(tsri_model_names, label_dense),  offsetof(tsri_model_names, label_norm),
        offsetof(tsri_model_names, label),        offsetof(tsri_model_names, token_label),
        offsetof(tsri_model_names, span_label)};
    for (size_t i = 0; names && i < sizeof heads / sizeof *heads; i++) {
        const char *at;
        memcpy(&at, (const char *)names + heads[i], sizeof at);
        for (; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
            if ((*at == '/' || *at == '=') && strcspn(at + 1, ".|") == n &&
                begins_with(at + 1, part, n))
                return true;
    }
    return false;
}

static bool is_read(const tsri_model_finder *finder, const char *part, size_t n) {
    const tsri_io_archive *archive = finder->weights->archive;
    for (size_t i = 0; i < archive->n_arrays; i++) {
        const char *name = archive->arrays[i].name;
        if (finder->used[i] && strcspn(name, ".") == n && begins_with(name, part, n))
            return true;
    }
    return false;
}

/* How much of the array's name is that of a head that the family doesn't have; 0: it may be a part of the model, or of
 * a head that is computed. Only where the model's own arrays have a prefix can the two be told apart. */
static size_t foreign_head(const tsri_model_finder *finder, const tsri_model_arch *arch,
                           const char *name) {
    const tsri_io_format format = finder->weights->archive->format;
    const size_t n = strcspn(name, "."), own = strcspn(finder->prefix, ".");
    const bool ours = !own || (n == own && begins_with(name, finder->prefix, n));
    return (format != TSRI_IO_SAFETENSORS && format != TSRI_IO_INDEX) || ours ||
                   is_of_family(arch->names, name, n) ||
                   is_of_family(arch->encoder_names, name, n) || is_read(finder, name, n)
               ? 0
               : n;
}

/* ---- all ---- */

/* Lists a part that is left out, once; after the first ones, only that there are more. */
static tsr_status list(tsri_bytes *all, const char *part, size_t n) {
    enum { MOST = 300 };
    const char *const more = ", ...";
    for (const char *at = all->data, *end; at && *at; at = *end ? end + 2 : NULL) {
        end = at + strcspn(at, ",");
        if ((size_t)(end - at) == n && begins_with(at, part, n))
            return TSR_OK;
    }
    if (all->size + n + 2 <= MOST)
        return tsri_base_bytes_printf(all, "%s%.*s", all->size ? ", " : "", (int)n, part);
    return all->size && tsri_base_ends_with(all->data, more)
               ? TSR_OK
               : tsri_base_bytes_printf(all, "%s", all->size ? more : "...");
}

tsr_status tsri_model_leave_out(tsri_model_weights *weights, const tsri_model_names *names,
                                const char *name, bool *left) {
    const size_t part = part_unserved(names, name);
    *left = part > 0;
    return part ? list(&weights->left_out, name, part) : TSR_OK;
}

/* Whether the config was made from the array. */
static bool is_of_config(const tsri_io_archive *archive, const char *name) {
    return archive->format == TSRI_IO_GGUF && (strcmp(name, tsri_model_rope_factors_gguf[0]) == 0 ||
                                               strcmp(name, tsri_model_rope_factors_gguf[1]) == 0);
}

static tsr_status check(const tsri_model_finder *finder, const tsri_model_arch *arch,
                        const tsri_model_names *names, const tsri_io_array *array) {
    const tsri_io_archive *archive = finder->weights->archive;
    const char *name = array->name;
    size_t part = layer_behind(finder, names, name);
    if (is_ignored(names, name) || is_ignored(arch->encoder_names, name) ||
        is_of_decoder(finder, names, name) || is_of_config(archive, name))
        return TSR_OK;
    part = part ? part : layer_behind(finder, arch->encoder_names, name);
    part = part ? part : part_unserved(names, name);
    part = part ? part : part_unserved(arch->encoder_names, name);
    part = part ? part : foreign_head(finder, arch, name);
    return part ? list(&finder->weights->left_out, name, part)
                : tsri_base_fail(TSR_E_UNSUPPORTED,
                                 "%s: tensor \"%s\" is not part of a %s model as %s describes it",
                                 archive->files[array->file]->path, name,
                                 finder->weights->spec->family, finder->config_name);
}

tsr_status tsri_model_find_unread(const tsri_model_finder *finder, const tsri_model_arch *arch) {
    const tsri_io_archive *archive = finder->weights->archive;
    const tsri_model_names *names =
        archive->format == TSRI_IO_GGUF ? arch->gguf_names : arch->names;
    const tsri_model_names *all = names ? names : arch->encoder_names;
    const tsri_io_array *head = NULL, *bias = NULL;
    if (all->head && finder->weights->spec->tied)
        head = tsri_model_find_array(finder, all->head, 0, ".weight");
    if (all->head && names && !finder->weights->spec->decoder.layers) /* read as an encoder */
        bias = tsri_model_find_array(finder, all->head, 0, ".bias");
    for (size_t i = 0; i < archive->n_arrays; i++)
        if (!finder->used[i] && !archive->arrays[i].spare && head != &archive->arrays[i] &&
            bias != &archive->arrays[i])
            TRY(check(finder, arch, names, &archive->arrays[i]));
    return TSR_OK;
}
