package gputest

import (
	"os"
	"runtime"
	"testing"
)

// TempDir is like t.TempDir, for tests that also run under Wine, where Go cannot delete some files.
// If a folder cannot be removed on Windows, TempDir leaves it behind without failing the test.
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
