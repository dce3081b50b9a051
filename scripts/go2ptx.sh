#!/usr/bin/env bash
# Runs go2ptx in each package of this repository that has kernels in Go. Flags are passed on:
# with -check it writes nothing and fails if a generated file is stale.
#
# usage: scripts/go2ptx.sh [-check]
set -euo pipefail
cd "$(dirname "$0")/.."

command=$(mktemp)
trap 'rm -f "$command"' EXIT
go build -o "$command" ./ptx/cmd/go2ptx
files=$(git ls-files -co --exclude-standard '*.go' | xargs grep -l '^//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx')
[ -n "$files" ] || { echo "no package has kernels in Go"; exit 1; }
status=0
for file in $files; do
	flags=$(sed -n 's|^//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx||p' "$file")
	# shellcheck disable=SC2086 # several flags
	"$command" $flags "$@" "$(dirname "$file")" || status=1
done
exit $status
