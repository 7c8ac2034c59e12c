/* tessera/tessera.h - the whole public interface. tessera/status.h has the rules for every call. */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include "tessera/attention.h"
#include "tessera/backend.h"
#include "tessera/bench.h"
#include "tessera/bundle.h"
#include "tessera/classify.h"
#include "tessera/cluster.h"
#include "tessera/device.h"
#include "tessera/dump.h"
#include "tessera/embed.h"
#include "tessera/evaluate.h"
#include "tessera/fill_mask.h"
#include "tessera/generate.h"
#include "tessera/graph.h"
#include "tessera/merge.h"
#include "tessera/model.h"
#include "tessera/op.h"
#include "tessera/plot.h"
#include "tessera/quantize.h"
#include "tessera/run.h"
#include "tessera/search.h"
#include "tessera/status.h"
#include "tessera/tensor.h"
#include "tessera/tokenizer.h"
#include "tessera/train.h"
#include "tessera/translate.h"
#include "tessera/tune.h"
#include "tessera/vectors.h"
#include "tessera/verify.h"

#endif
