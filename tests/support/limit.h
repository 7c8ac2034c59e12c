/* A bound on what a test computes. Criterion's own time-outs count wall time, which a busy machine stretches. */
#ifndef TEST_SUPPORT_LIMIT_H
#define TEST_SUPPORT_LIMIT_H

/* The test crashes (SIGXCPU) when this process has used `seconds` of processor time from here. */
void limit_processor(unsigned seconds);

#endif
