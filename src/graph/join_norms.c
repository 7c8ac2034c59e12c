/* graph/join_norms.c - makes norms operands of the products that read them. */
#include "base/error.h"
#include "base/memory.h"
#include "graph/copying.h"
#include "graph/ops.h"

#include <stdlib.h>
#include <string.h>

TSRI_OPERANDS(linear); /* glu_linear has no residual: its norm is one place before */
enum { GATED_NORM = RESIDUAL };

/* A norm, and the products that alone read its result: each norms x itself, or none does. An add_norm falls
 * apart into a norm and the linear whose result it adds, which adds that itself: its residual. */
enum { MAX_PRODUCTS = 4 };
typedef struct joint {
    const tsri_graph_node *norm; /* rms_norm or add_norm */
    size_t products[MAX_PRODUCTS], n_products;
    const tsri_graph_node *adds;    /* NULL for an rms_norm */
    tsri_value x, weight, residual; /* what is normed, the norm's weight; what `adds` adds */
} joint;

/* What becomes of a node. */
typedef struct fate {
    bool gone;                 /* a norm that was joined */
    joint takes, adds;         /* its norm; its residual */
    bool is_product, is_adder; /* whether it has these */
} fate;

/* How many operands and outputs read each storage. */
static tsr_status count_uses(const tsri_graph *graph, uint32_t **out) {
    TRY(tsri_base_new(tsri_graph_value_count(graph) + 1, sizeof **out, out));
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in; j++)
            if (node->in[j] != TSRI_GRAPH_NONE)
                (*out)[tsri_graph_value_at(graph, node->in[j])->storage]++;
    }
    for (size_t i = 0; i < tsri_graph_output_count(graph); i++)
        (*out)[tsri_graph_value_at(graph, tsri_graph_output_at(graph, i)->value)->storage]++;
    return TSR_OK;
}

static uint32_t place_of_norm(const tsri_graph_node *product) {
    return product->id == TSR_OP_LINEAR ? NORM : GATED_NORM;
}

static bool lacks(const tsri_graph_node *node, uint32_t operand) {
    return node->n_in <= operand || node->in[operand] == TSRI_GRAPH_NONE;
}

/* The node whose whole result x is, where nothing else reads it; NULL: there is none. */
static const tsri_graph_node *only_for(const tsri_graph *graph, const uint32_t *uses,
                                       tsri_value x) {
    const tsri_graph_value *v = tsri_graph_value_at(graph, x);
    return v->producer >= 0 && v->storage == x && uses[x] == 1
               ? tsri_graph_node_at(graph, (size_t)v->producer)
               : NULL;
}

/* The linear whose result an add_norm adds to `residual`, which is there by then. */
static const tsri_graph_node *find_adder(const tsri_graph *graph, const uint32_t *uses,
                                         tsri_value addend, tsri_value residual) {
    const tsri_graph_node *node = only_for(graph, uses, addend);
    if (!node || node->id != TSR_OP_LINEAR || !lacks(node, RESIDUAL) ||
        tsri_graph_value_at(graph, residual)->producer >=
            tsri_graph_value_at(graph, addend)->producer)
        return NULL;
    return node;
}

/* Finds the products whose x is the whole of `normed`, if nothing else reads it. */
static bool find_products(const tsri_graph *graph, const uint32_t *uses, tsri_value normed,
                          joint *out) {
    const tsri_graph_value *v = tsri_graph_value_at(graph, normed);
    for (size_t i = (size_t)v->producer + 1;
         i < tsri_graph_node_count(graph) && out->n_products < uses[v->storage]; i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        if (node->n_in <= X || node->in[X] != normed)
            continue;
        if ((node->id != TSR_OP_LINEAR && node->id != TSR_OP_GLU_LINEAR) ||
            !lacks(node, place_of_norm(node)) || out->n_products == MAX_PRODUCTS)
            return false;
        out->products[out->n_products++] = i;
    }
    return out->n_products > 0 && out->n_products == uses[v->storage];
}

static bool find_joint(const tsri_graph *graph, const uint32_t *uses, const tsri_graph_node *norm,
                       joint *out) {
    *out = (joint){.norm = norm};
    if (norm->id == TSR_OP_RMS_NORM) {
        out->x = norm->in[0];
        out->weight = norm->in[1];
        return find_products(graph, uses, norm->out[0], out);
    }
    if (norm->id != TSR_OP_ADD_NORM || ((const tsr_norm_attrs *)norm->attrs)->norm != TSR_NORM_RMS)
        return false;
    for (int i = 0; i < 2 && !out->adds; i++) {
        out->residual = norm->in[1 - i];
        out->adds = find_adder(graph, uses, norm->in[i], out->residual);
    }
    out->x = norm->out[0];
    out->weight = norm->in[2];
    return out->adds && find_products(graph, uses, norm->out[1], out);
}

typedef union product_attrs {
    tsr_linear_attrs linear;
    tsr_glu_linear_attrs glu_linear;
} product_attrs;

