# replay.sh FUZZ_REPLAY - each harness reads its corpus as it is, then changed anew for TESSERA_FUZZ_SECONDS of CPU (0.3 without it).
# What a crash leaves is in $TESSERA_BUILD/fuzz/TARGET. A bug planted in a harness must be found, or the rest proves nothing.
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
