/* text/stages/decode.h - turns pieces back into text, one at a time: Hugging Face's decoders and
 * SentencePiece's, as stages that each hold back what may still change. */
#ifndef TSRI_TEXT_STAGES_DECODE_H
#define TSRI_TEXT_STAGES_DECODE_H

#include "base/json.h"
#include "text/base/vocabulary.h"

typedef struct tsri_text_decoder tsri_text_decoder;   /* immutable */
typedef struct tsri_text_decoding tsri_text_decoding; /* one text while it is decoded */

/* json is the "decoder" of a tokenizer.json; NULL and null join the pieces with spaces.
 * TSR_E_UNSUPPORTED names a type that is not supported. */
tsr_status tsri_text_decoder_load(const json_t *json, tsri_text_decoder **out);
/* Turns byte-level pieces into text. */
tsr_status tsri_text_decoder_bytes(tsri_text_decoder **out);
/* Turns WordPiece's pieces into text: pieces that begin with `prefix` continue the word before
 * them; with `first` they begin a word instead, and so does a control piece. `cleanup` removes
 * spaces that are not written in English. */
tsr_status tsri_text_decoder_word_piece(const char *prefix, bool first, bool cleanup,
                                        tsri_text_decoder **out);
/* SentencePiece's rules. `space` is what stands for a space in pieces (U+2581 or ' '). One leading
 * space is removed if the normalizer adds one (strip_one), all leading ones if it removes extra
 * spaces (strip_all). An unknown piece becomes `unknown`; NULL: U+2047 between spaces, the default
 * there. */
tsr_status tsri_text_decoder_sentencepiece(const char *space, bool strip_one, bool strip_all,
                                           const char *unknown, tsri_text_decoder **out);
/* Keeps the leading space of SentencePiece's pieces: the normalizer adds none. */
void tsri_text_decoder_keep_space(tsri_text_decoder *decoder);
/* Whether pieces that are left out must still be pushed, as empty ones: they end runs of bytes. */
bool tsri_text_decoder_wants_all(const tsri_text_decoder *decoder);
/* Whether one of its steps has this type. */
bool tsri_text_decoder_has(const tsri_text_decoder *decoder, const char *type);
tsr_status tsri_text_decoder_describe(const tsri_text_decoder *decoder, tsri_bytes *out);
void tsri_text_decoder_destroy(tsri_text_decoder **decoder);

tsr_status tsri_text_decoding_new(const tsri_text_decoder *decoder, tsri_text_decoding **out);
/* `type` matters only to SentencePiece. */
tsr_status tsri_text_decoding_push(tsri_text_decoding *d, const char *piece, size_t n,
                                   tsri_text_piece_type type, tsri_bytes *out);
/* Appends what is still held; then d is ready for a new text. */
tsr_status tsri_text_decoding_finish(tsri_text_decoding *d, tsri_bytes *out);
void tsri_text_decoding_destroy(tsri_text_decoding **d);

#endif
