package gen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/purecuda/cuda/ptx/nvrtc"
)

// Compiler configures how CUDA sources are compiled to PTX.
type Compiler struct {
	NVCC  string   // path or name of nvcc; "" means to search for it
	NVRTC bool     // use NVRTC even if nvcc is available
	Arch  string   // virtual architecture, such as compute_70
	Flags []string // additional flags that precede the file name
}

// compile returns the PTX of a CUDA source. It uses nvcc or, if there is none, NVRTC. The
// error contains the compiler output with file and line.
func (c *Compiler) compile(path string) ([]byte, error) {
	nvcc, err := c.find()
	if c.NVRTC || err != nil && c.NVCC == "" {
		text, rtc := c.compileNVRTC(path)
		if errors.Is(rtc, nvrtc.ErrNotInstalled) && !c.NVRTC {
			rtc = fmt.Errorf("there is no compiler for CUDA sources: %w; %w", err, rtc)
		}
		if rtc != nil {
			return nil, place{file: path}.errorf("%w", rtc)
		}
		return text, nil
	}
	if err != nil {
		return nil, place{file: path}.errorf("%w", err)
	}
	dir, err := os.MkdirTemp("", "ptx2go")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out.ptx")
	args := append([]string{"-ptx", "-arch=" + c.arch(), "-o", out}, c.Flags...)
	cmd := exec.Command(nvcc, append(args, path)...)
	printed, err := cmd.CombinedOutput()
	if err != nil {
		return nil, place{file: path}.errorf("%v: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(printed))
	}
	return os.ReadFile(out)
}

// arch returns the virtual architecture in the form that nvcc accepts.
func (c *Compiler) arch() string {
	if c.Arch == "" {
		return "compute_70"
	}
	if rest, ok := strings.CutPrefix(c.Arch, "sm_"); ok {
		return "compute_" + rest
	}
	return c.Arch
}

// find searches for nvcc: the configured name, the PATH, and the usual folders of
// toolkits.
func (c *Compiler) find() (string, error) {
	names := []string{c.NVCC}
	if c.NVCC == "" {
		names = []string{"nvcc"}
		for _, v := range []string{"CUDA_HOME", "CUDA_PATH"} {
			if dir := os.Getenv(v); dir != "" {
				names = append(names, filepath.Join(dir, "bin", "nvcc"))
			}
		}
		names = append(names, "/usr/local/cuda/bin/nvcc")
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("nvcc was not found (%s); give its path with -nvcc, or compile elsewhere and pass the .ptx file", strings.Join(names, ", "))
}
