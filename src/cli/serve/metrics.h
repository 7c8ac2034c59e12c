/* cli/serve/metrics.h - counters and histograms, in Prometheus' text format. */
#ifndef TESSERA_CLI_SERVE_METRICS_H
#define TESSERA_CLI_SERVE_METRICS_H

#include "cli/serve/server.h"

/* Each with the server's lock held. */
void tsri_serve_observe(tsri_serve_metrics *m, tsri_serve_time which, uint64_t ns);
/* Requests that wait for a place, of all models. */
uint64_t tsri_serve_waiting(const tsri_serve_server *s);
void tsri_serve_metrics_write(const tsri_serve_server *s, tsri_serve_buffer *out);

#endif
