/* task/show/attention_page.c - writes attention as one file for a browser: the page attention.html
 * with the numbers in it. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/show/attention.h"
#include "task/show/html_page.h"
#include "task/show/packed_attention.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 5000000 };

static json_t *tokens_json(const tsri_task_tokens *side) {
    json_t *list = json_array();
    for (int64_t i = 0; i < side->n; i++) {
        json_t *token = json_pack("{s:s}", "text", side->tokens[i].text);
        if (side->tokens[i].special)
            tsri_base_json_put(token, "made", json_integer(1));
        tsri_base_json_append(list, token);
    }
    return list;
}

static json_t *numbers_json(int32_t first, int32_t count) {
    json_t *list = json_array();
    for (int32_t i = 0; i < count; i++)
        tsri_base_json_append(list, json_integer(first + i));
    return list;
}

static tsr_status map_json(const tsr_attention_map *map, json_t **out) {
    static const char *const kinds[] = {"self", "causal", "cross"};
    static const char *const names[] = {"%s to itself", "%s to what came before", "%s to %s"};
    tsri_bytes weights = {0};
    char name[64];
    tsr_status status = tsri_task_pack_attention(
        map->weights, (size_t)map->layers * (size_t)map->heads, (size_t)map->T, (size_t)map->S,
        map->kind == TSR_ATTENTION_CAUSAL, &weights);
    snprintf(name, sizeof name, names[map->kind], map->queries, map->keys);
    *out = status != TSR_OK
               ? NULL
               : json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:s%}", "name", name, "kind", kinds[map->kind],
                           "queries", map->queries, "keys", map->keys, "layers",
                           numbers_json(map->first_layer, map->layers), "heads",
                           numbers_json(map->first_head, map->heads), "weights",
                           weights.data ? weights.data : "", weights.size);
    tsri_base_bytes_clear(&weights);
    if (status != TSR_OK)
        return status;
    return *out ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for the page's numbers");
}

static tsr_status make_json(const tsr_attention *a, json_t *maps, char **out) {
    json_t *tokens = json_object();
    for (int i = 0; i < 2; i++)
        if (a->sides[i].n)
            tsri_base_json_put(tokens, a->sides[i].name, tokens_json(&a->sides[i]));
    json_t *all = json_pack("{s:s,s:s,s:s,s:o,s:O}", "model", a->model, "version", TESSERA_VERSION,
                            "about", a->about, "tokens", tokens, "maps", maps);
    *out = tsri_base_json_print(all, JSON_COMPACT);
    json_decref(all);
    return *out ? TSR_OK : tsri_base_fail(TSR_E_HOST_MEMORY, "no memory for the page's numbers");
}

/* Fails with the number of layers that would fit, by their share of the size without what is `fixed`.
 * layers_by, heads_by: how they are asked for. */
static tsr_status too_large(const tsr_attention *a, const char *what, size_t size, double fixed,
                            const char *layers_by, const char *heads_by) {
    int32_t layers = 0;
    for (size_t i = 0; i < a->n_maps; i++)
        layers = a->maps[i].layers > layers ? a->maps[i].layers : layers;
    const double fit = (MOST_BYTES - fixed) / ((double)size - fixed) * layers;
    if (fit >= 1)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%s would have %.1f MB; at most %.0f MB are allowed: ask for "
                              "%d of its %" PRId32 " layers%s",
                              what, (double)size / 1e6, MOST_BYTES / 1e6, (int)fit, layers,
                              layers_by);
    return tsri_base_fail(TSR_E_ARGUMENT,
                          "%s would have %.1f MB; at most %.0f MB are allowed: ask for one "
                          "layer and some heads%s, or give a shorter text",
                          what, (double)size / 1e6, MOST_BYTES / 1e6, heads_by);
}

static tsr_status write_page(const tsr_attention *a, const char *json, const char *path) {
    const tsri_task_html_page *page = tsri_task_html_page_find("show/attention.html");
    tsri_bytes text = {0};
    tsr_status status = tsri_task_html_page_append(page, json, &text);
    if (status == TSR_OK && text.size > MOST_BYTES)
        status = too_large(a, "the page", text.size, (double)page->size, " (--layers A-B)",
                           " (--layers A --heads A-B)");
    if (status == TSR_OK)
        status = tsri_base_write_whole(path, text.data, text.size);
    tsri_base_bytes_clear(&text);
    return status;
}

static tsr_status all_json(const tsr_attention *attention, char **out) {
    json_t *maps = json_array();
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < attention->n_maps && status == TSR_OK; i++) {
        json_t *map = NULL;
        status = map_json(&attention->maps[i], &map);
        if (status == TSR_OK)
            tsri_base_json_append(maps, map);
    }
    if (status == TSR_OK)
        status = make_json(attention, maps, out);
    json_decref(maps);
    return status;
}

tsr_status tsr_attention_write_page(const tsr_attention *attention, const char *path) {
    TRY(NEED(attention));
    TRY(NEED(path));
    char *json = NULL;
    tsr_status status = all_json(attention, &json);
    if (status == TSR_OK)
        status = write_page(attention, json, path);
    free(json);
    return status;
}

tsr_status tsr_attention_json(const tsr_attention *attention, char **text, size_t *size) {
    TRY(NEED(attention));
    TRY(NEED(text));
    char *json = NULL;
    *text = NULL;
    TRY(all_json(attention, &json));
    const size_t n = strlen(json);
    if (n > MOST_BYTES) {
        free(json);
        return too_large(attention, "the attention", n, 0, "", "");
    }
    *text = json;
    if (size)
        *size = n;
    return TSR_OK;
}
