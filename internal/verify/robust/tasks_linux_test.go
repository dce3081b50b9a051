package robust

import (
	"os"
	"strconv"
	"testing"
)

func tasks(t *testing.T) map[int]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	ok(t, err)
	ids := make(map[int]bool)
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		ok(t, err)
		ids[id] = true
	}
	return ids
}
