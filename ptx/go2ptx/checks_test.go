package go2ptx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// checksOf returns the checks that remain in a kernel with this body.
func checksOf(t *testing.T, body string) (n int, remarks []string) {
	t.Helper()
	text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n//gpu:kernel block=256\n" +
		"func k(t gpu.Thread, x, y []float32, n, m int, q []int32) {\n\ti := t.GlobalX()\n\t_ = i\n" + body + "\n}\n"
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", GoVersion: "1.25", Files: []go2ptx.File{{Name: "k.go", Data: []byte(text)}}}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, r := range out.Remarks {
		if s := fmt.Sprint(r); strings.Contains(s, "check remains") && !strings.Contains(s, "nil check") {
			remarks = append(remarks, s)
			times := 1
			if _, after, ok := strings.Cut(s, "remains ("); ok {
				if _, err := fmt.Sscan(after, &times); err != nil {
					t.Fatal(err)
				}
			}
			n += times
		}
	}
	return n, remarks
}

// Checks that cannot fail must be removed.
func TestRemovedChecks(t *testing.T) {
	for _, body := range []string{
		"if i < len(x) { x[i] = 1 }",
		"if i+4 <= len(x) { x[i], x[i+1], x[i+2], x[i+3] = 1, 2, 3, 4 }",
		"if i >= len(x) || i >= len(y) { return }; x[i] = y[i]",
		"for j := i; j < len(x); j += t.GridStrideX() { x[j] = 1 }",
		"for j := len(x) - 1; j >= 0; j-- { x[j] = 1 }",
		"for j := range x { x[j] = 1 }",
		"for j := range min(len(x), len(y)) { x[j] = y[j] }",
		"for j := 0; j < len(x)/4; j++ { x[4*j], x[4*j+3] = 1, 2 }",
		"n4 := len(x) / 4; for j := i; j < n4; j += t.GridStrideX() { x[4*j+3] = 2 }",
		"if i >= 1 && i+1 < len(x) { x[i-1], x[i+1] = 1, 1 }",
		"s := gpu.Shared[[256]float32](t); s[t.ThreadX()] = 1; s[255-t.ThreadX()] = 1",
		"s := gpu.Shared[[8]float32](t); s[t.ThreadX()/32] = 1; s[t.Warp()] = 1",
		"s := gpu.Shared[[1024]float32](t); for j := t.ThreadX(); j < len(s); j += t.BlockDimX() { var v float32; for a := j; a < len(x); a += 1024 { v += x[a] }; s[j] = v }",
		"s := gpu.Shared[[256]float32](t); for half := len(s) / 2; half > 0; half /= 2 { t.Sync(); if t.ThreadX() < half { s[t.ThreadX()] += s[t.ThreadX()+half] } }",
		"s := gpu.Shared[[16][17]float32](t); for r := range 16 { for c := range 16 { s[r][c] = s[c][r] } }",
		"if n <= len(x) { for j := range n { x[j] = 1 } }",
		"if n > len(x) { return }; for j := i; j < n; j += 256 { x[j] = 1 }",
		"if i < len(x) && n >= 0 && n <= i { x[i-n] = 1 }",
		"if v := uint(m); v < uint(len(x)) { x[v] = 1 }",
		"if m >= 0 && m < len(x) { _ = x[:m]; _ = x[m:] }",
		"if len(x) == len(y) && i < len(x) { x[i] = y[i] }",
		"if len(x) > 0 { x[0] = 1 }",
		"s := gpu.Shared[[512]float32](t); z := uint32(t.ThreadX()); s[2*z-z&7+8] = 1",
		"s := gpu.Shared[[512]float32](t); z := int32(t.ThreadX()); s[2*z-z&63+64] = 1; s[z-z&15+256] = 1",
		"if len(x) != 0 { x[0] = x[len(x)-1] }",
		"if i < len(x) && i < m { if m < len(y) { y[i] = 1 } }",
		"if i < len(x) { for a := range min(4, len(x)-i) { x[i+a] = 1 } }",
		"if i < len(x) { v := x[i:]; v[0] = 1; _ = v[:1] }",
		"if i < len(x) { j := max(i-1, 0); x[j] = 1 }",
		"if k := uint32(n); k != 0 && i < len(x) { x[i] = float32(uint32(m) % k) }",
		"if i < len(x) { if n == 0 { x[i] = 0 } else { x[i] = float32(m / n) } }",
		"var j int; if m > 0 { j = i } else { j = 0 }; if i < len(x) { x[j] = 1 }",
		"s := gpu.Shared[[2]float32](t); a := 0; for range n { s[a] = 1; a ^= 1 }",
		"s := gpu.Shared[[8]float32](t); a := 1; for range n { s[a] = 1; a = a&2 | 4 }",
		"s := gpu.Shared[[8]float32](t); s[t.ThreadX()&5^2|1] = 1",
	} {
		if n, left := checksOf(t, "\t"+body); n > 0 {
			t.Errorf("%s: %s", body, left)
		}
	}
}

