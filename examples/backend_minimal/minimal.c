/* A backend in one file, which needs only tessera/backend.h. It has one device, the CPU it runs on,
 * and five ops: linear, add, mul, silu, rms_norm.
 *
 * From top to bottom it shows: operands and their strides, one kernel variant per op, how a variant
 * refuses what it can't run, memory, plans, and the table of functions. Ops that it doesn't have
 * are decomposed, or run on Tessera's reference backend, and Tessera says so. Every call finishes
 * before it returns, so events are trivial. */
#include "tessera/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tsr_buf {
    char *data;
    uint64_t bytes;
};
struct tsr_state {
    const tsr_host *host;
};
struct tsr_dev {
    const tsr_host *host;
};
struct tsr_event {
    int unused;
};
static struct tsr_event finished; /* the only event: everything is finished when its call returns */

static tsr_status fail(const tsr_host *host, tsr_status status, const char *sentence) {
    host->report(host->data, status, sentence);
    return status;
}

/* ---- operands ---- */

/* A size or stride: `factor` times the product of the run's sizes that `symbols` names. */
static int64_t value(tsr_dim dim, const int64_t *sizes) {
    int64_t product = dim.factor;
    for (int i = 0; i < TSR_SYMBOLS; i++)
        if (dim.symbols >> i & 1)
            product *= sizes[i];
    return product;
}

typedef struct array { /* f32; data is the first element, strides count elements */
    float *data;
    uint32_t rank;
    int64_t dim[TSR_MAX_RANK], stride[TSR_MAX_RANK];
} array;

static array operand(const tsr_tensor *const *list, uint32_t n, uint32_t i, const int64_t *sizes) {
    array a = {0};
    if (i >= n || !list[i])
        return a; /* missing: data is NULL */
    a.rank = list[i]->rank;
    for (uint32_t d = 0; d < a.rank; d++) {
        a.dim[d] = value(list[i]->dim[d], sizes);
        a.stride[d] = value(list[i]->stride[d], sizes);
    }
    a.data = (float *)(void *)(list[i]->buf->data + list[i]->origin) + list[i]->offset;
    return a;
}

static int64_t rows_of(const array *a) {
    int64_t rows = 1;
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        rows *= a->dim[d];
    return rows;
}

static float *row(const array *a, int64_t r) {
    int64_t at = 0;
    for (uint32_t d = a->rank - 1; d-- > 0; r /= a->dim[d])
        at += r % a->dim[d] * a->stride[d];
    return a->data + at;
}

/* ---- ops ---- */

static float activate(uint32_t activation, float x) {
    return activation == TSR_ACT_SILU ? x / (1 + expf(-x)) : x;
}

static void run_linear(const tsr_op *op, const int64_t *sizes) {
    const tsr_linear_attrs *attrs = op->attrs;
    const array x = operand(op->in, op->n_in, 0, sizes), w = operand(op->in, op->n_in, 1, sizes),
                bias = operand(op->in, op->n_in, 2, sizes),
                residual = operand(op->in, op->n_in, 3, sizes),
                y = operand(op->out, op->n_out, 0, sizes);
    const int64_t K = x.dim[x.rank - 1], N = y.dim[y.rank - 1],
                  w_n = w.stride[attrs->trans_w ? 0 : 1], w_k = w.stride[attrs->trans_w ? 1 : 0];
    for (int64_t r = 0; r < rows_of(&y); r++)
        for (int64_t n = 0; n < N; n++) {
            float sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum += row(&x, r)[k * x.stride[x.rank - 1]] * w.data[n * w_n + k * w_k];
            sum =
                activate(attrs->activation, sum + (bias.data ? bias.data[n * bias.stride[0]] : 0));
            row(&y, r)[n * y.stride[y.rank - 1]] =
                sum +
                (residual.data ? row(&residual, r)[n * residual.stride[residual.rank - 1]] : 0);
        }
}

/* add and mul of arrays of one shape, and silu */
static void run_elementwise(const tsr_op *op, const int64_t *sizes) {
    const array a = operand(op->in, op->n_in, 0, sizes), b = operand(op->in, op->n_in, 1, sizes),
                y = operand(op->out, op->n_out, 0, sizes);
    for (int64_t r = 0; r < rows_of(&y); r++)
        for (int64_t c = 0; c < y.dim[y.rank - 1]; c++) {
            const float p = row(&a, r)[c * a.stride[a.rank - 1]],
                        q = b.data ? row(&b, r)[c * b.stride[b.rank - 1]] : 0;
            row(&y, r)[c * y.stride[y.rank - 1]] = op->id == TSR_OP_ADD ? p + q
                                                   : op->id == TSR_OP_MUL
                                                       ? p * q
                                                       : activate(TSR_ACT_SILU, p);
        }
}

