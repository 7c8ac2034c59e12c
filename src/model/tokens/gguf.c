/* model/tokens/gguf.c - reads the vocabulary in a GGUF file's metadata. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/tokens/tokens.h"
#include "text/load/load.h"

#include <stdlib.h>

static tsr_status read_names(const tsri_io_archive *archive, tsri_text_gguf *gguf) {
    TRY(tsri_io_meta_text(archive, "tokenizer.ggml.pre", &gguf->pre, NULL));
    TRY(tsri_io_meta_text(archive, "general.name", &gguf->name, NULL));
    return tsri_io_meta_text(archive, "general.architecture", &gguf->architecture, NULL);
}

static tsr_status read_pieces(const tsri_io_archive *archive, const char *key,
                              tsri_text_piece **out, size_t *count) {
    const tsri_io_value *list = NULL;
    TRY(tsri_io_meta_list(archive, key, TSRI_IO_TEXT, &list));
    *count = list ? tsri_io_list_count(list) : 0;
    TRY(tsri_base_new(*count, sizeof **out, out));
    for (size_t i = 0; i < *count; i++)
        (*out)[i].text = tsri_io_list_text(list, i, &(*out)[i].size);
    return TSR_OK;
}

static tsr_status read_scores(const tsri_io_archive *archive, float **out, size_t *count) {
    const tsri_io_value *list = NULL;
    TRY(tsri_io_meta_list(archive, "tokenizer.ggml.scores", TSRI_IO_REAL, &list));
    if (!list)
        return TSR_OK;
    *count = tsri_io_list_count(list);
    TRY(tsri_base_new(*count, sizeof **out, out));
    for (size_t i = 0; i < *count; i++)
        (*out)[i] = (float)tsri_io_list_real(list, i);
    return TSR_OK;
}

static tsr_status read_types(const tsri_io_archive *archive, int32_t **out, size_t *count) {
    const tsri_io_value *list = NULL;
    TRY(tsri_io_meta_list(archive, "tokenizer.ggml.token_type", TSRI_IO_INT, &list));
    if (!list)
        return TSR_OK;
    *count = tsri_io_list_count(list);
    TRY(tsri_base_new(*count, sizeof **out, out));
    for (size_t i = 0; i < *count; i++) {
        const int64_t type = tsri_io_list_int(list, i);
        (*out)[i] = type < 0 || type > INT32_MAX ? -1 : (int32_t)type;
    }
    return TSR_OK;
}

static tsr_status read_flag(const tsri_io_archive *archive, const char *key, int *out) {
    bool flag = false;
    if (!tsri_io_meta(archive, key))
        return TSR_OK;
    TRY(tsri_io_meta_bool(archive, key, &flag));
    *out = flag;
    return TSR_OK;
}

static tsr_status read_specials(const tsri_io_archive *archive, tsri_text_gguf *gguf) {
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.bos_token_id", 0, UINT32_MAX, &gguf->bos));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.eos_token_id", 0, UINT32_MAX, &gguf->eos));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.unknown_token_id", 0, UINT32_MAX,
                         &gguf->unknown));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.padding_token_id", 0, UINT32_MAX,
                         &gguf->padding));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.mask_token_id", 0, UINT32_MAX, &gguf->mask));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.cls_token_id", 0, UINT32_MAX, &gguf->cls));
    TRY(tsri_io_meta_int(archive, "tokenizer.ggml.seperator_token_id", 0, UINT32_MAX, &gguf->sep));
    TRY(read_flag(archive, "tokenizer.ggml.add_bos_token", &gguf->add_bos));
    TRY(read_flag(archive, "tokenizer.ggml.add_eos_token", &gguf->add_eos));
    TRY(read_flag(archive, "tokenizer.ggml.add_sep_token", &gguf->add_sep));
    TRY(read_flag(archive, "tokenizer.ggml.remove_extra_whitespaces", &gguf->remove_extra_spaces));
    TRY(read_flag(archive, "tokenizer.ggml.normalizer.lowercase", &gguf->lowercase));
    TRY(read_flag(archive, "tokenizer.ggml.normalizer.strip_accents", &gguf->strip_accents));
    return read_flag(archive, "tokenizer.ggml.add_space_prefix", &gguf->add_space_prefix);
}

/* The bytes of SentencePiece's character map, as a list of numbers. */
static tsr_status read_charsmap(const tsri_io_archive *archive, tsri_bytes *out) {
    const tsri_io_value *list = NULL;
    TRY(tsri_io_meta_list(archive, "tokenizer.ggml.precompiled_charsmap", TSRI_IO_INT, &list));
    for (size_t i = 0; list && i < tsri_io_list_count(list); i++) {
        const char byte = (char)(unsigned char)tsri_io_list_int(list, i);
        TRY(tsri_base_bytes_append(out, &byte, 1));
    }
    return TSR_OK;
}

tsr_status tsri_model_gguf_tokenizer(const tsri_io_archive *archive, tsri_text_tokenizer **out) {
    tsri_text_gguf gguf = tsri_text_gguf_unstated;
    tsri_text_piece *tokens = NULL, *merges = NULL;
    float *scores = NULL;
    int32_t *types = NULL;
    tsri_bytes map = {0};
    *out = NULL;
    TRY(tsri_io_meta_text(archive, "tokenizer.ggml.model", &gguf.model, NULL));
    if (!gguf.model)
        return TSR_OK;
    tsr_status status = read_names(archive, &gguf);
    if (status == TSR_OK)
        status = read_pieces(archive, "tokenizer.ggml.tokens", &tokens, &gguf.token_count);
    if (status == TSR_OK)
        status = read_pieces(archive, "tokenizer.ggml.merges", &merges, &gguf.merge_count);
    if (status == TSR_OK)
        status = read_scores(archive, &scores, &gguf.score_count);
    if (status == TSR_OK)
        status = read_types(archive, &types, &gguf.type_count);
    if (status == TSR_OK)
        status = read_specials(archive, &gguf);
    if (status == TSR_OK)
        status = read_charsmap(archive, &map);
    if (status == TSR_OK) {
        gguf.charsmap = map.data;
        gguf.charsmap_size = map.size;
        gguf.tokens = tokens;
        gguf.merges = merges;
        gguf.scores = scores;
        gguf.types = types;
        status = tsri_text_from_gguf(&gguf, out);
        if (status != TSR_OK)
            tsri_base_fail_within(status, "%s", archive->path);
    }
    tsri_base_bytes_clear(&map);
    free(tokens);
    free(merges);
    free(scores);
    free(types);
    return status;
}
