#!/usr/bin/env bash
# Shows that delve stops in a kernel that gpu.Run executes: in one thread, with its variables.
#
#   scripts/delve-kernel.sh
#
# It needs network access once, to install delve.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dlv=$(command -v dlv || true)
if [ -z "$dlv" ]; then
	GOBIN=$work CGO_ENABLED=0 go install github.com/go-delve/delve/cmd/dlv@v1.27.2
	dlv=$work/dlv
fi
line=$(grep -n 'y\[i\] += a \* x\[i\]' ptx/gpu/example_test.go | head -1 | cut -d: -f1)
cat >"$work/init" <<END
break ptx/gpu/example_test.go:$line
condition 1 i == 3
continue
print i
print y[i]
next
print y[3]
exit
END
"$dlv" test ./ptx/gpu --init "$work/init" --allow-non-terminal-interactive=true -- -test.run 'ExampleRun$' | tee "$work/out"
# Thread 3 computes 40 + 2*4.
if [ "$(grep -E '^[0-9]+$' "$work/out" | tr '\n' ' ')" != "3 40 48 " ]; then
	echo "delve did not stop in thread 3 of the kernel" >&2
	exit 1
fi
echo "delve stopped in thread 3 of the kernel saxpy"
