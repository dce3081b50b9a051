package main

import (
	"bytes"
	"testing"
)

// Running the command with the flags of its go:generate line must reproduce the committed
// files.
func TestLaunchersOfSignaturesAreUpToDate(t *testing.T) {
	const dir = "../../internal/checks/launches/signatures"
	var out, errs bytes.Buffer
	if status := run([]string{"-check", "-pkg", "signatures", "-embedded", "-o", dir, dir + "/*.ptx"}, &out, &errs); status != 0 {
		t.Errorf("status %d: %s", status, errs.String())
	}
}
