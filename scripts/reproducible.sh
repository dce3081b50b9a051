#!/usr/bin/env bash
# Builds the quickstart twice from this tree and compares the programs, byte by
# byte. The second build has another folder, home, module cache, build cache,
# time zone, language, umask and number of processors, and another user where
# the script may change that (as root).
#
# usage: scripts/reproducible.sh [TARGET ...]
#
# A target is GOOS/GOARCH or GOOS/GOARCH/TAG; without any, all are built, with
# caches of the second build that are empty. Both builds are told -trimpath,
# without which programs hold the folder they were built in, and -buildvcs=false,
# because the copies are no repositories.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
targets=("$@")
[ $# -gt 0 ] || targets=(linux/amd64 linux/amd64/static linux/arm64 windows/amd64 windows/arm64 darwin/arm64 js/wasm wasip1/wasm)

work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/one" "$work/second/folder/deeper" "$work/home" "$work/tmp"
for copy in "$work/one" "$work/second/folder/deeper"; do
	git ls-files -z -co --exclude-standard | while IFS= read -r -d '' f; do if [ -e "$f" ]; then printf '%s\0' "$f"; fi; done |
		tar --null -T - -cf - | tar -xf - -C "$copy"
done

as=()
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	# The modules have to be readable for that user.
	mkdir -p "$work/modules/download"
	go mod download
	go list -m -f '{{if not .Main}}{{.Path}}{{end}}' all | while read -r m; do
		(cd "$(go env GOMODCACHE)/cache/download" && cp -r --parents "$m/@v" "$work/modules/download")
	done
	chmod -R a+rX "$work/modules"
	chown -R 65534:65534 "$work/second" "$work/home" "$work/tmp"
	modules=$work/modules/download
else
	modules=$(go env GOMODCACHE)/cache/download
fi
go=$(go env GOROOT)/bin/go

# build FOLDER OUTPUT TARGET, with the caches of whoever calls
build() {
	local os=${3%%/*} arch=${3#*/} tags=
	case $arch in */*) tags=${arch#*/} arch=${arch%%/*} ;; esac
	(cd "$1" && GOOS=$os GOARCH=$arch CGO_ENABLED=0 GOFLAGS= "$go" build -trimpath -buildvcs=false -tags "$tags" -o "$2" ./examples/quickstart)
}

# The second build starts from an environment of its own.
second() {
	(
		umask 077
		"${as[@]}" env -i PATH=/usr/bin:/bin HOME="$work/home" USER=someone TZ=Asia/Kathmandu LC_ALL=C.UTF-8 GOMAXPROCS=3 \
			TMPDIR="$work/tmp" GOCACHE="$work/home/cache" GOMODCACHE="$work/home/modules" GOTOOLCHAIN=local \
			GOPROXY="file://$modules" GONOSUMDB='*' GOENV=off go="$go" \
			bash -c "$(declare -f build); build \"\$@\"" build "$@"
	)
}

failed=0
for t in "${targets[@]}"; do
	begin=$SECONDS
	build "$work/one" "$work/one/program" "$t"
	second "$work/second/folder/deeper" "$work/second/folder/program" "$t"
	if cmp "$work/one/program" "$work/second/folder/program"; then
		echo "$t: the same $(stat -c %s "$work/one/program") bytes, sha256 $(sha256sum <"$work/one/program" | cut -c1-16)…, in $((SECONDS - begin)) s"
	else
		failed=1
		echo "$t: two programs" >&2
	fi
	if grep -qaF "$work" "$work/one/program"; then
		failed=1
		echo "$t: the program holds the folder it was built in" >&2
	fi
done
version=$("$go" version)
echo "$version; second build as user $([ ${#as[@]} -gt 0 ] && echo 65534 || id -u)"
exit $failed
