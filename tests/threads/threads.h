/* threads.h - several threads that begin at once, and the device that they open. */
#ifndef TESTS_THREADS_H
#define TESTS_THREADS_H

#include "threads/nine.h"

enum { THREADS = 6 };

/* Runs `body` in n threads, which begin together; all have ended when it returns. */
void together(int n, void (*body)(int thread, void *data), void *data);

/* What the test's device is called: TESSERA_TEST_DEVICES, or pocl. */
const char *test_device(void);
/* Skips the test where that device is not here. */
void need_device(void);
/* Makes pocl the only driver, or skips the test where it is not installed. Before the first engine.
 */
void need_pocl_alone(void);

#endif
