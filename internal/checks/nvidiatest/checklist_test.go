//go:build nvidia

package nvidiatest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
)

// NVIDIA's assembler must accept every snippet of the checklist that its PTX version, 7.8, allows.
// The printed form of each snippet must assemble to the same code.
func TestNVIDIAAssemblerTakesTheChecklist(t *testing.T) {
	ptxas := part(t, "toolkit/usr/bin/ptxas")
	tried := 0
	for _, s := range ptxtest.Checklist() {
		m, err := ptx.Parse(s.Name, []byte(s.Module()))
		if err != nil {
			t.Fatal(err)
		}
		if m.Version.AtLeast(7, 9) {
			continue
		}
		tried++
		t.Run(s.Name, func(t *testing.T) {
			original, err := assemble(t, ptxas, s.Arch(), s.Module())
			if s.Refused {
				if err == nil {
					t.Error("is assembled: the checklist says it is refused")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			printed, err := assemble(t, ptxas, s.Arch(), m.String())
			if err != nil {
				t.Fatalf("printed: %v", err)
			}
			sameCode(t, original, printed)
		})
	}
	if tried < 100 {
		t.Errorf("only %d snippets tried", tried)
	}
}

// The printed form of all shipped PTX must assemble to the same code as the original.
func TestNVIDIAPrintedPTXGivesTheSameCode(t *testing.T) {
	ptxas := part(t, "toolkit/usr/bin/ptxas")
	for _, file := range ptxFiles(t, "../../..") {
		t.Run(file, func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := ptx.Parse(file, src)
			if err != nil {
				t.Fatalf("%+v", err)
			}
			original, err := assemble(t, ptxas, "sm_90", string(src), "-c")
			if err != nil {
				t.Fatal(err)
			}
			printed, err := assemble(t, ptxas, "sm_90", m.String(), "-c")
			if err != nil {
				t.Fatal(err)
			}
			sameCode(t, original, printed)
		})
	}
}

func sameCode(t *testing.T, original, printed map[string][]byte) {
	t.Helper()
	if len(original) != len(printed) {
		t.Errorf("printed PTX gives %d sections of code and data, want %d", len(printed), len(original))
	}
	for name, want := range original {
		if !bytes.Equal(printed[name], want) {
			t.Errorf("printed PTX gives another %s", name)
		}
	}
}

// assemble assembles text for arch and returns the code and data by section. For an arch older than
// sm_52 it uses sm_52, the oldest arch that CUDA 11.8 does not deprecate. The order of symbols
// depends on the lines on which they are declared.
func assemble(t *testing.T, ptxas, arch, text string, flags ...string) (map[string][]byte, error) {
	t.Helper()
	if n, err := strconv.Atoi(strings.TrimPrefix(arch, "sm_")); err == nil && n < 52 {
		arch = "sm_52"
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.ptx"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(ptxas, append(flags, "--gpu-name", arch, "-o", "out.cubin", "in.ptx")...)
	cmd.Dir = dir
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s\n%s", err, msg, text)
	}
	return codeAndData(t, filepath.Join(dir, "out.cubin")), nil
}

func codeAndData(t *testing.T, cubin string) map[string][]byte {
	t.Helper()
	b, err := os.ReadFile(cubin)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b[20:], uint32(elf.EV_CURRENT)) // elf.NewFile rejects the version that the toolkit writes
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".text") && !strings.HasPrefix(s.Name, ".nv.constant") && s.Name != ".nv.global.init" {
			continue
		}
		if out[s.Name], err = s.Data(); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) == 0 {
		t.Fatal("no code in the cubin")
	}
	return out
}
