// Package fill contains the kernels of kernels.Fill, one for each size of elements.
package fill

//lint:file-ignore SA4006,SA4008 staticcheck takes Rolled for a function that never returns, as on the host

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

//gpu:kernel block=256 name=fill_b8
func fill8(t gpu.Thread, dst, n uint64, v uint8) { fill(t, dst, n, v) }

// The host passes the value of the larger elements in their own type. A launch accepts an integer and
// a float for the same parameter only if the parameter is an array.

//gpu:kernel block=256 name=fill_b16
func fill16(t gpu.Thread, dst, n uint64, v [2]uint8) {
	fill(t, dst, n, uint16(v[1])<<8|uint16(v[0]))
}

//gpu:kernel block=256 name=fill_b32
func fill32(t gpu.Thread, dst, n uint64, v [2]uint16) {
	fill(t, dst, n, uint32(v[1])<<16|uint32(v[0]))
}

//gpu:kernel block=256 name=fill_b64
func fill64(t gpu.Thread, dst, n uint64, v [2]uint32) {
	fill(t, dst, n, uint64(v[1])<<32|uint64(v[0]))
}

// fill sets each element to v.
func fill[B pack.Bits](t gpu.Thread, dst, n uint64, v B) {
	each := pack.Full[B]()
	var x pack.Elements[B]
	for k := range each {
		x[k] = v
	}
	pack.Each[B](t, dst, n, each, func(p pack.Part) {
		if p.Complete {
			pack.Store(p, dst, each, &x)
			return
		}
		part := gpu.ViewAt[B](dst, int(n))
		for k, high := p.Range(); k < high; k++ {
			pack.Rolled()
			part.Set(p.First+int(k), v)
		}
	})
}
