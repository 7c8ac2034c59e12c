# A program outside the tree is built against the installed Tessera with CMake and with pkg-config, and runs; the
# installed command finds its library, plugins and models, even after the installed tree was moved.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TESSERA_BACKEND_PATH # the installed tree must find its own plugins

cmake --install "$TESSERA_BUILD" --prefix "$work/first" >"$work/log"
mv "$work/first" "$work/moved"
prefix=$work/moved

cmake -S "$TESSERA_SOURCE/tests/install/outside" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="${TESSERA_SANITIZE_FLAGS:-}" >>"$work/log"
cmake --build "$work/build" >>"$work/log"
"$work/build/outside" >"$work/by_cmake"

# shellcheck disable=SC2046,SC2086  # lists of words are meant
PKG_CONFIG_PATH=$prefix/lib/pkgconfig "$CC" -std=c11 ${TESSERA_SANITIZE_FLAGS:-} \
    "$TESSERA_SOURCE/tests/install/outside/main.c" -o "$work/outside" \
    $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs tessera)
LD_LIBRARY_PATH=$prefix/lib "$work/outside" >"$work/by_pkg_config"

# The examples need only what is installed.
for example in "$TESSERA_SOURCE"/examples/*.c; do
    # shellcheck disable=SC2046,SC2086
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror ${TESSERA_SANITIZE_FLAGS:-} "$example" -o "$work/$(basename "$example" .c)" \
        $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs tessera) -lm
done
LD_LIBRARY_PATH=$prefix/lib "$work/write_a_poem" >"$work/poem"
test -s "$work/poem"

"$prefix/bin/tessera" generate --quiet --temp 0 -n 8 "The" >"$work/by_command"
cat "$work"/by_*
test -s "$work/by_cmake"
cmp "$work/by_cmake" "$work/by_pkg_config"
cmp "$work/by_cmake" "$work/by_command"
test -e "$prefix/share/tessera/models"
test -e "$prefix/share/tessera/recipes/char-gpt.json"
"$prefix/bin/tessera-get-minilm" --help >/dev/null
"$prefix/bin/tessera-get-smollm2" --help >/dev/null
"$prefix/bin/tessera-peers" --help >/dev/null
for engine in llama.cpp onnxruntime openvino pytorch; do # an engine that is missing is an answer, a file of ours is none
  python3 -B "$prefix/share/tessera/peers/suite_peer.py" 1 $engine </dev/null | grep -Eq '"engine"|tools/peers installs it'
done
test -e "$prefix/share/doc/tessera/docs/building.md" -a -e "$prefix/share/doc/tessera/README.md"

# Debian's layout: libraries, plugins and the helper in the processor's own folder. The command finds models and recipes from there, and the
# plugin its helper.
mkdir "$prefix/lib/processor"
mv "$prefix"/lib/*.so* "$prefix/lib/tessera" "$prefix/lib/processor"
mv "$prefix/libexec/tessera/probe" "$prefix/lib/processor/tessera"
debian() { LD_LIBRARY_PATH=$prefix/lib/processor "$prefix/bin/tessera" "$@"; }
debian generate --quiet --temp 0 -n 8 "The" | cmp - "$work/by_command"
debian completion --words train --recipe char | grep -q '^char-gpt'
finds_helper() {
    TESSERA_CACHE=$work/cache debian devices --verbose >"$work/told" 2>&1
    if grep 'probe is missing' "$work/told"; then exit 1; fi
}
finds_helper
mv "$prefix/lib/processor/tessera/probe" "$prefix/libexec/tessera/probe" # libraries in lib/processor alone: CMAKE_INSTALL_LIBDIR
finds_helper

# Uninstalling removes everything that was installed, and nothing else.
mkdir "$work/second"
touch "$work/second/mine"
cmake --install "$TESSERA_BUILD" --prefix "$work/second" >>"$work/log"
test -x "$work/second/bin/tessera"
cmake --build "$TESSERA_BUILD" --target uninstall >>"$work/log"
test "$(find "$work/second" ! -type d)" = "$work/second/mine" || { find "$work/second" ! -type d; exit 1; }
test ! -e "$work/second/share/tessera" -a ! -e "$work/second/include/tessera"