static void run_rms_norm(const tsr_op *op, const int64_t *sizes) {
    const tsr_norm_attrs *attrs = op->attrs;
    const array x = operand(op->in, op->n_in, 0, sizes), w = operand(op->in, op->n_in, 1, sizes),
                y = operand(op->out, op->n_out, 0, sizes);
    const int64_t C = x.dim[x.rank - 1], step = x.stride[x.rank - 1];
    for (int64_t r = 0; r < rows_of(&x); r++) {
        float sum = 0;
        for (int64_t c = 0; c < C; c++)
            sum += row(&x, r)[c * step] * row(&x, r)[c * step];
        const float scale = 1 / sqrtf(sum / (float)C + attrs->eps);
        for (int64_t c = 0; c < C; c++)
            row(&y, r)[c * y.stride[y.rank - 1]] =
                row(&x, r)[c * step] * scale * w.data[c * w.stride[0]];
    }
}

static const struct op_row {
    tsr_op_id id;
    const char *name;
    void (*run)(const tsr_op *op, const int64_t *sizes);
} rows[] = {{TSR_OP_LINEAR, "linear/minimal", run_linear},
            {TSR_OP_ADD, "add/minimal", run_elementwise},
            {TSR_OP_MUL, "mul/minimal", run_elementwise},
            {TSR_OP_SILU, "silu/minimal", run_elementwise},
            {TSR_OP_RMS_NORM, "rms_norm/minimal", run_rms_norm}};

static const struct op_row *find(uint32_t id) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((uint32_t)rows[i].id == id)
            return &rows[i];
    return NULL;
}

/* Why this variant can't run the op, or NULL. A refused op runs elsewhere, so a variant may support
 * as little as it likes, but it must say so here. */
static const char *refuse(const tsr_op *op) {
    if (op->id == TSR_OP_LINEAR && op->n_in > 4 && op->in[4])
        return "no norm of x";
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i] && (op->in[i]->dtype != TSR_F32 || op->in[i]->rank < 1))
            return "only f32 arrays";
    if (op->id == TSR_OP_LINEAR) {
        const uint32_t activation = ((const tsr_linear_attrs *)op->attrs)->activation;
        return activation == TSR_ACT_NONE || activation == TSR_ACT_SILU ? NULL
                                                                        : "no activation but silu";
    }
    if (op->id != TSR_OP_ADD && op->id != TSR_OP_MUL)
        return NULL;
    if (op->in[0]->rank != op->in[1]->rank)
        return "no broadcasting";
    for (uint32_t d = 0; d < op->in[0]->rank; d++)
        if (op->in[0]->dim[d].factor != op->in[1]->dim[d].factor ||
            op->in[0]->dim[d].symbols != op->in[1]->dim[d].symbols)
            return "no broadcasting";
    return NULL;
}

static void visit_row(const struct op_row *row, const char *why, uint32_t chosen,
                      tsr_variant_visitor visit, void *data) {
    const tsr_variant seen = {.struct_size = sizeof seen,
                              .fits = !why,
                              .chosen = chosen,
                              .score = 10,
                              .name = row->name,
                              .why = why ? why : "",
                              .tunables = ""};
    visit(data, &seen);
}

static tsr_status op_variants(tsr_dev *dev, const tsr_op *op, tsr_variant_visitor visit,
                              void *data) {
    const struct op_row *found = find(op->id);
    (void)dev;
    if (found)
        visit_row(found, refuse(op), 0, visit, data);
    return TSR_OK;
}

/* ---- memory ---- */

static tsr_status buffer_create(tsr_dev *dev, const tsr_buffer_spec *spec, tsr_buf **out) {
    tsr_buf *buf = malloc(sizeof *buf);
    char *data = buf ? aligned_alloc(64, (spec->bytes + 63) / 64 * 64) : NULL;
    if (!data) {
        free(buf);
        return fail(dev->host, TSR_E_DEVICE_MEMORY, "minimal: no memory for a buffer");
    }
    if (spec->struct_size >= sizeof *spec && spec->zeroed) /* an older host lacks the field */
        memset(data, 0, spec->bytes);
    *buf = (tsr_buf){.data = data, .bytes = spec->bytes};
    *out = buf;
    return TSR_OK;
}

static void buffer_destroy(tsr_buf *buf) {
    if (buf)
        free(buf->data);
    free(buf);
}

static int inside(const tsr_buf *buf, uint64_t offset, uint64_t bytes) {
    return buf && offset <= buf->bytes && bytes <= buf->bytes - offset;
}

