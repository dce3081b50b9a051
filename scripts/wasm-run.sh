#!/bin/sh
# Runs a program built for GOARCH=wasm under node, for "go test -exec": with
# GOOS=wasip1 under node's WASI, with GOOS=js under Go's own glue, as in a
# browser.
#
# usage: GOOS=wasip1 scripts/wasm-run.sh PROGRAM [ARGUMENT ...]
set -eu
stack=16384
unset GOMAXPROCS # Go's wasm has one thread and takes the variable at its word
# node takes as much stack as it is told to, whether it has that or not.
ulimit -s 65536 2>/dev/null || ulimit -s unlimited 2>/dev/null || :
case ${GOOS:?is wasip1 or js} in
js) exec node "--stack-size=$stack" "$(go env GOROOT)/lib/wasm/wasm_exec_node.js" "$@" ;;
wasip1) ;;
*) echo "wasm-run.sh: GOOS is $GOOS, not wasip1 or js" >&2; exit 2 ;;
esac
# node 20 was seen to end by a segmentation fault after a program had ended. Why is not
# known. So: no fast calls (https://github.com/nodejs/node/issues/53087), and exit, which
# takes less apart than an end by itself.
PWD=$(pwd) exec node --no-warnings --no-incremental-marking --no-turbo-fast-api-calls "--stack-size=$stack" --input-type=module -e '
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";
const [program] = process.argv.slice(1);
const wasi = new WASI({ version: "preview1", args: process.argv.slice(1), env: process.env, preopens: { "/": "/" }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(await readFile(program), wasi.getImportObject());
process.exit(wasi.start(instance));
' -- "$@"
