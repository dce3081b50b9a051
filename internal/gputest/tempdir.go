package gputest

import (
	"os"
	"runtime"
	"testing"
)

// TempDir is t.TempDir for tests that are also run under Wine, which does not
// delete files the way Go asks: on Windows a folder that cannot be removed is
// left and fails nothing.
func TempDir(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "purecuda")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("left behind: %v", err)
		}
	})
	return dir
}
