package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestKernelRowsAreTheLines(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(list, []byte("kernels/fill.ptx fill_b8 1 1 1 256 1 1 3 -1 8 1 \n"), 0o666); err != nil {
		t.Fatal(err)
	}
	rows, err := kernelRows(list)
	if err != nil || len(rows) != 1 || rows[0].name != "fill_b8" || rows[0].title != "3" {
		t.Errorf("%v, %v", rows, err)
	}
}

// The report must fail if one kernel is above its budget in almost every turn. It must also
// fail if there are too few turns to judge.
func TestKernelReportNamesTheBudget(t *testing.T) {
	old := rows
	defer func() { rows = old }()
	rows = []row{{name: "a", title: "3"}, {name: "b", title: "3"}, {name: "c", title: "13"}}
	turns := func(n, above int) *results {
		same, slow := slices.Repeat([]float64{10}, n), slices.Repeat([]float64{10}, n)
		for i := range above {
			slow[i] = 12
		}
		r := of("a", map[string][]float64{inC: same, inGo: same})
		for name, ns := range map[string][]float64{"b": same, "c": slow} {
			r.rows[name] = of(name, map[string][]float64{inC: same, inGo: ns}).rows[name]
		}
		return r
	}
	var out strings.Builder
	if !kernelReport(&out, turns(enoughTurns, enoughTurns/2)) {
		t.Errorf("a kernel that is within the budget in half of the turns:\n%s", out.String())
	}
	out.Reset()
	if kernelReport(&out, turns(enoughTurns, enoughTurns-1)) || !strings.Contains(out.String(), "MISSED") || !strings.Contains(out.String(), "| c | 13 |") {
		t.Errorf("a kernel that is above the budget in all turns but one:\n%s", out.String())
	}
	out.Reset()
	if kernelReport(&out, turns(enoughTurns-1, 0)) || !strings.Contains(out.String(), "too few") {
		t.Errorf("too few turns:\n%s", out.String())
	}
}
