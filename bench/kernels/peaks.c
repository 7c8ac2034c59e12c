/* Measures what the cores can do: multiply-adds in registers, and reading memory. */
#include "kernels.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MOST_THREADS = 256, READ_BYTES = 128 << 20, ROUNDS = 200000, WAYS = 4 };

/* The threads wait between passes, so that a pass can run between two samples of an op: on a
 * machine with other work, the bandwidth changes from second to second. */
typedef struct worker {
    pthread_t handle;
    char *memory;
    double begun, ended, done; /* seconds, seconds, flops or bytes */
} worker;

static struct {
    int threads, way;
    bool reads, stop;
    pthread_barrier_t start, end;
    worker workers[MOST_THREADS];
} pool;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__)
/* Twelve independent sums in named variables: in an array they would live in memory. */
__attribute__((target("avx512f"))) static double fma_avx512(long rounds) {
    const __m512 x = _mm512_set1_ps(0.9999f), y = _mm512_set1_ps(1e-6f);
    __m512 a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x;
#define STEP(chain) __asm__("vfmadd132ps %2, %1, %0" : "+v"(chain) : "v"(y), "v"(x));
    for (long round = 0; round < rounds; round++) {
        STEP(a)
        STEP(b) STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(l)
    }
#undef STEP
    __asm__ volatile("" ::"v"(a), "v"(b), "v"(c), "v"(d), "v"(e), "v"(f));
    __asm__ volatile("" ::"v"(g), "v"(h), "v"(i), "v"(j), "v"(k), "v"(l));
    return 2.0 * 16 * 12 * (double)rounds;
}

/* Reads whole cache lines of several streams at once, and prefetches this many bytes ahead (0: does
 * not prefetch). */
__attribute__((target("avx512f"))) static double read_avx512(const char *memory, int streams,
                                                             int ahead) {
    const size_t part = READ_BYTES / (size_t)streams;
    __m512i sum[4] = {{0}, {0}, {0}, {0}};
    for (size_t at = 0; at < part; at += 256)
        for (int stream = 0; stream < streams; stream++) {
            const char *from = memory + (size_t)stream * part + at;
            for (int i = 0; i < 4; i++) {
                if (ahead)
                    __builtin_prefetch(from + ahead + (ptrdiff_t)64 * i);
                sum[i] = _mm512_xor_si512(sum[i], _mm512_load_si512(from + (ptrdiff_t)64 * i));
            }
        }
    const __m512i all =
        _mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]), _mm512_xor_si512(sum[2], sum[3]));
    __asm__ volatile("" ::"v"(all));
    return READ_BYTES;
}
#endif

static double fma_any(long rounds) {
    enum { LANES = 128 };
    float sum[LANES] = {0};
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < LANES; i++)
            sum[i] = sum[i] * 0.9999f + 1e-6f;
        __asm__ volatile("" ::"r"(sum) : "memory");
    }
    return 2.0 * LANES * (double)rounds;
}

static double read_any(const char *memory) {
    uint64_t sum = 0;
    for (const char *at = memory; at < memory + READ_BYTES; at += sizeof sum) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum ^= word;
    }
    __asm__ volatile("" ::"r"(&sum) : "memory");
    return READ_BYTES;
}

static double pass(const char *memory) {
#if defined(__x86_64__)
    static const int ways[WAYS][2] = {{1, 0}, {2, 0}, {4, 512}, {1, 4096}}; /* streams, ahead */
    if (__builtin_cpu_supports("avx512f"))
        return pool.reads ? read_avx512(memory, ways[pool.way][0], ways[pool.way][1])
                          : fma_avx512(ROUNDS);
#endif
    return pool.reads ? read_any(memory) : fma_any(ROUNDS);
}

static void *work(void *data) {
    worker *w = data;
    for (pthread_barrier_wait(&pool.start); !pool.stop; pthread_barrier_wait(&pool.start)) {
        if (pool.reads && !w->memory) {
            w->memory = aligned_alloc(2 << 20, READ_BYTES);
            if (!w->memory)
                abort();
            madvise(w->memory, READ_BYTES, MADV_HUGEPAGE); /* prefetchers stop at a page's end */
            memset(w->memory, 1, READ_BYTES);
        }
        w->begun = now();
        w->done = pass(w->memory);
        w->ended = now();
        pthread_barrier_wait(&pool.end);
    }
    free(w->memory);
    return NULL;
}

static void start(int threads) {
    pool.threads = threads;
    pool.stop = false;
    pthread_barrier_init(&pool.start, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&pool.end, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        pool.workers[i] = (worker){0};
        pthread_create(&pool.workers[i].handle, NULL, work, &pool.workers[i]);
    }
}

void bench_peak_stop(void) {
    if (!pool.threads)
        return;
    pool.stop = true;
    pthread_barrier_wait(&pool.start);
    for (int i = 0; i < pool.threads; i++)
        pthread_join(pool.workers[i].handle, NULL);
    pool.threads = 0;
}

double bench_peak_pass(bool reads) {
    double first = INFINITY, last = 0, done = 0;
    pool.reads = reads;
    pthread_barrier_wait(&pool.start);
    pthread_barrier_wait(&pool.end);
    for (int i = 0; i < pool.threads; i++) {
        const worker *w = &pool.workers[i];
        first = fmin(first, w->begun);
        last = fmax(last, w->ended);
        done += w->done;
    }
    return done / (last - first) * 1e-9;
}

double bench_peak(const char *what, int threads, double seconds) {
    const bool reads = !strcmp(what, "read");
    double best = 0;
    int best_way = 0;
    if ((!reads && strcmp(what, "fma_f32") != 0) || threads < 1 || threads > MOST_THREADS)
        return 0;
    if (pool.threads != threads) {
        bench_peak_stop();
        start(threads);
        bench_peak_pass(reads); /* touches the memory */
    }
    const double begun = now();
    for (int turn = 0; turn < 2 * WAYS || now() - begun < seconds; turn++) {
        pool.way = turn % WAYS;
        const double rate = bench_peak_pass(reads);
        if (rate > best) {
            best = rate;
            best_way = pool.way;
        }
    }
    pool.way = best_way;
    return best;
}
