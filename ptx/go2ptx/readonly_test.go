package go2ptx

import (
	"strings"
	"testing"
)

const accesses = `package p

import "github.com/purecuda/cuda/ptx/gpu"

// through reads a and writes b through a local slice that is one of two.
//
//gpu:kernel
func through(t gpu.Thread, a, b, c []float32, p *int32, v gpu.View[uint16]) {
	s := b
	if a[0] > 1 {
		s = c
	}
	s[t.GlobalX()] = a[1] + float32(*p) + float32(v.At(0))
}

//gpu:kernel
func atomics(t gpu.Thread, n []int32, m, k []uint32) {
	gpu.AtomicAdd(&n[0], 1)
	m[gpu.AtomicLoad(&k[0])]++
}

// list writes to memory whose address it reads from first.
//
//gpu:kernel
func list(t gpu.Thread, first []gpu.View[int32]) { first[0].Set(0, 1) }

//gpu:noinline
func set(x []int32) { x[0] = 1 }

//gpu:kernel
func calls(t gpu.Thread, x []int32, y []uint32) {
	set(x)
	gpu.PTX("st.u32 [%0], 1;", gpu.Addr(&y[0]))
}

//gpu:kernel
func unused(t gpu.Thread, x []int32, n int, last *float64) { *last = 1 }
`

// The launchers declare which memory a kernel only reads. A pointer that is passed to a function or
// to inline PTX does not count as read-only, because the callee may write through it.
func TestMemoryThatIsOnlyRead(t *testing.T) {
	out, err := Compile(Config{PTXFile: "p_gpu.ptx", Package: Package{Path: "p", Files: []File{{"p.go", []byte(accesses)}}}})
	if err != nil {
		t.Fatal(err)
	}
	const r, w = "driver.Reads", "driver.ReadsWrites"
	for name, want := range map[string][]string{
		"through": {r, w, w, r, r},
		"atomics": {w, w, w},
		"list":    {r},
		"calls":   {w, w},
		"unused":  {r, "0", w},
	} {
		if call := `gpuCalls(c, "` + name + `", ` + strings.Join(want, ", ") + ")\n"; !strings.Contains(string(out.Go), call) {
			t.Errorf("the output does not contain %s", call)
		}
	}
	if t.Failed() {
		t.Logf("%s", out.Go)
	}
}
