package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestQuantileLiesBetweenElements(t *testing.T) {
	v := []float64{40, 10, 30, 20}
	for q, want := range map[float64]float64{0: 10, 0.25: 17.5, 0.5: 25, 1: 40} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

// of returns results for one row. The map has one measurement per round for each caller.
func of(row string, byCaller map[string][]float64) *results {
	r := newResults()
	r.rows[row] = map[string][]measurement{}
	for caller, times := range byCaller {
		for _, ns := range times {
			r.rows[row][caller] = append(r.rows[row][caller], measurement{nanoseconds: ns})
		}
	}
	return r
}

func TestBudgetIsOfTheRatiosWithinARound(t *testing.T) {
	// The machine becomes twice as slow halfway through, but the ratio does not change.
	r := of("x", map[string][]float64{inC: {100, 100, 200}, inGo: {104, 104, 208}})
	if missed := (row{name: "x", ratio: 1.05}).missed(r); len(missed) > 0 {
		t.Errorf("missed %v", missed)
	}
	if missed := (row{name: "x", ratio: 1.03}).missed(r); len(missed) != 1 {
		t.Errorf("missed %v, want the ratio", missed)
	}
}

func TestSlowerThanCgoIsSlowerInMostRounds(t *testing.T) {
	row := row{name: "x", vsCgo: true}
	even := of("x", map[string][]float64{inC: {9, 9, 9, 9}, inGo: {10, 11, 10, 11}, cgo: {11, 10, 11, 10}})
	if missed := row.missed(even); len(missed) > 0 {
		t.Errorf("equal speed: missed %v", missed)
	}
	slower := of("x", map[string][]float64{inC: {9, 9, 9, 9}, inGo: {12, 12, 12, 12}, cgo: {11, 10, 11, 10}})
	if missed := row.missed(slower); len(missed) != 1 {
		t.Errorf("slower: missed %v", missed)
	}
}

func TestRatioToCgoIsABudget(t *testing.T) {
	r := of("x", map[string][]float64{inC: {50, 50}, inGo: {109, 109}, cgo: {100, 100}})
	if missed := (row{name: "x", overCgo: 1.10}).missed(r); len(missed) > 0 {
		t.Errorf("missed %v", missed)
	}
	if missed := (row{name: "x", overCgo: 1.08}).missed(r); len(missed) != 1 {
		t.Errorf("missed %v, want the ratio to cgo", missed)
	}
}

func TestTimeBudgetStillCountsAllocations(t *testing.T) {
	r := of("x", map[string][]float64{inC: {50}, inGo: {60}})
	r.rows["x"][inGo][0].allocs = 3
	if missed := (row{name: "x", atMost: 100, allocs: 2}).missed(r); len(missed) != 1 {
		t.Errorf("missed %v, want the allocations", missed)
	}
}

func TestAllocationMissesTheBudget(t *testing.T) {
	r := of("x", map[string][]float64{inC: {1}, inGo: {1}})
	r.rows["x"][inGo][0].allocs = 1
	if missed := (row{name: "x"}).missed(r); len(missed) != 1 {
		t.Errorf("missed %v", missed)
	}
}

func TestRowThatWasNotMeasuredIsNoSuccess(t *testing.T) {
	r := newResults()
	r.starts = map[string][]float64{inC: {1e8}, inGo: {1.01e8}}
	callers := []*caller{{name: inC}, {name: inGo}}
	var out bytes.Buffer
	if report(&out, "", plan{rounds: 1, turns: 1, starts: 1}, callers, r) {
		t.Error("a report without measurements kept every budget")
	}
	if !strings.Contains(out.String(), "not measured") {
		t.Errorf("the report does not say so:\n%s", out.String())
	}
}

func TestTimesLessIsAgainstTheOtherRow(t *testing.T) {
	r := of("x", map[string][]float64{inC: {10, 10}, inGo: {10, 10}})
	r.rows["y"] = map[string][]measurement{inGo: {{nanoseconds: 250}, {nanoseconds: 250}}}
	if missed := (row{name: "x", lessThan: "y", times: 20}).missed(r); len(missed) > 0 {
		t.Errorf("missed %v", missed)
	}
	if missed := (row{name: "x", lessThan: "y", times: 30}).missed(r); len(missed) != 1 {
		t.Errorf("missed %v, want the factor", missed)
	}
}

func TestIntervalIsAroundTheMedian(t *testing.T) {
	var v []float64
	for i := range 100 {
		v = append(v, float64(99-i))
	}
	if low, high := interval(v); low != 40 || high != 59 {
		t.Errorf("interval of 0 to 99: %v to %v, want 40 to 59", low, high)
	}
	if low, high := interval([]float64{3}); low != 3 || high != 3 {
		t.Errorf("interval of 3: %v to %v", low, high)
	}
}
