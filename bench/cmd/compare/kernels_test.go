package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKernelRowsAreTheLines(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(list, []byte("/tmp/fill.ptx fill_b8 1 1 1 256 1 1 3 -1 8 1 \n"), 0o666); err != nil {
		t.Fatal(err)
	}
	rows, err := kernelRows(list)
	if err != nil || len(rows) != 1 || rows[0].name != "fill_b8" || rows[0].title != "3" {
		t.Errorf("%v, %v", rows, err)
	}
}

// One kernel that is above its budget in every turn is enough to miss it.
func TestKernelReportNamesTheBudget(t *testing.T) {
	old := rows
	defer func() { rows = old }()
	rows = []row{{name: "a", title: "3"}, {name: "b", title: "3"}, {name: "c", title: "13"}}
	r := of("a", map[string][]float64{inC: {10, 10, 10}, inGo: {10, 10, 10}})
	for name, ns := range map[string][]float64{"b": {10, 10, 10}, "c": {12, 12, 10}} {
		r.rows[name] = of(name, map[string][]float64{inC: {10, 10, 10}, inGo: ns}).rows[name]
	}
	var out strings.Builder
	if !kernelReport(&out, r) {
		t.Errorf("a kernel that is within the budget in one of three turns:\n%s", out.String())
	}
	r.rows["c"][inGo][2].nanoseconds = 12
	out.Reset()
	if kernelReport(&out, r) || !strings.Contains(out.String(), "MISSED") || !strings.Contains(out.String(), "| c | 13 |") {
		t.Errorf("a kernel that is above the budget in all turns:\n%s", out.String())
	}
}
