/* nine.h - a tiny model that continues one token, for threads that do the same at once. Without
 * Criterion, so that programs of their own can use it. */
#ifndef TESTS_THREADS_NINE_H
#define TESTS_THREADS_NINE_H

#include "tessera/tessera.h"

enum { TOKENS = 8 };

/* The ids that gpt2-tiny continues "9" with on an open device. On failure the status; the sentence
 * is in this thread's record. */
tsr_status continue_nine(tsr_device *device, int32_t ids[TOKENS]);

#endif
