/* tessera/session.h - a model run token by token: the caller chooses what follows. */
#ifndef TESSERA_SESSION_H
#define TESSERA_SESSION_H

#include "tessera/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sequences of tokens in a model's key/value memory, each of a length of its own. */
typedef struct tsr_session tsr_session;

typedef struct tsr_session_options {
    uint32_t struct_size;
    uint32_t sequences; /**< 0: 1 */
    /** Tokens of a sequence at most; 0: what the model reads. In a model with longrope it also chooses
     * the rotary factors: the long ones above the original length. */
    int64_t context;
    int64_t reserve; /**< memory for so many tokens a sequence is made at once; beyond, it grows */
} tsr_session_options;

/**
 * Makes a session whose sequences are empty.
 *
 * options  NULL: one sequence, of what the model reads
 * owner    the caller destroys *out before the model is closed
 * thread   one call at a time for a model and its sessions
 * error    TSR_E_ARGUMENT     a context above what the model reads (both numbers are said)
 *          TSR_E_STATE        the model has no decoder, or was opened without a device
 */
TSR_API tsr_status tsr_session_create(tsr_model *model, const tsr_session_options *options,
                                      tsr_session **out);
/** Takes NULL content; leaves NULL. */
TSR_API void tsr_session_destroy(tsr_session **session);

/** Tokens of a sequence so far; 0 where there is no such sequence. */
TSR_API int64_t tsr_session_length(const tsr_session *session, uint32_t sequence);

/**
 * Encodes what an encoder-decoder reads, for a sequence, which becomes empty. Its first token is
 * then the decoder's start token. Empty sequences that were forked from this one lose its old text: they
 * take no token until a text is encoded for them, or they are forked again.
 *
 * shape   ids: [n], n >= 1
 * error   TSR_E_ARGUMENT  an id past the vocabulary; more tokens than the encoder reads
 *         TSR_E_STATE     the model has no encoder; another sequence, forked from this one, has
 *                         tokens, and still reads its text
 */
TSR_API tsr_status tsr_session_encode(tsr_session *session, uint32_t sequence, const int32_t *ids,
                                      size_t n);

/**
 * Appends n tokens to one sequence.
 *
 * shape   ids: [n], n >= 1; logits: [V], of the last token, or NULL; next: one id, the likeliest
 *         after it (of equal ones the first), or NULL
 * units   logits are natural logarithms, not normalized
 * error   TSR_E_ARGUMENT  an id past the vocabulary; more tokens than the context holds (both
 *                         numbers are said)
 *         TSR_E_STATE     another sequence reads tokens that would be overwritten: see
 *                         tsr_session_rewind; the text that it attends to has been replaced: see
 *                         tsr_session_encode
 *         TSR_E_DEVICE_MEMORY  the sequence is what it was, and a smaller request may work; what was
 *                         reserved and not used yet is not reserved any more
 *         TSR_E_DEVICE    `next` is wanted, and the largest logit is not finite; the tokens have been
 *                         appended
 * exact   the bytes are those that the sequence would get alone, by calls of the same sizes
 */
TSR_API tsr_status tsr_session_prefill(tsr_session *session, uint32_t sequence, const int32_t *ids,
                                       size_t n, float *logits, int32_t *next);

/**
 * Appends n tokens to every sequence, in one batch.
 *
 * shape   ids: [sequences, n], n >= 1; logits: [sequences, V] of the last tokens, or NULL; next:
 *         [sequences], or NULL
 * error   as tsr_session_prefill
 */
TSR_API tsr_status tsr_session_step(tsr_session *session, const int32_t *ids, size_t n,
                                    float *logits, int32_t *next);

/**
 * Appends n tokens to every sequence, one after the other: the given one, and then the likeliest
 * after each. On a device apart from the host's cores a step starts before the ids of the last one
 * are known here, so a call for many tokens is faster there than as many calls of
 * tsr_session_step.
 *
 * shape   ids: [sequences]; next: [n, sequences], the likeliest after each token; the last ones are
 *         not appended; n >= 1
 * error   as tsr_session_prefill; the tokens before the failed step may have been appended
 * exact   ids and bytes are those of n calls of tsr_session_step
 */
TSR_API tsr_status tsr_session_greedy(tsr_session *session, const int32_t *ids, size_t n,
                                      int32_t *next);

/**
 * Makes sequence `to` a copy of sequence `from`. No key or value is copied: `to` reads those of
 * `from`, and each appends to its own memory.
 *
 * error   TSR_E_ARGUMENT  there is no such sequence, or the two are the same
 */
TSR_API tsr_status tsr_session_fork(tsr_session *session, uint32_t from, uint32_t to);

/**
 * Cuts a sequence to its first `length` tokens. What a forked sequence still reads of it stays: to
 * append there is refused (TSR_E_STATE) until that one is rewound to before it.
 *
 * error   TSR_E_ARGUMENT  there is no such sequence; length is negative, or above that of the
 *                         sequence
 */
TSR_API tsr_status tsr_session_rewind(tsr_session *session, uint32_t sequence, int64_t length);

#ifdef __cplusplus
}
#endif
#endif
