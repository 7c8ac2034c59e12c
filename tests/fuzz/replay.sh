# replay.sh FUZZ_REPLAY - runs each harness on its corpus, first unchanged, then with new random changes for TESSERA_FUZZ_SECONDS of
# CPU time (default 0.3). After a crash the input is in $TESSERA_BUILD/fuzz/TARGET. The bug that is planted in one harness must be
# found; otherwise the other results prove nothing.
set -u
replay=$1 kept=${TESSERA_BUILD:-.}/fuzz failed=0
corpus=$(dirname "$0")/corpus
mkdir -p "$kept"
mapfile -t targets < <("$replay" 2>/dev/null)
for target in "${targets[@]}"; do
    FUZZ_KEEP=$kept/$target "$replay" --seconds "${TESSERA_FUZZ_SECONDS:-0.3}" "$target" "$corpus/$target" 2>"$kept/$target.log" && continue
    echo "FAILED: $target; the input is $kept/$target"
    head -n 30 "$kept/$target.log"
    failed=1
done
if "$replay" --seconds 2 planted "$corpus/safetensors" 2>/dev/null; then
    echo "FAILED: the planted bug was not found"
    failed=1
fi
exit $failed
