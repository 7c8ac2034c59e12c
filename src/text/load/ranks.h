/* text/load/ranks.h - makes a tokenizer from pieces of bytes with ranks, which tiktoken's and Mistral's
 * files have: of two neighbours that together are a piece, those of the lowest rank are merged first. */
#ifndef TSRI_TEXT_LOAD_RANKS_H
#define TSRI_TEXT_LOAD_RANKS_H

#include "text/tokenizer/parts.h"

/* Special tokens are put before the pieces: of two with one spelling, the piece is found by it. */
tsr_status tsri_text_ranks_special(tsri_text_tokenizer *t, int64_t id, const char *text, size_t n);
/* A piece, whose bytes are written in base64. TSR_E_FORMAT: not base64, or an id or a piece that is
 * there already. spare: scratch memory. */
tsr_status tsri_text_ranks_piece(tsri_text_tokenizer *t, int64_t id, const char *base64, size_t n,
                                 tsri_bytes spare[2]);
/* Makes the model of the pieces with the ids first ... end - 1, and what cuts a text. TSR_E_FORMAT: one
 * of the 256 bytes has no piece. */
tsr_status tsri_text_ranks_finish(tsri_text_tokenizer *t, int32_t first, int32_t end,
                                  const char *const *patterns, size_t pattern_count);

#endif
