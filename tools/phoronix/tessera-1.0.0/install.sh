#!/bin/sh
# The command that tests run. It measures with the installed tessera, and prints the mean rate of its only job's runs, which it has only
# if its results are right.
if ! command -v tessera >/dev/null; then
    echo "tessera is not installed: see docs/building.md of Tessera" >&2
    echo 2 >"$HOME/install-exit-status"
    exit 2
fi
cat >"$HOME/tessera-bench" <<'END'
#!/bin/sh
tessera --version | cut -d ' ' -f 2 >"$HOME/pts-test-version" # shown beside results
file=$(mktemp) || exit 1
trap 'rm -f "$file"' EXIT
: >"$LOG_FILE" # a rate of an earlier run must not stand for this one
tessera bench --shape llama-110m -d 0 "$@" -q -o "$file" >/dev/null && tessera bench report "$file" --format llama-bench |
    sed -n 's/^ *"avg_ts": \([0-9.]*\),*$/tokens\/s: \1/p' >"$LOG_FILE"
test -s "$LOG_FILE"
code=$?
echo "$code" >"$HOME/test-exit-status"
exit "$code"
END
chmod +x "$HOME/tessera-bench"
