/* chain/workers.cl - many steps of a plan in one launch, for CPUs: a launch wakes the threads of a
 * driver, a step of a chain does not.
 *
 *   grid    (workers), work-groups of one work-item: as many as the device has cores. Each takes
 *           tasks, in order, until all are taken
 *   task    some work-items of one record: a kernel of the program (TSR_CHAIN_CASES), its grid and
 *           its arguments. The tasks of a record begin when all tasks before them are finished
 *   record  RECORD ints: the case; three axes of the grid, each as a factor, a set of sizes and how
 *           much of the axis a work-item takes; the multiply-adds of a work-item as factor and set;
 *           from ARGUMENTS on what tsr_chain_<case> reads
 *   state   tasks taken, tasks finished, workers gone; 64 bytes apart, zeros before and after each
 *           launch
 *   waits   a worker that waits holds no task, so any number of workers can finish the chain, even
 *           one. A worker that has waited in vain leaves, because the worker it waits for has lost
 *           its core and may need this one. It does not come back. Therefore its patience begins
 *           anew with each task that is finished, and is longer where tasks are longer: a look at
 *           the state and a multiply-add take about as long
 *   needs   work-items that run at the same time and see each other's atomics and, after these,
 *           each other's stores; addresses that stay
 *   paid    tokens/s, 2 Zen 4 cores, pocl 3.1:                  launches   chain
 *           Llama of 110 M, decoding, f32                       61         77
 *           the same, q8                                        162        280
 *           the same, q4                                        219        488
 *           6 layers of width 384, prompts of 16 tokens         5000       7500
 *           prompts of 64 tokens                                7850       9310
 *           prompts of 256 tokens                               9330       9790
 *
 *           Intel's runtime: decoding q8 242 by launches, 251 by a chain; prompts the same
 *
 *           a training step, ms, pocl       launches   chain, 2^22 looks   chain, now
 *           6 x 384, 4096 tokens            1673       2486                1648
 *           GPT-2 124M, 256 tokens          1074       1658                1119
 *
 *           Failed: a patience of 2^19 looks, with which one worker did most of a step alone (109
 *           ms of 76); of 2^22 looks, whatever the tasks (above) */
#define STATE_STEP 16
#define PATIENCE (1 << 26)
#define TASK_WORK 32768.0f
#define AXIS(i) (((r[1 + 3 * (i)] * dims[r[2 + 3 * (i)]]) + r[3 + 3 * (i)] - 1) / r[3 + 3 * (i)])

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
tsr_chain(__global volatile int *state, __global const int *records, int n_records, int workers, __global const int *dims)
{
    int at = 0, before = 0, tasks = -1, items = 0, each = 1, g0 = 1, g1 = 1;
    float work = 1.0f, longest = 0.0f; /* multiply-adds of a work-item; of a task of the record before */
    for (;;) {
        const int task = state[0];
        __global const int *r = records;
        for (; at < n_records; at++) {
            r = records + at * RECORD;
            if (tasks < 0) {
                g0 = max(AXIS(0), 0);
                g1 = max(AXIS(1), 0);
                items = g0 * g1 * max(AXIS(2), 0);
                /* Work-items along axis 0 share what they read: up to 8 stay in one task. */
                work = max((float)r[10] * (float)dims[r[11]], 1.0f);
                each = (int)min(TASK_WORK / work, (float)items);
                each = g0 <= 8 ? (each + g0 - 1) / max(g0, 1) * g0 : each;
                each = max(min(each, (items + 2 * workers - 1) / (2 * workers)), 1);
                if (g0 <= 8 && each < g0 && items >= g0 * workers)
                    each = g0;
                tasks = (items + each - 1) / each;
            }
            if (task < before + tasks)
                break;
            before += tasks;
            tasks = -1;
            longest = work * (float)each;
        }
        if (at == n_records)
            break;
        const int patience = PATIENCE + (int)min(longest, 1e9f);
        int waited = 0, done = state[STATE_STEP];
        while (done < before && waited < patience) {
            const int now = state[STATE_STEP];
            waited = now == done ? waited + 1 : 0;
            done = now;
        }
        if (done < before)
            break;
        if (atomic_cmpxchg(&state[0], task, task + 1) != task)
            continue;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        const int first = (task - before) * each;
        TSR_CHAIN_CASES(r, first, min(first + each, items), g0, g1)
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_inc(&state[STATE_STEP]);
    }
    if (atomic_inc(&state[2 * STATE_STEP]) == workers - 1) {
        state[0] = 0;
        state[STATE_STEP] = 0;
        state[2 * STATE_STEP] = 0;
    }
}

/* Stores the address of a buffer. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
tsr_address(__global void *buffer, __global ulong *out, int i)
{
    out[i] = (ulong)buffer;
}
