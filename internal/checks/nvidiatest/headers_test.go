//go:build nvidia

package nvidiatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// The library's table of PTX versions and targets must agree with the assembler from CUDA 11.8. The
// test tries every pair of a target and a version, including versions that do not exist. In short
// mode it tries every seventh pair, which includes each version and each target.
func TestNVIDIAAssemblerTakesTheHeadersThatNeedsTakes(t *testing.T) {
	ptxas := part(t, "toolkit/usr/bin/ptxas")
	file := filepath.Join(t.TempDir(), "header.ptx")
	pairs, tried := 0, 0
	for _, version := range []string{
		"1.0", "1.4", "1.5", "1.6", "2.0", "2.3", "2.4", "3.0", "3.1", "3.2", "3.3", "4.0", "4.1", "4.2", "4.3", "5.0", "5.1", "5.2",
		"6.0", "6.1", "6.3", "6.5", "6.6", "7.0", "7.1", "7.4", "7.7", "7.8", "7.9", "8.0", "9.9",
	} {
		for _, target := range []string{
			"sm_10", "sm_13", "sm_20", "sm_30", "sm_32", "sm_35", "sm_37", "sm_50", "sm_52", "sm_53", "sm_60", "sm_62", "sm_70", "sm_71",
			"sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "compute_80", "debug",
		} {
			if pairs++; testing.Short() && pairs%7 != 0 {
				continue
			}
			text := fmt.Sprintf(".version %s\n.target %s\n.visible .entry k() { ret; }\n", version, target)
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			out, failed := exec.Command(ptxas, "--gpu-name", "sm_90", "-o", os.DevNull, file).CombinedOutput()
			info, err := ptx.Signatures([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if unmet := info.Needs().Check(11080, 9, 0); (unmet == nil) != (failed == nil) {
				t.Errorf("PTX %s for %s: %v, the assembler says %v: %s", version, target, unmet, failed, out)
			}
			tried++
		}
	}
	t.Logf("%d headers", tried)
}