static product_attrs attrs_with(const tsri_graph_node *product, const joint *j) {
    const float eps = ((const tsr_norm_attrs *)j->norm->attrs)->eps;
    product_attrs attrs;
    if (product->id == TSR_OP_LINEAR) {
        attrs.linear = *(const tsr_linear_attrs *)product->attrs;
        attrs.linear.norm_eps = eps;
    } else {
        attrs.glu_linear = *(const tsr_glu_linear_attrs *)product->attrs;
        attrs.glu_linear.norm_eps = eps;
    }
    return attrs;
}

/* Whether `node` had better be with operand `place`, and with another x where that is given. */
static bool is_better(const tsri_graph *graph, const tsri_graph_node *node,
                      const tsri_graph_node *norm, const void *attrs, uint32_t place,
                      tsri_value operand, tsri_value x, tsri_graph_better better, void *data) {
    tsri_graph_op_store store;
    const tsr_tensor *in[TSRI_GRAPH_MAX_OPERANDS] = {0};
    const tsr_op apart = *tsri_graph_as_op(graph, node, &store);
    tsr_op together = apart;
    memcpy(in, store.in, apart.n_in * sizeof *in);
    in[place] = &tsri_graph_value_at(graph, operand)->tensor;
    if (x != TSRI_GRAPH_NONE)
        in[X] = &tsri_graph_value_at(graph, x)->tensor;
    together.in = in;
    together.n_in = apart.n_in > place ? apart.n_in : place + 1;
    together.attrs = attrs;
    return better(data, graph, node, norm, &together, &apart);
}

static bool is_joined(const tsri_graph *graph, const joint *j, tsri_graph_better better,
                      void *data) {
    for (size_t i = 0; i < j->n_products; i++) {
        const tsri_graph_node *product = tsri_graph_node_at(graph, j->products[i]);
        const product_attrs attrs = attrs_with(product, j);
        if (!is_better(graph, product, j->norm, &attrs, place_of_norm(product), j->weight, j->x,
                       better, data))
            return false;
    }
    return !j->adds || is_better(graph, j->adds, j->norm, j->adds->attrs, RESIDUAL, j->residual,
                                 TSRI_GRAPH_NONE, better, data);
}

static size_t index_of(const tsri_graph *graph, const tsri_graph_node *node) {
    return (size_t)tsri_graph_value_at(graph, node->out[0])->producer;
}

static void copy_joined(tsri_graph_copying *c, const tsri_graph_node *node, const fate *f) {
    tsri_value in[TSRI_GRAPH_MAX_OPERANDS], out;
    uint32_t n_in = node->n_in;
    const product_attrs with = f->is_product ? attrs_with(node, &f->takes) : (product_attrs){0};
    for (uint32_t i = 0; i < TSRI_GRAPH_MAX_OPERANDS; i++)
        in[i] = i >= node->n_in || (i == X && f->is_product) ? TSRI_GRAPH_NONE
                                                             : tsri_graph_copied(c, node->in[i]);
    if (f->is_adder) {
        in[RESIDUAL] = tsri_graph_copied(c, f->adds.residual);
        n_in = n_in > RESIDUAL ? n_in : RESIDUAL + 1;
    }
    if (f->is_product) {
        in[X] = tsri_graph_copied(c, f->takes.x);
        in[place_of_norm(node)] = tsri_graph_copied(c, f->takes.weight);
        n_in = place_of_norm(node) + 1;
    }
    tsri_graph_scope(c->to, node->layer, node->label);
    tsri_graph_op(c->to, node->id, f->is_product ? (const void *)&with : node->attrs, in, n_in, 1,
                  &out);
    c->map[f->is_adder ? f->adds.norm->out[0] : node->out[0]] = out;
}

tsr_status tsri_graph_join_norms(const tsri_graph *graph, tsri_graph_better better, void *data,
                                 tsri_graph **out) {
    const size_t n = tsri_graph_node_count(graph);
    uint32_t *uses = NULL;
    fate *fates = NULL; /* by node */
    tsri_graph_copying c;
    tsr_status status = tsri_graph_copy_begin(graph, &c);
    if (status == TSR_OK)
        status = count_uses(graph, &uses);
    if (status == TSR_OK)
        status = tsri_base_new(n + 1, sizeof *fates, &fates);
    for (size_t i = 0; status == TSR_OK && i < n; i++) {
        joint j;
        if (!find_joint(graph, uses, tsri_graph_node_at(graph, i), &j) ||
            !is_joined(graph, &j, better, data))
            continue;
        fates[i].gone = true;
        for (size_t k = 0; k < j.n_products; k++) {
            fates[j.products[k]].is_product = true;
            fates[j.products[k]].takes = j;
        }
        if (j.adds) {
            fate *adder = &fates[index_of(graph, j.adds)];
            adder->is_adder = true;
            adder->adds = j;
        }
    }
    for (size_t i = 0; status == TSR_OK && i < n; i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        if (fates[i].is_product || fates[i].is_adder)
            copy_joined(&c, node, &fates[i]);
        else if (!fates[i].gone)
            tsri_graph_copy_node(&c, node);
    }
    status = tsri_graph_copy_end(&c, status, out);
    free(fates);
    free(uses);
    return status;
}
