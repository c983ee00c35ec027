#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
  dir=$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //' | while read -r target; do
    echo "fuzz $dir $target"
    go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" -parallel 2
  done
done
