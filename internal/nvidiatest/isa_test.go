//go:build nvidia

package nvidiatest

import (
	"os/exec"
	"testing"
)

// The PTX check must agree with NVIDIA's assembler about every conversion. The tool fails if they
// disagree about more than one in a hundred. For mutants of the project's kernels, make ptx-oracle
// uses ptxas 12.4 as well, because this assembler accepts some that 12.4 rejects.
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
