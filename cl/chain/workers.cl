/* chain/workers.cl - many kernels of a plan in one launch, for CPUs: a launch wakes a driver's threads, a step of a chain does not.
 *
 *   grid    (workers), work-groups of one: as many as the device has cores. Each takes tasks, in order, until all are taken
 *   task    some items of one record: a kernel of the program (TSR_CHAIN_CASES), its grid and its arguments. A record's tasks begin when
 *           all tasks before are finished
 *   record  RECORD ints: case; three axes of the grid as factor, set of sizes, items each; multiply-adds an item as factor, set; from
 *           ARGUMENTS on what tsr_chain_<case> reads
 *   state   tasks taken, tasks finished, workers gone; 64 bytes apart, zeros before and after each launch
 *   waits   no worker holds a task while it waits, so that any number of them finish the chain, even one. One that has waited in vain
 *           leaves: whoever is behind has lost its core, and may need this one. It does not come back, so its patience begins anew with
 *           each task that is finished, and is longer where a task is: looks and multiply-adds take about as long. A training step of
 *           4096 tokens took 2486 ms with a patience of 2^22 looks alone, 1648 so
 *   needs   work-items that run at the same time see each other's atomics and, behind them, stores; addresses that stay
 *   paid    pocl 3.1, 2 Zen 4 cores, tokens/s without and with: Llama of 110 M, decoding, f32 61 77, q8 162 280, q4 219 488; 6 layers of width
 *           384, prompts of 16, 64 and 256 tokens, 5000 7500, 7850 9310, 9330 9790. Intel's runtime: q8 242 251, prompts the same */
#define STATE_STEP 16
#define PATIENCE (1 << 26)
#define TASK_WORK 32768.0f
#define AXIS(i) (((r[1 + 3 * (i)] * dims[r[2 + 3 * (i)]]) + r[3 + 3 * (i)] - 1) / r[3 + 3 * (i)])

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
tsr_chain(__global volatile int *state, __global const int *records, int n_records, int workers, __global const int *dims)
{
    int at = 0, before = 0, tasks = -1, items = 0, each = 1, g0 = 1, g1 = 1;
    float work = 1.0f, longest = 0.0f; /* multiply-adds: of an item; of a task of the record before */
    for (;;) {
        const int task = state[0];
        __global const int *r = records;
        for (; at < n_records; at++) {
            r = records + at * RECORD;
            if (tasks < 0) {
                g0 = max(AXIS(0), 0);
                g1 = max(AXIS(1), 0);
                items = g0 * g1 * max(AXIS(2), 0);
                /* Items along axis 0 share what they read: few of them stay together. */
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

/* Where a buffer lies. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
tsr_address(__global void *buffer, __global ulong *out, int i)
{
    out[i] = (ulong)buffer;
}