// The check of one slice expression must cover all accesses to the slice in a loop.
func TestChecksOfSlicesCoverLoops(t *testing.T) {
	for body, want := range map[string]int{
		"row := x[i*n:][:n]; for j := range row { row[j] = 1 }":                                                      2,
		"row := x[i*n:][:n]; for j := t.ThreadX(); j < len(row); j += 256 { row[j] = 1 }":                            2,
		"u, v := x[i*n:][:n], y[i*n:][:n]; for j := t.Lane(); j < n; j += 32 { u[j] = v[j] }":                        4,
		"row := x[i*n:][:n]; for j := t.ThreadX(); j < len(row); j += 256 { row[j], row[len(row)-1-j] = 1, row[0] }": 2,
	} {
		if n, left := checksOf(t, "\t"+body); n != want {
			t.Errorf("%s: %d checks remain, want %d: %s", body, n, want, left)
		}
	}
}

// A multiple of a number that is not negative is at least the number, and multiples have the order of their
// numbers, unless a product can overflow.
func TestChecksOfMultiples(t *testing.T) {
	for body, want := range map[string]int{
		"if n < 0 || n > 1<<20 || 4*n > len(x) { return }; v := x[:4*n]; for j := range n { v[j] = 1 }":    0,
		"if n < 0 || n > 1<<20 || 3*n > len(x) { return }; v := x[:3*n]; for j := range n { v[j] = 1 }":    0,
		"if n < 0 || n > 1<<20 || 4*n > len(x) { return }; v := x[:4*n]; for j := range n { _ = v[4*j:] }": 0,
		"if n < 0 || n > 1<<20 || 4*n > len(x) { return }; v := x[:4*n]; for j := range n { _ = v[5*j:] }": 1,
		"if n < 0 || n > 1<<20 || 4*n > len(x) { return }; v := x[:4*n]; for j := range n { v[j+1] = 1 }":  1,
		// If the condition always holds, the check is never reached.
		"if n < 0 || n > 1<<20 || 4*n >= n { return }; x[0] = 1":      0,
		"if n < 0 || 4*n >= n { return }; x[0] = 1":                   1, // the product can overflow
		"if n < -1<<20 || n > 1<<20 || 4*n >= n { return }; x[0] = 1": 1, // the number can be negative
	} {
		if n, left := checksOf(t, "\t"+body); n != want {
			t.Errorf("%s: %d checks remain, want %d: %s", body, n, want, left)
		}
	}
}

// If one index that is limited to a row is in it, the row is not empty, so that all such indices are in it.
func TestChecksOfLimitedIndices(t *testing.T) {
	for body, want := range map[string]int{
		"v := x[:n]; v[min(max(m-1, 0), n-1)] = 1":                                                             2,
		"v := x[:n]; for d := range 5 { v[min(max(m+d, 0), n-1)] = 1 }":                                        2,
		"w := int32(n); v := x[:w]; for d := range int32(5) { v[min(max(int32(m)+d, 0), w-1)] = 1 }":           2,
		"v := x[:n]; v[min(max(m-1, 0), n-1)], v[min(max(m, 0), n)] = 1, 2":                                    3,
		"if max(n, m) <= 4 && n >= 0 && len(x) > 4 { x[n] = 1 }; if min(n, m) >= 0 && n < len(y) { y[n] = 1 }": 0,
	} {
		if n, left := checksOf(t, "\t"+body); n != want {
			t.Errorf("%s: %d checks remain, want %d: %s", body, n, want, left)
		}
	}
}

