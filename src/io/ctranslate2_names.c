/* io/ctranslate2_names.c - the names that variables had in revision 1 of CTranslate2's
 * encoder-decoders.
 *
 * source  github.com/OpenNMT/CTranslate2: src/models/transformer.cc (map_v1_variable_name),
 *         src/models/model_factory.cc */
#include "io/ctranslate2_names.h"

#include "base/error.h"

#include <string.h>

bool tsri_io_ctranslate2_has_old_names(const char *spec, uint32_t revision) {
    static const char *const specs[] = {TSRI_IO_CTRANSLATE2_FIRST_SPEC, "TransformerBig",
                                        "TransformerSpec"};
    bool found = false;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        found = found || strcmp(spec, specs[i]) == 0;
    return found && revision == 1;
}

/* Replaces the first `from` in the name. */
static tsr_status replace(tsri_bytes *name, const char *from, const char *to) {
    const char *at = strstr(name->data, from);
    tsri_bytes made = {0};
    if (!at)
        return TSR_OK;
    TRY(tsri_base_bytes_printf(&made, "%.*s%s%s", (int)(at - name->data), name->data, to,
                               at + strlen(from)));
    tsri_base_bytes_clear(name);
    *name = made;
    return TSR_OK;
}

tsr_status tsri_io_ctranslate2_rename(tsri_bytes *name) {
    static const char *const words[][2] = {{"transformer/", ""},
                                           {":0", ""},
                                           {"w_embs", "embeddings/weight"},
                                           {"kernel", "weight"},
                                           {"LayerNorm", "layer_norm"},
                                           {"dense", "projection"},
                                           {"conv1d_", "linear_"},
                                           {"conv1d", "linear_0"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        TRY(replace(name, words[i][0], words[i][1]));
    if (strstr(name->data, "encoder"))
        return replace(name, "multi_head", "self_attention");
    TRY(replace(name, "masked_multi_head", "self_attention"));
    return replace(name, "multi_head", "attention");
}
