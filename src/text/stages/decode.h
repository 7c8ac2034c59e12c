/* text/stages/decode.h - pieces back to text, one at a time: Hugging Face's decoders and
 * SentencePiece's, as stages that each hold back what they cannot know yet. */
#ifndef TSRI_TEXT_STAGES_DECODE_H
#define TSRI_TEXT_STAGES_DECODE_H

#include "base/json.h"
#include "text/base/vocabulary.h"

typedef struct tsri_text_decoder tsri_text_decoder;   /* immutable */
typedef struct tsri_text_decoding tsri_text_decoding; /* one text on its way */

/* json is the "decoder" of a tokenizer.json; NULL and null join the pieces with spaces. A type that
 * is not supported is TSR_E_UNSUPPORTED, by name. */
tsr_status tsri_text_decoder_load(const json_t *json, tsri_text_decoder **out);
/* Byte-level pieces to text. */
tsr_status tsri_text_decoder_bytes(tsri_text_decoder **out);
/* WordPiece's pieces: those that begin with `prefix` go on with the word before them; with `first`
 * they begin a word, and so does a control piece. `cleanup` takes the spaces away that English
 * doesn't write. */
tsr_status tsri_text_decoder_word_piece(const char *prefix, bool first, bool cleanup,
                                        tsri_text_decoder **out);
/* SentencePiece's rules. `space` is what stands for a space in pieces (U+2581 or ' '); a leading
 * one goes when the normalizer adds one (strip_one), all leading ones when it removes extra ones
 * (strip_all). */
tsr_status tsri_text_decoder_sentencepiece(const char *space, bool strip_one, bool strip_all,
                                           tsri_text_decoder **out);
/* Whether pieces left out must still be pushed, empty: they end runs of bytes. */
bool tsri_text_decoder_wants_all(const tsri_text_decoder *decoder);
tsr_status tsri_text_decoder_describe(const tsri_text_decoder *decoder, tsri_bytes *out);
void tsri_text_decoder_destroy(tsri_text_decoder **decoder);

tsr_status tsri_text_decoding_new(const tsri_text_decoder *decoder, tsri_text_decoding **out);
/* `type` matters to SentencePiece alone. */
tsr_status tsri_text_decoding_push(tsri_text_decoding *d, const char *piece, size_t n,
                                   tsri_text_piece_type type, tsri_bytes *out);
tsr_status tsri_text_decoding_finish(tsri_text_decoding *d, tsri_bytes *out); /* and begins anew */
void tsri_text_decoding_destroy(tsri_text_decoding **d);

#endif
