package ptx_test

import (
	"testing"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
)

// Every construct of the ISA must parse, must print as text that parses to the same tree, and must
// not hide a kernel from Signatures. Package nvidiatest checks with the real assembler that the
// snippets are valid PTX.
func TestChecklist(t *testing.T) {
	list := ptxtest.Checklist()
	if len(list) < 160 {
		t.Fatalf("only %d snippets", len(list))
	}
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s.Name] {
			t.Errorf("checklist.txt:%d: %q is there twice", s.Line, s.Name)
		}
		seen[s.Name] = true
		t.Run(s.Name, func(t *testing.T) {
			m, err := ptx.Parse("checklist", []byte(s.Module()))
			if err != nil {
				t.Fatalf("checklist.txt:%d: %+v", s.Line, err)
			}
			info, err := ptx.Signatures([]byte(s.Module()))
			if err != nil {
				t.Fatalf("checklist.txt:%d: signatures: %+v", s.Line, err)
			}
			if len(info.Kernels) == 0 {
				t.Errorf("checklist.txt:%d: no kernel", s.Line)
			}
			ptxtest.Agree(t, m, info)
			ptxtest.RoundTrip(t, m)
		})
	}
}
