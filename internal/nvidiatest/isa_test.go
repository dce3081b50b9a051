//go:build nvidia

package nvidiatest

import (
	"os/exec"
	"testing"
)

// The check of PTX agrees with the real assembler about every conversion. The tool
// fails if more than one in a hundred is judged differently. Mutants of the project's
// kernels also need ptxas 12.4, because this one accepts some that 12.4 refuses: make
// ptx-oracle.
func TestNVIDIAAssemblerAgreesWithTheCheck(t *testing.T) {
	ptxas := part(t, "toolkit/usr/bin/ptxas")
	for _, args := range [][]string{
		{"-mode", "cvt"},
	} {
		cmd := exec.Command("go", append([]string{"run", "-C", "../../tools", "./ptxfuzz", "-ptxas", ptxas}, args...)...)
		out, err := cmd.CombinedOutput()
		t.Logf("ptxfuzz %v\n%s", args, out)
		if err != nil {
			t.Errorf("ptxfuzz %v: %v", args, err)
		}
	}
}