// Checks that can fail must remain, even if similar facts are known.
func TestRemainingChecks(t *testing.T) {
	for _, body := range []string{
		"if i < len(x) { y[i] = 1 }",
		"if i <= len(x) { x[i] = 1 }",
		"if i+3 <= len(x) { x[i+3] = 1 }",
		"if n < len(x) { x[n] = 1 }",
		"if i < len(x) { x[i-1] = 1 }",
		"if i < len(x) { x[i+1] = 1 }",
		"for j := i; j < n; j += t.GridStrideX() { if j < len(x) { x[j] = 1 } }", // j can overflow
		"for j := n; j >= 0; j-- { x[j] = 1 }",
		"for j := n; j < len(x); j++ { x[j] = 1 }",
		"for j := 0; j < len(x)/4; j++ { x[4*j+4] = 1 }",
		"for j := 0; j < len(x)/4+1; j++ { x[4*j] = 1 }",
		"for j := 0; j < len(x); j += m { x[j] = 1 }",
		"if n+m < len(x) && n >= 0 && m >= 0 { x[n+m] = 1 }", // the sum can overflow
		"s := gpu.Shared[[255]float32](t); s[t.ThreadX()] = 1",
		"s := gpu.Shared[[7]float32](t); s[t.ThreadX()/32] = 1",
		"s := gpu.Shared[[256]float32](t); for half := len(s) / 2; half > 0; half /= 2 { s[t.ThreadX()+half] = 1 }",
		"if n <= len(x) { for j := range n + 1 { x[j] = 1 } }",
		"if v := int32(m); v < int32(len(x)) && v >= 0 { x[v] = 1 }", // the conversion truncates the length
		"if v := uint(m); v <= uint(len(x)) { x[v] = 1 }",
		"if m >= 0 && m <= len(x) { _ = x[:m+1] }",
		"if len(x) != len(y) && i < len(x) { x[i] = y[i] }",
		"if len(x) >= 0 { x[0] = 1 }",
		"s := gpu.Shared[[511]float32](t); z := uint32(t.ThreadX()); s[2*z-z&7+8] = 1",
		"s := gpu.Shared[[495]float32](t); z := int32(t.ThreadX()); s[z-z&15+255] = 1",
		"s := gpu.Shared[[504]float32](t); z := min(uint32(t.ThreadX()), 254); s[z-z&6+255] = 1", // 249 without the bits 6 is 249
		"s := gpu.Shared[[512]float32](t); z := uint32(t.ThreadX()); s[2*z-uint32(n)&7+8] = 1",
		"if i < len(x) { j := max(i+1, 0); x[j] = 1 }",
		"j := i; if j < len(x) { for range m { x[j] = 1; j++ } }", // the condition applies only to the first iteration
		"j := 0; for range m { if j+1 < len(x) { y[j] = 1 }; j++ }",
		"for a := range n { if int(q[0]) < len(x) { y[a] = 1 } }",
		"s := gpu.Shared[[2]float32](t); a := 0; for range n { s[a] = 1; a ^= 2 }",
		"s := gpu.Shared[[2]float32](t); a := 2; for range n { s[a] = 1; a ^= 1 }",
		"s := gpu.Shared[[2]float32](t); a := m; for range n { s[a] = 1; a ^= 1 }",
		"s := gpu.Shared[[7]float32](t); s[t.ThreadX()&5^2|1] = 1",
		"if max(n, m) >= 0 && n < len(x) { x[n] = 1 }",
		"if min(n, m) <= 4 && n >= 0 { if len(x) > 4 { x[n] = 1 } }",
	} {
		if n, _ := checksOf(t, "\t"+body); n == 0 {
			t.Errorf("%s: no check remains", body)
		}
	}
}

// NoBounds removes the checks of indices, slices, conversions to arrays and the alignment of vectors.
// Without them, the kernel needs no code that records a failure. The directive does the same in one
// function.
func TestNoBounds(t *testing.T) {
	const head = "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n"
	const body = "(t gpu.Thread, x []float32, i, n int) {\n\tv := *(*[4]float32)(x[i:n])\n\tv[0] += x[n]\n\t*(*[4]float32)(x[n:]) = v\n}\n"
	compile := func(text string, off bool) (int, string) {
		t.Helper()
		out, err := go2ptx.Compile(go2ptx.Config{NoBounds: off, Package: go2ptx.Package{Path: "p", GoVersion: "1.25", Files: []go2ptx.File{{Name: "k.go", Data: []byte(head + text)}}}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Kernels[0].Checks, string(out.PTX)
	}
	kernel := "//gpu:kernel block=256\nfunc k" + body
	if n, text := compile(kernel, false); n < 5 || !strings.Contains(text, "ld.global.v4.f32") {
		t.Errorf("with checks, there are %d checks:\n%s", n, text)
	}
	if n, text := compile(kernel, true); n != 0 || strings.Contains(text, "purecuda") || !strings.Contains(text, "ld.global.v4.f32") {
		t.Errorf("without checks, there are %d checks:\n%s", n, text)
	}
	if n, text := compile("//gpu:kernel block=256\nfunc k(t gpu.Thread, x []float32, i, n int) { part(t, x, i, n) }\n\n//gpu:nobounds\nfunc part"+body, false); n != 0 {
		t.Errorf("without checks in the function, there are %d checks:\n%s", n, text)
	}
}
