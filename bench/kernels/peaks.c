/* What the cores can do: multiply-adds in registers, and reading memory. */
#include "kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MOST_THREADS = 256, CHAINS = 16, READ_BYTES = 256 << 20 };

typedef struct worker {
    pthread_barrier_t *start;
    char *memory; /* READ_BYTES for "read", else NULL */
    double rate;  /* best, 1e9 flops or bytes a second */
    double seconds;
} worker;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__)
/* Twelve chains, named: in an array they would live in memory. */
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

/* Whole lines of several streams at once, with a prefetch so many bytes ahead (0: none). */
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
    float sum[CHAINS * 8] = {0};
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < CHAINS * 8; i++)
            sum[i] = sum[i] * 0.9999f + 1e-6f;
        __asm__ volatile("" ::"r"(sum) : "memory");
    }
    return 2.0 * 8 * CHAINS * (double)rounds;
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

/* Ways to read take turns: which is best differs by machine. */
static double once(const worker *w, int turn) {
    enum { ROUNDS = 1000000 };
#if defined(__x86_64__)
    static const int ways[4][2] = {{1, 0}, {1, 4096}, {4, 0}, {2, 1024}};
    if (__builtin_cpu_supports("avx512f"))
        return w->memory ? read_avx512(w->memory, ways[turn % 4][0], ways[turn % 4][1])
                         : fma_avx512(ROUNDS);
#endif
    (void)turn;
    return w->memory ? read_any(w->memory) : fma_any(ROUNDS);
}

static void *run(void *data) {
    worker *w = data;
    if (w->memory)
        memset(w->memory, 1, READ_BYTES);
    pthread_barrier_wait(w->start);
    const double begun = now();
    double at = begun;
    for (int turn = 0; at - begun < w->seconds; turn++) {
        const double done = once(w, turn), after = now(), rate = done / (after - at) * 1e-9;
        w->rate = rate > w->rate ? rate : w->rate;
        at = after;
    }
    return NULL;
}

double bench_peak(const char *what, int threads, double seconds) {
    const bool reads = !strcmp(what, "read");
    pthread_barrier_t start;
    pthread_t handles[MOST_THREADS];
    worker workers[MOST_THREADS];
    double total = 0;
    if ((!reads && strcmp(what, "fma_f32") != 0) || threads < 1 || threads > MOST_THREADS)
        return 0;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){.start = &start,
                              .seconds = seconds,
                              .memory = reads ? aligned_alloc(4096, READ_BYTES) : NULL};
        if (reads && !workers[i].memory)
            abort();
        pthread_create(&handles[i], NULL, run, &workers[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        total += workers[i].rate;
        free(workers[i].memory);
    }
    pthread_barrier_destroy(&start);
    return total;
}
