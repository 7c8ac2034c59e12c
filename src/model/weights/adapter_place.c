/* model/weights/adapter_place.c - finds the array of a model that an array of an adapter belongs to. */
#include "model/weights/adapter_place.h"

#include "base/error.h"
#include "model/weights/arrays_by_name.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 512 };

/* Whether one name is the other, or its last parts: files of a bare base model leave out the first
 * parts. */
static bool same_module(const char *a, const char *b) {
    const size_t n = strlen(a), m = strlen(b);
    const char *longer = n > m ? a : b, *shorter = n > m ? b : a;
    const size_t more = n > m ? n - m : m - n;
    return !strcmp(longer + more, shorter) && (!more || longer[more - 1] == '.');
}

/* The part of a weight that reads this array; NULL: none. *weight becomes that weight. */
static const tsri_model_part *part_of(const tsri_model_weights *weights, const tsri_io_array *array,
                                      const tsri_model_weight **weight) {
    for (uint32_t id = 0; id < weights->count; id++) {
        *weight = tsri_model_weight_at(weights, id);
        const tsri_model_part *part = *weight ? tsri_model_weight_part(*weight, array) : NULL;
        if (part)
            return part;
    }
    return NULL;
}

/* The number of an array among those that a weight is made from, and how many there are. */
static size_t number_of(const tsri_model_wanted *names, const tsri_model_wanted_array *array,
                        size_t *many) {
    size_t number = 0;
    *many = 0;
    for (size_t i = 0; i < names->count; i++) {
        number += names->items[i].id == array->id && &names->items[i] < array;
        *many += names->items[i].id == array->id;
    }
    return number;
}

/* The weights that a model has in place of one: queries, keys and values may be several. */
static uint32_t ids_in_place_of(uint32_t id) {
    const tsri_model_role role = tsri_model_weight_role(id);
    return role == TSRI_ROLE_QKV || role == TSRI_ROLE_QKV_BIAS ? 3 : 1;
}

/* Finds what a GGUF file has for an array of Hugging Face's: the same of the arrays that a weight is
 * made from. Some families' matrices are others there, of other rows. */
static void find_in_gguf(const tsri_model_adapter_search *r, const char *name,
                         tsri_model_adapter_place *out) {
    const tsri_model_wanted_array *array = NULL;
    size_t many, n = 0;
    for (size_t i = 0; i < r->names->count && !array; i++)
        array = same_module(r->names->items[i].name, name) ? &r->names->items[i] : NULL;
    if (!array)
        return;
    const size_t number = number_of(r->names, array, &many);
    for (uint32_t place = 0; place < ids_in_place_of(array->id); place++) {
        const tsri_model_weight *weight = tsri_model_weight_at(r->weights, array->id + 2 * place);
        for (int i = 0; weight && i < weight->n_parts; i++) {
            const tsri_model_part *part = &weight->parts[i];
            bool again = !part->array;
            for (int k = 0; k < i; k++)
                again |= weight->parts[k].array == part->array;
            if (again || n++ != number || array->grouped != (part->group != part->rows))
                continue;
            out->weight = weight;
            out->part = part;
        }
    }
    const tsri_model_role role = tsri_model_weight_role(array->id);
    if (n != many)
        out->part = NULL;
    if (r->arch->gguf_interleaved && number < 2 &&
        (role == TSRI_ROLE_QKV || role == TSRI_ROLE_QKV_BIAS))
        out->paired = tsri_model_main_stack(r->weights->spec)->head_size;
}

/* Finds the only array of the files of this name, or of one of which either is the end of the other; NULL: none. */
static tsr_status find_in_files(const tsri_model_adapter_search *r, const char *given,
                                const char *name, const tsri_io_array **out) {
    const tsri_io_archive *archive = r->weights->archive;
    *out = tsri_io_find(archive, name);
    for (size_t i = 0; !*out && i < archive->n_arrays; i++) {
        if (!same_module(archive->arrays[i].name, name))
            continue;
        for (size_t k = i + 1; k < archive->n_arrays; k++)
            if (same_module(archive->arrays[k].name, name))
                return tsri_base_fail(TSR_E_FORMAT,
                                      "%s: tensor \"%s\" may belong to \"%s\" and to \"%s\" of %s",
                                      r->path, given, archive->arrays[i].name,
                                      archive->arrays[k].name, archive->path);
        *out = &archive->arrays[i];
    }
    return TSR_OK;
}

