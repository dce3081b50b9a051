package isa_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

func check(t *testing.T, text string) error {
	t.Helper()
	m, err := ptx.Parse("t", []byte(text))
	if err != nil {
		t.Fatalf("%+v\n%s", err, text)
	}
	return isa.Check(m)
}

// Check must accept every instruction form that drivers and NVIDIA's assembler are known to accept.
func TestEveryKnownInstructionIsAccepted(t *testing.T) {
	for _, p := range ptxtest.Instructions() {
		bad := 0
		for _, f := range p.Forms() {
			if err := check(t, p.Module(f)); err != nil {
				t.Errorf("line %d: %s: %v", p.Line, f, err)
				if bad++; bad > 3 {
					break
				}
			}
		}
	}
	for _, s := range ptxtest.Checklist() {
		if s.Refused {
			continue
		}
		if err := check(t, s.Module()); err != nil && !strings.Contains(err.Error(), "nothing") {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// Check must accept instructions that ptxas accepts although the documentation does not mention
// them: constants in place of registers, and a vote without a mode.
func TestWhatTheAssemblerAcceptsIsAccepted(t *testing.T) {
	for _, line := range []string{
		"cvt.rn.f16x2.e4m3x2 %b1, 96;",
		"cvt.rn.relu.f16x2.e5m2x2 %b1, 96;",
		"mbarrier.pending_count.b64 %b1, 289;",
		"vote.sync.pred %p1, !%p2, %b1;",
	} {
		if err := check(t, in("7.8", "sm_90", line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
