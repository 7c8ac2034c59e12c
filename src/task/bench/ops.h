/* task/bench/ops.h - rows of single ops. */
#ifndef TSRI_TASK_BENCH_OPS_H
#define TSRI_TASK_BENCH_OPS_H

#include "task/bench/bench.h"

/* class_at: the suite's class, 0 smoke, 1 laptop, 2 full. */
uint32_t tsri_task_bench_op_count(int class_at);
tsr_status tsri_task_bench_ops(tsri_task_bench *b, int class_at);

#endif
