#!/usr/bin/env bash
# Lists the packages of a module whose tests do less with -short: those that ask
# testing.Short in a test, and those whose tests import a package that asks it.
#
# usage: scripts/shortened.sh FOLDER, that of the main module (.) or of one below it
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(go list -m)
asking=$(grep -rl --include='*.go' 'testing\.Short()' .)
[ -n "$asking" ] || { echo "shortened.sh: nothing asks testing.Short" >&2; exit 1; }
tests=$(grep '_test\.go$' <<<"$asking" | xargs -rn1 dirname | sort -u)
helpers=$(grep -v '_test\.go$' <<<"$asking" | xargs -rn1 dirname | sort -u)
go list -C "$1" -f '{{.ImportPath}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}' ./... |
	awk -v module="$module" -v tests="$tests" -v helpers="$helpers" '
		BEGIN {
			n = split(tests, t, "\n"); for (i = 1; i <= n; i++) own[module substr(t[i], 2)]
			n = split(helpers, h, "\n"); for (i = 1; i <= n; i++) helper[module substr(h[i], 2)]
		}
		{
			hit = $1 in own
			for (i = 2; i <= NF; i++) hit = hit || ($i in helper)
			if (hit) print $1
		}'
