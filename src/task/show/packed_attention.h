/* task/show/packed_attention.h - attention weights as a short text, for a page.
 *
 * A row of shares becomes its largest in 1/65535 (16 bits, each with even odds) and, where that is
 * not 0, each share as the nearest 1/255 of the largest, eight bits from the highest: both through
 * an adaptive binary range coder (LZMA's: 32 bits of range, probabilities of 11 bits that move by
 * 1/32 towards what came), then base64 (RFC 4648). A bit's odds hang on the bits before it in its
 * byte, and on the sizes of the bytes to the left and above: (level(left) + level(above) + 1) / 2
 * with level(0) = 0 and else the number of the highest bit set, from 1. Of a causal map a row ends
 * with its own place. The page's script and tests/cli/support/shares.py read it. */
#ifndef TSRI_TASK_SHOW_PACKED_ATTENTION_H
#define TSRI_TASK_SHOW_PACKED_ATTENTION_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>

/* Appends the text of n maps of T x S weights, one after the other. */
tsr_status tsri_task_pack_attention(const float *weights, size_t n, size_t T, size_t S, bool causal,
                                    tsri_bytes *out);

#endif
