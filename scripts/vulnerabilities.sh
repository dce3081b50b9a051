#!/usr/bin/env bash
# Looks for known vulnerabilities in what programs call: govulncheck over all
# packages and tests, for three systems, and over the other modules of the repository.
#
# usage: scripts/vulnerabilities.sh
#
# $GOVULNDB names the database: by default Go's own, or file:///FOLDER with a
# copy, such as data/osv of the repository github.com/golang/vulndb. The exit
# status is 1 if something was found, and 2 if nothing could be checked.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
export CGO_ENABLED=0 GOFLAGS=
db=${GOVULNDB:-https://vuln.go.dev}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

GOBIN=$work go install golang.org/x/vuln/cmd/govulncheck@v1.8.0 || exit 2

# A database that knows nothing finds nothing: GO-2021-0113 has to be in it.
if ! "$work/govulncheck" -db "$db" -mode query -json golang.org/x/text@v0.3.5 >"$work/known" 2>&1 || ! grep -q GO-2021-0113 "$work/known"; then
	echo "vulnerabilities.sh: NOT CHECKED: $db gives no answer: $(tail -n 1 "$work/known")" >&2
	echo "vulnerabilities.sh: \$GOVULNDB may name a copy: file:///FOLDER" >&2
	exit 2
fi

failed=0
check() { # check FOLDER GOOS [FLAG ...]
	local dir=$1 os=$2 status
	shift 2
	(cd "$dir" && GOOS=$os "$work/govulncheck" -db "$db" -test "$@" ./...) >"$work/text" 2>&1
	status=$?
	echo "vulnerabilities: $dir, $os${*:+ $*}: $(tail -n 1 "$work/text")"
	[ $status = 0 ] && return
	failed=1
	cat "$work/text"
}

for os in linux windows darwin; do
	check . $os
done
check . linux -tags static
mods=$(git ls-files '*go.mod' | grep -v testdata) || exit 2
host=$(go env GOHOSTOS) || exit 2
for mod in $mods; do
	[ "$mod" = go.mod ] || check "$(dirname "$mod")" "$host"
done
case $db in
file://*) # how old a copy is, its newest entry says
	newest=$(find "${db#file://}" -name 'GO-*.json' -exec basename {} .json \; | sort -V | tail -n 1) || exit 2
	db="a copy whose newest entry is $newest"
	;;
esac
echo "vulnerabilities: $(go version), database: $db"
exit $failed