/* Finds the array of this name as it is spelled. *found: one that the files have, whatever reads it. */
static tsr_status find_spelled(const tsri_model_adapter_search *r, const char *given,
                               const char *name, const tsri_io_array **found,
                               tsri_model_adapter_place *out) {
    const tsri_io_array *head = r->weights->head;
    if (head && same_module(head->name, name)) {
        *found = head;
    } else if (r->names->count) {
        find_in_gguf(r, name, out);
        return TSR_OK;
    } else {
        TRY(find_in_files(r, given, name, found));
    }
    out->part = *found ? part_of(r->weights, *found, &out->weight) : NULL;
    return TSR_OK;
}

/* Writes the name with `to` in place of its beginning `from`; false: it has another one. */
static bool respell(const char *name, const char *from, const char *to, char out[NAME]) {
    if (!from || !to || strncmp(name, from, strlen(from)) != 0)
        return false;
    snprintf(out, NAME, "%s%s", to, name + strlen(from));
    return true;
}

static tsr_status refuse(const tsri_model_adapter_search *r, const char *given, const char *name,
                         bool found) {
    const char *files = r->weights->archive->path;
    if (r->names->count)
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: tensor \"%s\" belongs to \"%s\", which %s lacks or holds in "
                              "another form; use the adapter with the model's safetensors",
                              r->path, given, name, files);
    if (!found && !strstr(given, ".lora_"))
        return tsri_base_fail(TSR_E_FORMAT,
                              "%s: the adapter brings tensor \"%s\", which %s does not have; merge "
                              "it with PEFT, and give the merged model",
                              r->path, given, files);
    return tsri_base_fail(TSR_E_FORMAT,
                          "%s: tensor \"%s\" belongs to \"%s\", which %s %s; the adapter was made "
                          "for another model",
                          r->path, given, name, files,
                          found ? "has only to compute something else from it" : "does not have");
}

/* The name of the output matrix in the family's files, of a language model for which it is the embedding. */
static bool tied_head(const tsri_model_adapter_search *r, char out[NAME]) {
    const tsri_model_spec *spec = r->weights->spec;
    const tsri_model_names *names = r->arch->names;
    if (!spec->tied || !spec->decoder.layers || spec->encoder.layers || !names || !names->head ||
        *names->head != '/' || tsri_model_weight_at(r->weights, TSRI_WEIGHT_HEAD))
        return false;
    snprintf(out, NAME, "%.*s.weight", (int)strcspn(names->head + 1, "|"), names->head + 1);
    return true;
}

tsr_status tsri_model_adapter_untie(const tsri_model_adapter_search *r) {
    char head[NAME];
    return tied_head(r, head) ? tsri_model_untie(r->weights, head) : TSR_OK;
}

const tsri_io_array *tsri_model_adapter_copy(const tsri_model_adapter_search *r) {
    char head[NAME];
    return tied_head(r, head) ? tsri_io_find(r->weights->archive, head) : NULL;
}

tsr_status tsri_model_adapter_find(const tsri_model_adapter_search *r, const char *given,
                                   const char *name, tsri_model_adapter_place *out) {
    const tsri_model_names *names = r->arch->names;
    const char *const prefixes[] = {names ? names->prefix : NULL,
                                    names ? names->other_prefix : NULL};
    const tsri_io_array *found = NULL;
    char other[NAME];
    *out = (tsri_model_adapter_place){0};
    if (tied_head(r, other) && same_module(other, name))
        TRY(tsri_model_adapter_untie(r));
    TRY(find_spelled(r, given, name, &found, out));
    for (int i = 0; i < 2 && !out->part; i++)
        if (respell(name, prefixes[i], prefixes[!i], other))
            TRY(find_spelled(r, given, other, &found, out));
    bool left = false;
    if (!out->part)
        TRY(tsri_model_leave_out(r->weights, names, name, &left));
    return out->part || left ? TSR_OK : refuse(r, given, name, found);
}
