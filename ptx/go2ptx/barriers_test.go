package go2ptx_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

const (
	fine   = ""
	guard  = "does not wait for threads that return"
	maybe  = "not all threads of a block may reach this barrier"
	refuse = "only some threads of a block reach this barrier"
)

// barrierRows lists kernel bodies and what the compiler reports about the barrier in line 7.
var barrierRows = []struct{ options, before, after, want string }{
	{"block=256", "if t.ThreadX() < 7 {", "}; x[1]++", refuse},
	{"block=256", "if t.ThreadX() < 7 { x[0]++ } else {", "}; x[1]++", refuse},
	{"block=16x16", "if t.ThreadY() == 3 {", "}; x[1]++", refuse},
	{"block=256", "if t.Warp() == 1 {", "}; x[1]++", refuse},
	{"block=256", "if t.Lane() == 0 {", "}; x[1]++", refuse},
	{"block=256", "if n > 3 && t.ThreadX()%2 == 0 {", "}; x[1]++", refuse},
	{"block=256", "for i := range n { if t.ThreadX() < 7 {", "}; x[i]++ }; x[1]++", refuse},
	{"block=256", "i := t.ThreadX(); small := i < 64; if small { if i >= 32 {", "}; x[1]++ }", refuse},
	{"block=256", "if i := t.ThreadX(); i > 300 { x[0]++ } else if i > 100 {", "}; x[1]++", refuse},
	// All threads may reach the barrier, but that is not certain.
	{"", "if t.ThreadX() < 7 {", "}; x[1]++", maybe},
	{"maxblock=256", "if t.ThreadX() < 7 {", "}; x[1]++", maybe},
	{"block=256", "if t.GlobalX() < 7 {", "}; x[1]++", maybe},
	{"block=256", "if t.GlobalX() < n {", "}; x[1]++", maybe},
	{"block=256", "if t.ThreadX() < n {", "}; x[1]++", maybe},
	{"block=256", "if t.ThreadX() < 7 || n > 3 {", "}; x[1]++", maybe},
	{"block=256", "for i := t.ThreadX(); i < n; i += 256 {", "}; x[1]++", maybe},
	{"block=256", "if x[t.ThreadX()] > 3 { if t.ThreadX() < 7 {", "}; x[2]++ }; x[1]++", maybe},
	{"block=256", "if t.ThreadX() < n { if n > 3 {", "}; x[2]++ }; x[1]++", maybe},
	{"block=256", "if t.ThreadX() < 7 { if n > 3 {", "}; x[2]++ }; x[1]++", refuse},
	// Threads that have returned do not take part in the barrier.
	{"block=256", "i := t.GlobalX(); if i >= n { return }", "x[i]++", guard},
	{"block=256", "if t.ThreadX() >= 7 { return }", "x[1]++", guard},
	{"block=256", "if t.ThreadX() < 7 {", "}", guard},
	{"block=256", "i := t.ThreadX(); if i >= 32 { return }; if i < 64 {", "}; x[1]++", guard},
	// All threads reach the barrier.
	{"block=256", "if t.ThreadX() < 2000 {", "}; x[1]++", fine},
	{"block=256", "if t.ThreadX() >= 2000 { return }", "x[1]++", fine},
	{"block=32", "if t.Warp() == 0 {", "}; x[1]++", fine},
	{"block=1", "if t.ThreadX() == 0 {", "}; x[1]++", fine},
	{"block=256", "if n > 7 {", "}; x[1]++", fine},
	{"block=256", "if t.BlockX() < 7 {", "}; x[1]++", fine},
	{"block=256", "if t.ThreadX() < 7 { x[0]++ }", "x[1]++", fine},
	{"block=256", "for s := 128; s > 0; s /= 2 { if i := t.ThreadX(); i < s { x[i] += x[i+s] }", "}", fine},
}

func TestBarriersInDivergentCode(t *testing.T) {
	for _, row := range barrierRows {
		for _, barrier := range []string{"t.Sync()", "_ = t.SyncCount(n > 1)"} {
			t.Run(row.options+" "+row.before+barrier, func(t *testing.T) {
				text := fmt.Sprintf("package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n//gpu:kernel %s\nfunc k(t gpu.Thread, x []int32, n int) {%s\n\t%s\n%s\n}\n",
					row.options, row.before, barrier, row.after)
				if got := barrierOf(t, text); row.want == fine && got != "" || row.want != fine && !strings.Contains(got, row.want) {
					t.Errorf("the compiler says %q, want %q", got, row.want)
				}
			})
		}
	}
}

// barrierOf returns what the compiler reports about the barrier in line 7.
func barrierOf(t *testing.T, text string) (said string) {
	t.Helper()
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
	var list go2ptx.Errors
	if errors.As(err, &list) {
		if len(list) != 1 || list[0].Pos.Line != 7 || list[0].Pos.Column < 2 || !strings.HasSuffix(list[0].Msg, "move it out of the condition in line 6") {
			t.Errorf("the errors are %v", err)
		}
		return list[0].Msg
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Remarks {
		if strings.Contains(r.Text, "barrier") {
			if r.Pos.Line != 7 || said != "" || !strings.HasSuffix(r.Text, "the condition in line 6") {
				t.Errorf("a remark: %v: %s", r.Pos, r.Text)
			}
			said = r.Text
		}
	}
	return said
}

// Not all threads of a block need to reach a barrier that specifies a thread count, or a barrier of
// a single warp.
func TestBarriersForSomeThreads(t *testing.T) {
	for _, barrier := range []string{"t.BarrierSync(1, 32)", "t.SyncWarp()"} {
		text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n//gpu:kernel block=256\nfunc k(t gpu.Thread, x []int32, n int) {\n\tif t.Warp() == 0 { " + barrier + " }\n\tx[1]++\n}\n"
		if _, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}}); err != nil {
			t.Errorf("%s: %v", barrier, err)
		}
	}
}

// An error about a barrier inside a library function must be reported at the call of that function.
func TestBarriersInTheLibrary(t *testing.T) {
	text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n//gpu:kernel block=256\nfunc k(t gpu.Thread, x []int32, n int) {\n\tif t.ThreadX() == 0 {\n\t\tt.GridSync()\n\t}\n\tx[1]++\n}\n"
	_, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
	if err == nil || !strings.HasPrefix(err.Error(), "p.go:8:") || !strings.Contains(err.Error(), refuse) {
		t.Errorf("%v", err)
	}
}
