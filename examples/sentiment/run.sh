#!/bin/sh
# run.sh [FOLDER]: trains a head for reviews on top of MiniLM, scores it on reviews that it has not seen, and uses it.
# Exit code: 0 done, 77 the encoder is missing (tools/get-minilm gets it), otherwise the exit code of tessera.
set -eu

# printed by --help, and by a wrong call
usage() { sed -n '2,3s/^# \{0,1\}//p' "$0"; }
case ${1:-} in --help | -h) usage && exit ;; -*) usage >&2 && exit 2 ;; esac
[ $# -le 1 ] || { usage >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
tessera=${TESSERA:-tessera}
encoder=${TESSERA_MINILM:-all-MiniLM-L6-v2}
out=${1:-sentiment}

if ! "$tessera" info "$encoder" >/dev/null 2>&1; then
    echo "run.sh: $encoder is missing; get it with tools/get-minilm, or name its folder with TESSERA_MINILM" >&2
    exit 77
fi
# shellcheck disable=SC2086 # a list of options is meant
set -- ${TESSERA_OPTIONS:-}
"$tessera" train "$@" "$here/reviews.csv" --model "$encoder" --task classify --head-only -o "$out" \
    --set learning_rate=2e-3 --set num_train_epochs=10 --set per_device_train_batch_size=16 --set validation_split=0
"$tessera" evaluate "$@" --labelled "$here/held-back.csv" -m "$out"
"$tessera" classify "$@" -m "$out" "A wonderful evening, and the food was delicious." "Rude staff, a dirty room, and the shower did not work."
