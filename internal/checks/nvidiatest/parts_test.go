//go:build nvidia

package nvidiatest

import (
	"os"
	"path/filepath"
	"testing"
)

// part returns the path of the only downloaded file that matches pattern.
func part(t *testing.T, pattern string) string {
	t.Helper()
	dir := os.Getenv("PURECUDA_NVIDIA_PARTS")
	if dir == "" {
		t.Fatal("PURECUDA_NVIDIA_PARTS does not name the folder that scripts/nvidia-parts.sh filled")
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%d files match %s in %s, want 1", len(found), pattern, dir)
	}
	return found[0]
}
