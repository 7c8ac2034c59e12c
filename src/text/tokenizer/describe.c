/* text/tokenizer/describe.c - describes in lines of text what a tokenizer consists of. */
#include "base/error.h"
#include "text/tokenizer/parts.h"

tsr_status tsri_text_describe(const tsri_text_tokenizer *t, tsri_bytes *out) {
    TRY(tsri_base_bytes_printf(out, "source: %s\nmodel: %s, ", t->source, t->row->type));
    TRY(t->row->describe(t->model, out));
    TRY(tsri_base_bytes_printf(out, "\nvocabulary: %zu pieces, %zu added\n", t->vocabulary.present,
                               t->added.count));
    if (t->normalizer) {
        TRY(tsri_base_bytes_printf(out, "normalizer: "));
        TRY(tsri_text_normalizer_describe(t->normalizer, out));
        TRY(tsri_base_bytes_printf(out, "\n"));
    }
    if (t->pre_tokenizer) {
        TRY(tsri_base_bytes_printf(out, "pre-tokenizer: "));
        TRY(tsri_text_pre_tokenizer_describe(t->pre_tokenizer, out));
        TRY(tsri_base_bytes_printf(out, "\n"));
    }
    TRY(tsri_base_bytes_printf(out, "decoder: "));
    TRY(tsri_text_decoder_describe(t->decoder, out));
    if (t->clean_up)
        TRY(tsri_base_bytes_printf(out, ", without spaces before punctuation"));
    if (t->languages.count || t->languages.pair_count) {
        TRY(tsri_base_bytes_printf(out, "\nlanguages: "));
        TRY(tsri_text_languages_list(t, out));
    }
    if (t->target)
        TRY(tsri_base_bytes_printf(out, "\ntarget: a tokenizer of its own, %zu pieces",
                                   t->target->vocabulary.present));
    return tsri_base_bytes_printf(out, "\n");
}
