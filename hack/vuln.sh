#!/usr/bin/env bash
# Runs govulncheck where the vulnerability data can be reached; says so where it cannot.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
timeout 300 "$(hack/tool.sh govulncheck)" ./... >"$log" 2>&1 || code=$?
cat "$log"
if [ "$code" -ne 0 ] && grep -qE 'fetching vulnerabilities|dial tcp|no such host|connection refused|Forbidden|403' "$log"; then
  echo "govulncheck: its data cannot be reached from here; not checked"
  exit 0
fi
exit "$code"