static tsr_status transfer(tsr_dev *dev, const tsr_transfer *t, const tsr_waits *waits,
                           tsr_event **done) {
    (void)waits;
    const int reads = t->kind == TSR_TRANSFER_READ || t->kind == TSR_TRANSFER_COPY,
              writes = t->kind != TSR_TRANSFER_READ;
    if ((reads && !inside(t->src, t->src_offset, t->bytes)) ||
        (writes && !inside(t->dst, t->dst_offset, t->bytes)))
        return fail(dev->host, TSR_E_ARGUMENT, "minimal: a transfer lies outside its buffer");
    char *to = writes ? t->dst->data + t->dst_offset : t->host;
    const char *from = reads ? t->src->data + t->src_offset : t->host;
    if (t->kind == TSR_TRANSFER_FILL)
        for (uint64_t i = 0; i + 4 <= t->bytes; i += 4)
            memcpy(to + i, &t->pattern, 4);
    else if (t->bytes)
        memcpy(to, from, t->bytes);
    if (done)
        *done = &finished;
    return TSR_OK;
}

static tsr_status event_wait(tsr_event *event, uint64_t timeout_ns) {
    (void)event, (void)timeout_ns;
    return TSR_OK;
}

static void event_destroy(tsr_event *event) {
    (void)event;
}

/* Weights have no special layout (weight_layout is NULL), and refuse() accepts only f32 weights;
 * but the host may store any weight here. */
static tsr_status weight_copy(tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                              tsr_buf *buf, int store) {
    const int64_t elements = layout->rows * layout->columns;
    const uint64_t element = elements ? layout->bytes / (uint64_t)elements : 0;
    const uint64_t offset = (uint64_t)(rows->first * rows->columns) * element,
                   bytes = (uint64_t)(rows->count * rows->columns) * element;
    if (rows->dtype != layout->dtype)
        return fail(dev->host, TSR_E_UNSUPPORTED, "minimal: weights are not converted");
    if (!inside(buf, offset, bytes))
        return fail(dev->host, TSR_E_ARGUMENT, "minimal: the rows lie outside their weight");
    if (store)
        memcpy(buf->data + offset, rows->data, bytes);
    else
        memcpy(rows->data, buf->data + offset, bytes);
    return TSR_OK;
}

static tsr_status weight_store(tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                               tsr_buf *buf) {
    return weight_copy(dev, layout, rows, buf, 1);
}

static tsr_status weight_load(tsr_dev *dev, const tsr_layout *layout, tsr_buf *buf,
                              tsr_rows *rows) {
    return weight_copy(dev, layout, rows, buf, 0);
}

/* ---- plans ---- */

enum { MOST_OPERANDS = 8 };

typedef struct step { /* a copy of an op: the host's ops do not live beyond plan_create */
    const struct op_row *row;
    tsr_op op;
    tsr_tensor operands[MOST_OPERANDS];
    const tsr_tensor *in[MOST_OPERANDS], *out[MOST_OPERANDS];
    union {
        tsr_linear_attrs linear;
        tsr_norm_attrs norm;
    } attrs;
} step;

struct tsr_plan {
    const tsr_host *host;
    size_t n;
    step *steps;
};

static void plan_destroy(tsr_plan *plan) {
    if (plan)
        free(plan->steps);
    free(plan);
}

static tsr_status copy_op(const tsr_host *host, const tsr_op *op, step *s) {
    s->row = find(op->id);
    if (!s->row || op->n_in + op->n_out > MOST_OPERANDS || refuse(op))
        return fail(host, TSR_E_UNSUPPORTED, "minimal: was given an op that it has refused");
    s->op = *op;
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const tsr_tensor *tensor = i < op->n_in ? op->in[i] : op->out[i - op->n_in];
        if (tensor)
            s->operands[i] = *tensor;
        *(i < op->n_in ? &s->in[i] : &s->out[i - op->n_in]) = tensor ? &s->operands[i] : NULL;
    }
    s->op.in = s->in;
    s->op.out = s->out;
    if (op->attrs) { /* zeros where the host's struct is shorter */
        uint32_t size;
        memcpy(&size, op->attrs, sizeof size);
        memcpy(&s->attrs, op->attrs, size < sizeof s->attrs ? size : sizeof s->attrs);
        s->op.attrs = &s->attrs;
    }
    return TSR_OK;
}

/* "op=variant,op=variant": an entry for an op of this backend must name its only variant. */
static tsr_status check_forced(const tsr_host *host, const char *kernels,
                               const struct op_row *row) {
    const size_t n = strcspn(row->name, "/");
    for (const char *at = kernels; at && *at;) {
        const size_t length = strcspn(at, ",");
        if (length > n && at[n] == '=' && strncmp(at, row->name, n) == 0 &&
            (length - n - 1 != strlen("minimal") ||
             strncmp(at + n + 1, "minimal", length - n - 1) != 0))
            return fail(host, TSR_E_UNSUPPORTED, "minimal: each op has only the variant minimal");
        at += length + (at[length] == ',');
    }
    return TSR_OK;
}

