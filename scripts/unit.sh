#!/usr/bin/env bash
# Runs the tests of a module, those of the packages in the given folders with -short.
#
# usage: scripts/unit.sh MODULE [FOLDER ...]
#
# All are folders of the main module (.) or below it. Folders of other modules are ignored.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1
shift
for folder in "$@"; do
	[ -d "$folder" ] || { echo "unit.sh: there is no folder $folder" >&2; exit 1; }
done
short=$(printf "$(go list -m)/%s\n" "$@")
all=$(go list -C "$module" ./...)
some=$(grep -xF "$short" <<<"$all") || [ $? = 1 ]
rest=$(grep -vxF "$short" <<<"$all") || [ $? = 1 ]
status=0
# shellcheck disable=SC2086 # several packages
[ -z "$rest" ] || go test -C "$module" -vet=off $rest || status=1
# shellcheck disable=SC2086
[ -z "$some" ] || go test -C "$module" -short -vet=off $some || status=1
exit $status
