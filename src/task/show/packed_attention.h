/* task/show/packed_attention.h - packs attention weights into a short text, for a page.
 *
 * A row of shares is written as its largest share in units of 1/65535 (16 bits, each with even
 * odds) and, where that is not 0, each share in units of 1/255 of the largest (8 bits, the highest
 * first). The bits go through an adaptive binary range coder (LZMA's: a range of 32 bits,
 * probabilities of 11 bits that move by 1/32 towards each coded bit), then base64 (RFC 4648). A
 * bit's odds depend on the bits before it in its byte, and on the sizes of the bytes to the left
 * and above: (level(left) + level(above) + 1) / 2, where level(0) = 0 and else level is the number
 * of the highest bit set, counted from 1. In a causal map, row t ends with column t. The page's
 * script and tests/cli/support/shares.py read this format. */
#ifndef TSRI_TASK_SHOW_PACKED_ATTENTION_H
#define TSRI_TASK_SHOW_PACKED_ATTENTION_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>

/* Appends the text of n maps of T x S weights, one after the other. */
tsr_status tsri_task_pack_attention(const float *weights, size_t n, size_t T, size_t S, bool causal,
                                    tsri_bytes *out);

#endif
