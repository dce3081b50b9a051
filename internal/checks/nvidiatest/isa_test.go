//go:build nvidia

package nvidiatest

import (
	"os/exec"
	"testing"
)

// The PTX check must agree with NVIDIA's assembler about conversions. The tool fails if they
// disagree about more than 1 % of them. Mutants of the project's kernels are not tested here,
// because this assembler accepts some mutants that ptxas 12.4 rejects. See make ptx-oracle.
func TestNVIDIAAssemblerAgreesWithTheCheck(t *testing.T) {
	ptxas := part(t, "toolkit/usr/bin/ptxas")
	for _, args := range [][]string{
		{"-mode", "cvt"},
	} {
		cmd := exec.Command("go", append([]string{"run", "-C", "../../../tools", "./ptxfuzz", "-ptxas", ptxas}, args...)...)
		out, err := cmd.CombinedOutput()
		t.Logf("ptxfuzz %v\n%s", args, out)
		if err != nil {
			t.Errorf("ptxfuzz %v: %v", args, err)
		}
	}
}
