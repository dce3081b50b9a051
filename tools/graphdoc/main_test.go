package main

import (
	"slices"
	"strings"
	"testing"
)

func TestThereAreNinetyFunctions(t *testing.T) {
	fs, err := functions()
	if err != nil {
		t.Fatal(err)
	}
	if len(fs) != 90 {
		t.Errorf("%d functions", len(fs))
	}
	for _, f := range fs {
		if len(f.since) == 0 || strings.HasPrefix(f.name, "cuGraphics") {
			t.Errorf("%+v", f)
		}
	}
}

// The module in testdata calls C functions in every way that the tool must recognise.
func TestCallsAreReadFromTheSource(t *testing.T) {
	pkgs, err := load("testdata/small", "driver/cu", "driver", "graph")
	if err != nil {
		t.Fatal(err)
	}
	c := read(pkgs)
	for name, want := range map[string][]string{
		"cuGraphCreate":                     {"graph.New"},
		"cuGraphDestroy":                    {"graph.Graph.Close"},
		"cuGraphClone":                      {"driver.Clone.Enqueue"},
		"cuGraphGetNodes":                   {"graph.Graph.Nodes"},
		"cuGraphGetEdges":                   {"graph.Graph.Edges"},
		"cuGraphUpload":                     nil,
		"cuGraphInstantiate":                {"graph.Graph.Instantiate"},
		"cuGraphInstantiateWithFlags":       {"graph.Graph.Instantiate"},
		"cuGraphLaunch":                     {"graph.Graph.Launch"},
		"cuThreadExchangeStreamCaptureMode": {"driver.Driver.Guarded"},
	} {
		var got []string
		for _, f := range c.api(name) {
			got = append(got, nameOf(f))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestEveryFunctionHasARow(t *testing.T) {
	c, err := callsOf("../..")
	if err != nil {
		t.Fatal(err)
	}
	graphs, err := tableOf(c, functions)
	if err != nil {
		t.Fatal(err)
	}
	all, err := tableOf(c, driverFunctions)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 449 {
		t.Errorf("%d functions, cuda.h 13.0 has 449", len(all))
	}
	for _, d := range []struct {
		tab  table
		text string
	}{{graphs, string(graphs.markdown())}, {all, string(all.driverMarkdown())}} {
		for i, r := range d.tab {
			if n := strings.Count(d.text, "| `"+r.name+"` |"); n != 1 {
				t.Errorf("%s has %d rows", r.name, n)
			}
			if i > 0 && len(r.api) > 0 && strings.Contains(strings.Join(r.api, " "), "Driver.Cu") {
				t.Errorf("%s: %v", r.name, r.api)
			}
		}
	}
}

func TestFunctionsThatNothingCallsAreNamed(t *testing.T) {
	tab := table{{function{name: "cuGraphLaunch"}, []string{"graph.Exec.Launch"}}, {function{name: "cuGraphClone"}, nil}}
	if err := tab.complete(); err == nil || !strings.Contains(err.Error(), "cuGraphClone") || strings.Contains(err.Error(), "cuGraphLaunch") {
		t.Errorf("got %v", err)
	}
	if err := tab[:1].complete(); err != nil {
		t.Error(err)
	}
}
