//go:build nvidia

package nvidiatest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ptx2go runs the command ptx2go in a folder, with NVRTC 11.8 and without nvcc.
func ptx2go(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ptx2go")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/purecuda/cuda/ptx/ptx2go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	library := part(t, nvrtcLibrary)
	cmd.Env = append(os.Environ(), "PATH=", "CUDA_PATH=", "CUDA_HOME=", "GOPACKAGE=example", "NVCC=",
		"PURECUDA_NVRTC="+library, "LD_LIBRARY_PATH="+filepath.Dir(library))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The generated Go code must be the same whether NVRTC or nvcc compiles the source.
func TestNVIDIAPtx2goCompilesByNVRTC(t *testing.T) {
	dir := t.TempDir()
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err == nil {
		t.Fatal("nvcc is where it is looked for, so this would test nvcc")
	}
	example := "../../../ptx/ptx2go/internal/example/"
	source, err := os.ReadFile(example + "particles.cu")
	if err != nil {
		t.Fatal(err)
	}
	// Sources written for nvcc usually begin with these includes.
	source = append([]byte("#include <cuda_runtime.h>\n#include <cstdint>\n#include <stdio.h>\n#include <cmath>\n"), source...)
	if err := os.WriteFile(filepath.Join(dir, "particles.cu"), source, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := ptx2go(t, dir, "particles.cu"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := os.ReadFile(filepath.Join(dir, "particles_ptx.go"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(example + "particles_ptx.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, want) {
		t.Errorf("it makes\n%s", made)
	}
	text, err := os.ReadFile(filepath.Join(dir, "particles.ptx"))
	if err != nil || !strings.Contains(string(text), ".target sm_70") {
		t.Errorf("%v, text\n%.300s", err, text)
	}
}

func TestNVIDIAPtx2goSaysWhatNVRTCLacks(t *testing.T) {
	for source, want := range map[string]string{
		"#include <cuda_fp16.h>\n__global__ void k(__half *x) { x[0] = __float2half(1); }\n": "h.cu:1: could not open source file \"cuda_fp16.h\"",
		"__global__ void k(int *x) { x[0] = y; }\n":                                          "h.cu:1: identifier \"y\" is undefined",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "h.cu"), []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := ptx2go(t, dir, "h.cu")
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, output\n%s\nwant %q", err, out, want)
		}
		if strings.Contains(source, "fp16") && !strings.Contains(out, "pip: nvidia-cuda-runtime") {
			t.Errorf("it does not say what to install:\n%s", out)
		}
	}
}