static tsr_status plan_create(tsr_dev *dev, const tsr_plan_spec *spec, tsr_plan **out) {
    tsr_plan *plan = calloc(1, sizeof *plan);
    step *steps = calloc(spec->n_ops + 1, sizeof *steps);
    tsr_status status = plan && steps
                            ? TSR_OK
                            : fail(dev->host, TSR_E_HOST_MEMORY, "minimal: no memory for a plan");
    if (status == TSR_OK)
        *plan = (tsr_plan){.host = dev->host, .n = spec->n_ops, .steps = steps};
    for (uint32_t i = 0; i < spec->n_ops && status == TSR_OK; i++) {
        status = copy_op(dev->host, spec->ops[i], &steps[i]);
        if (status == TSR_OK)
            status = check_forced(dev->host, spec->kernels, steps[i].row);
    }
    if (status != TSR_OK) {
        free(steps);
        free(plan);
        return status;
    }
    *out = plan;
    return TSR_OK;
}

static tsr_status plan_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                           tsr_event **done) {
    (void)waits;
    for (size_t i = 0; i < plan->n; i++)
        plan->steps[i].row->run(&plan->steps[i].op, run->sizes);
    if (done)
        *done = &finished;
    return TSR_OK;
}

static tsr_status plan_explain(tsr_plan *plan, size_t op, tsr_variant_visitor visit, void *data) {
    if (op >= plan->n)
        return fail(plan->host, TSR_E_ARGUMENT, "minimal: the plan has no op of this number");
    visit_row(plan->steps[op].row, NULL, 1, visit, data);
    return TSR_OK;
}

static tsr_status plan_profile(tsr_plan *plan, tsr_profile_visitor visit, void *data) {
    (void)plan, (void)visit, (void)data; /* measures nothing */
    return TSR_OK;
}

/* ---- the device and the table ---- */

static tsr_status start(const tsr_host *host, const tsr_options *options, tsr_state **out) {
    (void)options;
    if (!(*out = malloc(sizeof **out)))
        return fail(host, TSR_E_HOST_MEMORY, "minimal: no memory to start");
    (*out)->host = host;
    return TSR_OK;
}

static void stop(tsr_state *state) {
    free(state);
}

static tsr_status device_count(tsr_state *state, uint32_t *count) {
    (void)state;
    *count = 1;
    return TSR_OK;
}

static tsr_status device_facts(tsr_state *state, uint32_t index, tsr_facts *facts) {
    (void)state, (void)index;
    const tsr_facts mine = {.struct_size = facts->struct_size,
                            .type = TSR_DEVICE_OTHER,
                            .usable = 1,
                            .score = 0,
                            .platform = "Example",
                            .name = "minimal",
                            .vendor = "",
                            .driver = "1",
                            .version = "C11",
                            .c_version = "",
                            .reason = "five ops in plain C",
                            .compute_units = 1,
                            .base_alignment = 64,
                            .unified_memory = 1};
    memcpy(facts, &mine, facts->struct_size < sizeof mine ? facts->struct_size : sizeof mine);
    return TSR_OK;
}

static tsr_status device_open(tsr_state *state, uint32_t index, const tsr_device_options *options,
                              tsr_dev **out) {
    (void)index, (void)options;
    if (!(*out = malloc(sizeof **out)))
        return fail(state->host, TSR_E_HOST_MEMORY, "minimal: no memory to open the device");
    (*out)->host = state->host;
    return TSR_OK;
}

static void device_close(tsr_dev *dev) {
    free(dev);
}

TSR_API const tsr_backend *tsr_backend_get(uint32_t abi) {
    static const tsr_backend table = {.struct_size = sizeof table,
                                      .abi = TSR_BACKEND_ABI,
                                      .name = "minimal",
                                      .version = "1",
                                      .description = "five ops in plain C",
                                      .open = start,
                                      .close = stop,
                                      .device_count = device_count,
                                      .device_facts = device_facts,
                                      .device_open = device_open,
                                      .device_close = device_close,
                                      .buffer_create = buffer_create,
                                      .buffer_destroy = buffer_destroy,
                                      .transfer = transfer,
                                      .event_wait = event_wait,
                                      .event_destroy = event_destroy,
                                      .op_variants = op_variants,
                                      .weight_store = weight_store,
                                      .weight_load = weight_load,
                                      .plan_create = plan_create,
                                      .plan_destroy = plan_destroy,
                                      .plan_run = plan_run,
                                      .plan_explain = plan_explain,
                                      .plan_profile = plan_profile};
    return abi >> 16 == TSR_BACKEND_ABI >> 16 ? &table : NULL; /* NULL: another major version */
}
