/* task/attention_page.c - attention as one file for a browser: the page attention.html with the
 * numbers in it. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "task/attention.h"
#include "task/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 5000000 };

static json_t *tokens_json(const tsri_task_tokens *side) {
    json_t *list = json_array();
    for (int64_t i = 0; i < side->n; i++) {
        json_t *token = json_pack("{s:s}", "text", side->tokens[i].text);
        if (side->tokens[i].special)
            json_object_set_new(token, "made", json_integer(1));
        json_array_append_new(list, token);
    }
    return list;
}

static json_t *numbers_json(int32_t first, int32_t count) {
    json_t *list = json_array();
    for (int32_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(first + i));
    return list;
}

/* Each share as the nearest 1/255, three of them in four letters (RFC 4648, base64). */
static tsr_status pack_weights(const tsr_attention_map *map, char **out) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t n = (size_t)map->layers * (size_t)map->heads * (size_t)(map->T * map->S);
    char *text;
    TRY(tsri_base_new((n + 2) / 3 * 4 + 1, 1, &text));
    *out = text;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = 0;
        for (size_t k = i; k < i + 3; k++) {
            const float p = k < n ? map->weights[k] : 0;
            bits = bits << 8 | (uint32_t)lrintf(255 * (p > 0 ? p < 1 ? p : 1 : 0));
        }
        for (int shift = 18; shift >= 0; shift -= 6)
            *text++ = letters[bits >> shift & 63];
        if (i + 2 >= n)
            text[-1] = '=';
        if (i + 1 >= n)
            text[-2] = '=';
    }
    return TSR_OK;
}

static tsr_status map_json(const tsr_attention_map *map, json_t **out) {
    static const char *const kinds[] = {"self", "causal", "cross"};
    static const char *const names[] = {"%s to itself", "%s to what came before", "%s to %s"};
    char *weights, name[64];
    TRY(pack_weights(map, &weights));
    snprintf(name, sizeof name, names[map->kind], map->queries, map->keys);
    *out = json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:s}", "name", name, "kind", kinds[map->kind],
                     "queries", map->queries, "keys", map->keys, "layers",
                     numbers_json(map->first_layer, map->layers), "heads",
                     numbers_json(map->first_head, map->heads), "weights", weights);
    free(weights);
    return *out ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for the page's numbers");
}

static tsr_status make_json(const tsr_attention *a, json_t *maps, char **out) {
    json_t *tokens = json_object();
    for (int i = 0; i < 2; i++)
        if (a->sides[i].n)
            json_object_set_new(tokens, a->sides[i].name, tokens_json(&a->sides[i]));
    json_t *all = json_pack("{s:s,s:s,s:s,s:o,s:O}", "model", a->model, "version", TESSERA_VERSION,
                            "about", a->about, "tokens", tokens, "maps", maps);
    *out = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return *out ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for the page's numbers");
}

/* Layers of all maps that would fit, by the numbers alone. */
static tsr_status check_size(const tsr_attention *a) {
    double bytes = (double)tsri_task_page_find("attention.html")->size, a_layer = 0;
    int32_t layers = 0;
    for (size_t i = 0; i < a->n_maps; i++) {
        const tsr_attention_map *map = &a->maps[i];
        const double one = (double)map->heads * (double)map->T * (double)map->S * 4 / 3;
        bytes += one * map->layers;
        a_layer += one;
        layers = map->layers > layers ? map->layers : layers;
    }
    for (int i = 0; i < 2; i++)
        for (int64_t t = 0; t < a->sides[i].n; t++)
            bytes += 20 + (double)strlen(a->sides[i].tokens[t].text);
    if (bytes <= MOST_BYTES)
        return TSR_OK;
    const double fit = (MOST_BYTES - (bytes - a_layer * layers)) / a_layer;
    if (fit >= 1)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the page would be %.1f MB, and %.0f MB is the most: ask for %d of "
                              "its %" PRId32 " layers (--layers A-B)",
                              bytes / 1e6, MOST_BYTES / 1e6, (int)fit, layers);
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "the page would be %.1f MB, and %.0f MB is the most: ask for one layer "
                          "and some heads (--layers A --heads A-B), or a shorter text",
                          bytes / 1e6, MOST_BYTES / 1e6);
}

static tsr_status write_page(const char *json, const char *path) {
    tsri_bytes text = {0};
    tsr_status status = tsri_task_page_append(tsri_task_page_find("attention.html"), json, &text);
    if (status == TSR_OK && text.size > MOST_BYTES)
        status = tsri_base_fail(TSR_E_ARGUMENT,
                                "the page would be %.1f MB, and %.0f MB is the most: ask for fewer "
                                "layers (--layers A-B)",
                                (double)text.size / 1e6, MOST_BYTES / 1e6);
    if (status == TSR_OK)
        status = tsri_base_write_whole(path, text.data, text.size);
    tsri_base_bytes_clear(&text);
    return status;
}

tsr_status tsr_attention_write_page(const tsr_attention *attention, const char *path) {
    char *json = NULL;
    TRY(check_size(attention));
    json_t *maps = json_array();
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < attention->n_maps && status == TSR_OK; i++) {
        json_t *map = NULL;
        status = map_json(&attention->maps[i], &map);
        if (status == TSR_OK)
            json_array_append_new(maps, map);
    }
    if (status == TSR_OK)
        status = make_json(attention, maps, &json);
    if (status == TSR_OK)
        status = write_page(json, path);
    free(json);
    json_decref(maps);
    return status;
}
