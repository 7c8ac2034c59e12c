/* A limit on what a test computes. Criterion's own time-outs count wall time, which a busy machine
 * stretches. */
#ifndef TEST_SUPPORT_LIMIT_H
#define TEST_SUPPORT_LIMIT_H

/* From here on the test crashes (SIGXCPU) once this process has used `seconds` more of processor
 * time. */
void limit_processor(unsigned seconds);

#endif
