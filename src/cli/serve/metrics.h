/* cli/serve/metrics.h - counters and histograms, in Prometheus' text format. */
#ifndef TESSERA_CLI_SERVE_METRICS_H
#define TESSERA_CLI_SERVE_METRICS_H

#include "cli/serve/server.h"

typedef enum tsri_serve_time {
    TSRI_SERVE_FIRST_TOKEN,
    TSRI_SERVE_BETWEEN_TOKENS,
    TSRI_SERVE_WHOLE,
    TSRI_SERVE_TIMES
} tsri_serve_time;

enum { TSRI_SERVE_BUCKETS = 16 };

typedef struct tsri_serve_metrics {
    tsr_scheduler_counts counts; /* as of the last step */
    uint64_t embedded;           /* texts */
    uint64_t left;               /* clients that hung up before their answer was complete */
    struct {
        uint64_t counts[TSRI_SERVE_BUCKETS + 1], n;
        double sum;
    } times[TSRI_SERVE_TIMES];
} tsri_serve_metrics;

/* Both with the server's lock held. */
void tsri_serve_observe(tsri_serve_metrics *m, tsri_serve_time which, uint64_t ns);
void tsri_serve_metrics_write(const tsri_serve_server *s, tsri_serve_buffer *out);

#endif
