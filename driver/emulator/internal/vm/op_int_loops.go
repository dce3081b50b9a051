package vm

// Loops over the lanes for the most frequent integer instructions of kernels. Each has one loop for
// a full warp, which the compiler turns into code without bounds checks, and one loop over the bits
// of the mask.

//go:norace
//go:nocheckptr
func execAdd[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := 0; i < lanes; i += 4 {
			d[i] = a[i] + b[i]
			d[i+1] = a[i+1] + b[i+1]
			d[i+2] = a[i+2] + b[i+2]
			d[i+3] = a[i+3] + b[i+3]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] + b[i]
	}
}

//go:norace
//go:nocheckptr
func execSub[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] - b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] - b[i]
	}
}

//go:norace
//go:nocheckptr
func execMulLo[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] * b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] * b[i]
	}
}

//go:norace
//go:nocheckptr
func execMadLo[T integer](w *warp, in *inst, m uint32) {
	d, a, b, c := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b), col[T](w, in.c)
	if m == full {
		for i := range d {
			d[i] = a[i]*b[i] + c[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i]*b[i] + c[i]
	}
}

// execMulWide multiplies 32-bit columns of type T to 64 bits of type D.
//
//go:norace
//go:nocheckptr
func execMulWide[T uint32 | int32, D uint64 | int64](w *warp, in *inst, m uint32) {
	d, a, b := col[D](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = D(a[i]) * D(b[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = D(a[i]) * D(b[i])
	}
}

//go:norace
//go:nocheckptr
func execMadWide[T uint32 | int32, D uint64 | int64](w *warp, in *inst, m uint32) {
	d, a, b, c := col[D](w, in.d), col[T](w, in.a), col[T](w, in.b), col[D](w, in.c)
	if m == full {
		for i := range d {
			d[i] = D(a[i])*D(b[i]) + c[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = D(a[i])*D(b[i]) + c[i]
	}
}

//go:norace
//go:nocheckptr
func execMin[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = min(a[i], b[i])
	}
}

//go:norace
//go:nocheckptr
func execMax[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = max(a[i], b[i])
	}
}

//go:norace
//go:nocheckptr
func execAnd[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] & b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] & b[i]
	}
}

//go:norace
//go:nocheckptr
func execOr[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] | b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] | b[i]
	}
}

//go:norace
//go:nocheckptr
func execXor[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] ^ b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] ^ b[i]
	}
}

// execShl shifts left. Shift amounts of the width or more give 0.
//
//go:norace
//go:nocheckptr
func execShl[T uint32 | uint64](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), &w.r32[in.b]
	if m == full {
		for i := range d {
			d[i] = a[i] << b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] << b[i]
	}
}

// execShr shifts right, arithmetically if T is signed.
//
//go:norace
//go:nocheckptr
func execShr[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), &w.r32[in.b]
	if m == full {
		for i := range d {
			d[i] = a[i] >> b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] >> b[i]
	}
}
