//go:build !static

package kernelfault_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/purecuda/cuda/internal/kernelfault"
	"github.com/purecuda/cuda/loader"
)

// If the output is a pipe, C keeps text in its buffer, which is lost if the program does not exit
// through C. Flush must write that text.
func TestFlushWritesTextToAPipe(t *testing.T) {
	const child = "PURECUDA_TEST_FLUSH"
	if os.Getenv(child) != "" {
		libc := must(loader.Open("libc.so.6"))(t)
		var c struct{ Puts func(text string) int32 }
		ok(t, loader.LookupAll(libc, nil, &c))
		c.Puts("first")
		ok(t, kernelfault.Flush())
		ok(t, kernelfault.Flush())
		c.Puts("second")
		ok(t, syscall.Kill(os.Getpid(), syscall.SIGKILL)) // with cgo, os.Exit would call C's exit
		select {}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFlushWritesTextToAPipe$")
	cmd.Env, cmd.Stderr = append(os.Environ(), child+"=1"), os.Stderr
	out, err := cmd.Output()
	var killed *exec.ExitError
	if !errors.As(err, &killed) || killed.ExitCode() != -1 {
		t.Errorf("the child ended with %v", err)
	}
	if string(out) != "first\n" {
		t.Errorf("the output is %q", out)
	}
}
