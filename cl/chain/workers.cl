/* chain/workers.cl - many steps of a plan in one launch, for CPUs: a launch wakes the threads of a
 * driver, a step of a chain does not.
 *
 *   grid    (workers), work-groups of one work-item: as many as the device has cores. Each takes
 *           tasks, in order, until all are taken
 *   task    some work-items of one record: a kernel of the program (TSR_CHAIN_CASES), its grid and
 *           its arguments. The tasks of a record begin when all tasks before them are finished. The
 *           first tasks are large, one for each worker, 7/8 of a record together: a worker goes on in
 *           memory, and its prefetches are its own. The others are small and even out who is late
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
 *           Intel's runtime: decoding q8 242 by launches, 251 by a chain (1.04); prompts the same.
 *           Its threads don't sleep between launches, and norms by sub-groups did not work in a
 *           chain; so it has none
 *
 *           a training step, ms, pocl       launches   chain, 2^22 looks   chain, now
 *           6 x 384, 4096 tokens            1673       2486                1648
 *           GPT-2 124M, 256 tokens          1074       1658                1119
 *
 *           large tasks, decoding, to small ones alone, in turns on 2 Zen 5 cores: q8 1.08, q4 1.08,
 *           f32 1.01, a Llama of 1.1 B in Q4_K_M 1.02; prompts of 512 in q8 1.02; beside two processes
 *           that keep both cores busy 1.02. With 3/4 of a record 1.05 and 1.01; small tasks of four
 *           times the size 1.03 and 1.01
 *
 *           Failed: a patience of 2^19 looks, with which one worker did most of a step alone (109
 *           ms of 76); of 2^22 looks, whatever the tasks (above) */
#define STATE_STEP 16
#define PATIENCE (1 << 26)
#define TASK_WORK 32768.0f
#define LARGE_WORK 8388608.0f /* at most: in longer records large tasks gain nothing, and wait for a slow core */
#define AXIS(i) (((r[1 + 3 * (i)] * dims[r[2 + 3 * (i)]]) + r[3 + 3 * (i)] - 1) / r[3 + 3 * (i)])

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
tsr_chain(__global volatile int *state, __global const int *records, int n_records, int workers, __global const int *dims)
{
    int at = 0, before = 0, tasks = -1, items = 0, each = 1, g0 = 1, g1 = 1;
    int large = 0; /* small tasks that a large one is; 0: there are none */
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
                large = (int)min((float)tasks * 0.875f / (float)workers, LARGE_WORK / (work * (float)each));
                large = large < 2 ? 0 : large;
                tasks -= max(large - 1, 0) * workers;
            }
            if (task < before + tasks)
                break;
            before += tasks;
            tasks = -1;
            longest = work * (float)each * (float)max(large, 1);
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
        const int place = task - before, is_large = place < workers && large;
        const int first = (is_large ? place * large : place + max(large - 1, 0) * workers) * each;
        TSR_CHAIN_CASES(r, first, min(first + each * (is_large ? large : 1), items), g0, g1)
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
