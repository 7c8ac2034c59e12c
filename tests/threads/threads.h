/* threads.h - several threads that begin at once, and a tiny model that each of them runs. */
#ifndef TESTS_THREADS_H
#define TESTS_THREADS_H

#include "tessera/tessera.h"

enum { THREADS = 6, TOKENS = 8 };

/* Runs `body` in n threads, which begin together; all have ended when it returns. */
void together(int n, void (*body)(int thread, void *data), void *data);

/* The ids that gpt2-tiny continues "9" with on an open device. On failure the status; the sentence
 * is in this thread's record. */
tsr_status continue_nine(tsr_device *device, int32_t ids[TOKENS]);

/* What the test's device is called: TESSERA_TEST_DEVICES, or pocl. */
const char *test_device(void);
/* Skips the test where that device is not here. */
void need_device(void);
/* Makes pocl the only driver, or skips the test where it is not installed. Before the first engine.
 */
void need_pocl_alone(void);

#endif
