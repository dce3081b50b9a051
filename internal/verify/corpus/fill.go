package corpus

import (
	"fmt"
	"hash/fnv"
)

// Fill describes the contents of a buffer before the launch. Random contents depend only on the
// names of the source, the kernel and the argument.
type Fill struct {
	Kind   string
	Params []float64
}

// fills maps each kind of Fill to its minimum and maximum number of parameters and to the function
// that writes element i.
var fills = map[string]struct {
	least, most int
	at          func(r *random, f Fill, e Elem, i, n int, dst []byte)
}{
	"zero":   {0, 0, func(*random, Fill, Elem, int, int, []byte) {}},
	"const":  {1, 1, func(_ *random, f Fill, e Elem, _, _ int, dst []byte) { e.put(dst, f.Params[0]) }},
	"ramp":   {0, 2, rampAt},
	"random": {0, 0, randomAt},
	"range":  {2, 2, rangeAt},
	"perm":   {0, 0, permAt},
	"text":   {0, 1, textAt},
}

func (f Fill) check() error {
	k, ok := fills[f.Kind]
	if !ok {
		return fmt.Errorf("%q is nothing that a buffer can hold", f.Kind)
	}
	if n := len(f.Params); n < k.least || n > k.most {
		return fmt.Errorf("%s takes %d to %d numbers, not %d", f.Kind, k.least, k.most, n)
	}
	return nil
}

// bytes returns the initial contents of the argument's buffer. seed may be any string, from which
// random contents are derived.
func (a *Arg) bytes(seed string) []byte {
	b := make([]byte, a.Count*a.Type.Size)
	r := newRandom(seed + "/" + a.Name)
	at := fills[a.Fill.Kind].at
	for i := range a.Count {
		at(r, a.Fill, a.Type, i, a.Count, b[i*a.Type.Size:])
	}
	return b
}

// rampAt implements ramp. The values count up from 0 in steps of 1. ramp(a) starts at a. ramp(a,b)
// starts at a and has steps of b.
func rampAt(_ *random, f Fill, e Elem, i, _ int, dst []byte) {
	start, step := 0.0, 1.0
	if len(f.Params) > 0 {
		start = f.Params[0]
	}
	if len(f.Params) > 1 {
		step = f.Params[1]
	}
	e.put(dst, start+float64(step*float64(i))) // the conversion prevents Go from fusing the operations
}

// randomAt implements random: any bit pattern for integers, numbers from -1 to 1 for floats.
func randomAt(r *random, f Fill, e Elem, _, _ int, dst []byte) {
	if e.IsFloat() {
		e.put(dst, float64(2*r.unit())-1)
		return
	}
	e.putBits(dst, r.next())
}

// rangeAt implements range(lo,hi): numbers from lo up to but not including hi. They are whole
// numbers for integer types.
func rangeAt(r *random, f Fill, e Elem, _, _ int, dst []byte) {
	lo, hi := f.Params[0], f.Params[1]
	if e.IsFloat() {
		e.put(dst, lo+float64((hi-lo)*r.unit()))
		return
	}
	e.put(dst, lo+float64(r.below(uint64(hi-lo))))
}

// permAt implements perm: the numbers 0 to n-1 in random order, by the Fisher-Yates shuffle.
func permAt(r *random, _ Fill, e Elem, i, n int, dst []byte) {
	if r.perm == nil {
		r.perm = make([]int, n)
		for i := range r.perm {
			j := int(r.below(uint64(i + 1)))
			r.perm[i], r.perm[j] = r.perm[j], i
		}
	}
	e.put(dst, float64(r.perm[i]))
}

// textAt implements text: lower-case letters starting at 'a'. Its parameter is the number of
// different letters, 26 by default.
func textAt(r *random, f Fill, e Elem, _, _ int, dst []byte) {
	letters := uint64(26)
	if len(f.Params) > 0 {
		letters = uint64(f.Params[0])
	}
	e.putBits(dst, 'a'+r.below(letters))
}

// random is a splitmix64 generator. Unlike the generators in Go's library, it must never change its
// numbers.
type random struct {
	state uint64
	perm  []int
}

func newRandom(seed string) *random {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return &random{state: h.Sum64()}
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *random) below(n uint64) uint64 { return r.next() % max(n, 1) }

func (r *random) unit() float64 { return float64(r.next()>>11) / (1 << 53) }
