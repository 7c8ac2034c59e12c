/* bench/kernels - times single ops. It reads one JSON object per line, and answers with one per
 * line:
 *
 *     {"op":"linear","m":512,"n":3072,"k":768,"dtype":"f32","seconds":0.5,"repeat":5}
 *     {"op":"attention","t":512,"h":12,"g":12,"d":64,"causal":1,"kv":"f32"}
 *     {"op":"attention_grad","b":16,"t":256,"h":6,"d":64,"causal":1}
 *     {"peak":"fma_f32"} {"peak":"read","repeat":3}
 *
 * Peaks are those that the backend measures, as `tessera bench` does (flops, bytes; 1e9 per second):
 * the best of "repeat" measurements, 10 without it.
 * With "beside":"read" or "fma_f32", that peak is measured between any two samples, and the answer
 * has its median and the share of it that the op's median reaches: of weight bytes, or of flops. Any request may have "device" (a part of platform/name) and "kernels" (forced kernel
 * variants). An answer has best_ns and median_ns of one run, gflops, the variant ("row"), and
 * max_error, the largest difference from the results of the kernel variant `plain` on the same
 * device, in units of the largest of these ("check":0 leaves that out); or it has "error". The
 * plugin is --backend FILE, or else the one of this build.
 */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEAK_REPEATS = 10 };

int64_t bench_int(const json_t *request, const char *key, int64_t otherwise) {
    const json_t *given = json_object_get(request, key);
    return json_is_boolean(given)  ? json_is_true(given)
           : json_is_number(given) ? (int64_t)json_number_value(given)
                                   : otherwise;
}

const char *bench_text(const json_t *request, const char *key, const char *otherwise) {
    const json_t *given = json_object_get(request, key);
    return json_is_string(given) ? json_string_value(given) : otherwise;
}

static const char *time_op(const json_t *request, const char *name, json_t *answer) {
    const bench_op *op = bench_ops;
    tsr_dev *dev = NULL;
    const char *device = "";
    while (op->name && strcmp(op->name, name) != 0)
        op++;
    if (!op->name)
        return "this op can't be timed";
    bench_case *c = calloc(1, sizeof *c);
    if (!c)
        return "out of memory";
    const char *failed = op->make(request, c);
    if (!failed)
        failed = bench_device(bench_text(request, "device", ""), &dev, &device);
    json_object_set_new(answer, "device", json_string(device));
    if (!failed)
        failed = bench_time(dev, op, c, request, answer);
    free(c);
    return failed;
}

static const char *time_peak(const json_t *request, const char *what, json_t *answer) {
    tsr_dev *dev = NULL;
    const char *device = "";
    double rate = 0;
    const char *failed = bench_device(bench_text(request, "device", ""), &dev, &device);
    if (!failed)
        failed = bench_peak(dev, what, bench_int(request, "repeat", PEAK_REPEATS), &rate);
    if (!failed)
        json_object_set_new(answer, !strcmp(what, "read") ? "gbytes" : "gflops", json_real(rate));
    return failed;
}

static void answer_line(const char *line) {
    json_error_t where;
    json_t *request = json_loads(line, 0, &where);
    json_t *answer = request ? json_deep_copy(request) : json_object();
    const char *peak = bench_text(request, "peak", NULL), *op = bench_text(request, "op", NULL);
    const char *failed = !request ? where.text
                         : peak   ? time_peak(request, peak, answer)
                         : op     ? time_op(request, op, answer)
                                  : "a request needs \"op\" or \"peak\"";
    if (failed)
        json_object_set_new(answer, "error", json_string(failed));
    char *text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9));
    puts(text ? text : "{}");
    fflush(stdout);
    free(text);
    json_decref(answer);
    json_decref(request);
}

int main(int argc, char **argv) {
    char *line = NULL;
    size_t room = 0;
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--backend") != 0)) {
        fprintf(stderr, "usage: kernels [--backend FILE] < requests, one JSON object per line\n");
        return 2;
    }
    const char *failed = bench_open(argc == 3 ? argv[2] : BENCH_PLUGIN);
    if (failed) {
        fprintf(stderr, "kernels: %s\n", failed);
        return 4;
    }
    while (getline(&line, &room, stdin) > 0)
        answer_line(line);
    free(line);
    bench_close();
    return 0;
}
