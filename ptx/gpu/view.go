package gpu

import "unsafe"

// View replaces a slice in a struct that is passed to a kernel by value. It consists of a pointer
// and a length, 16 bytes in total. The zero View is empty. Its methods check indices in the same
// way as Go does for slices.
type View[T any] struct {
	ptr *T
	n   int
}

// ViewOf returns a View of a slice, for use in kernels and under Run.
func ViewOf[T any](s []T) View[T] { return View[T]{dataOf(s), len(s)} }

// ViewAt returns a View of n elements of device memory, as in ViewAt[float32](b.Ptr(), b.Len()) for
// a driver.Buffer b. The host may only pass the View to a kernel. It must not access the elements,
// and must not free the memory before the kernel has finished.
func ViewAt[T any, A ~uint64 | ~uintptr](address A, n int) View[T] {
	return View[T]{pointerAt[T](uintptr(address)), n}
}

// Len returns the number of elements.
func (v View[T]) Len() int { return v.n }

// Slice returns the elements.
func (v View[T]) Slice() []T { return sliceAt(v.ptr, v.n) }

// At returns element i.
func (v View[T]) At(i int) T { return v.Slice()[i] }

// Set sets element i.
func (v View[T]) Set(i int, x T) { v.Slice()[i] = x }

// Ptr returns the address of element i.
func (v View[T]) Ptr(i int) *T { return &v.Slice()[i] }

// View2D is a matrix that is passed to a kernel as a parameter or in a struct. It consists of a
// pointer, the numbers of rows and columns, and the stride, which is the distance between rows in
// elements. Its size is 32 bytes. The zero View2D is empty. Its methods check both indices.
type View2D[T any] struct {
	ptr                *T
	rows, cols, stride int
}

// View2DOf returns a View2D of a slice that contains the rows in order. The starts of adjacent rows
// are stride elements apart. It panics if the slice is too short or the stride is less than cols.
func View2DOf[T any](s []T, rows, cols, stride int) View2D[T] {
	if rows < 0 || cols < 0 || stride < cols {
		panic("gpu.View2DOf: rows or cols is negative, or stride is smaller than cols")
	}
	// Using the last element as the index expression would read it, which can be a race with a thread that writes it.
	if rows > 0 && cols > 0 && uint((rows-1)*stride+cols-1) >= uint(len(s)) {
		panic("gpu.View2DOf: the slice is too short")
	}
	return View2D[T]{dataOf(s), rows, cols, stride}
}

// View2DAt returns a View2D of device memory. The restrictions of ViewAt apply.
func View2DAt[T any, A ~uint64 | ~uintptr](address A, rows, cols, stride int) View2D[T] {
	return View2D[T]{pointerAt[T](uintptr(address)), rows, cols, stride}
}

// Rows returns the number of rows.
func (v View2D[T]) Rows() int { return v.rows }

// Cols returns the number of columns.
func (v View2D[T]) Cols() int { return v.cols }

// Stride returns the distance between rows, in elements.
func (v View2D[T]) Stride() int { return v.stride }

// Row returns the elements of a row.
func (v View2D[T]) Row(row int) []T {
	checkIndex(row, v.rows)
	return sliceAt(offset(v.ptr, row*v.stride), v.cols)
}

// At returns the element at the given row and column.
func (v View2D[T]) At(row, col int) T { return *v.Ptr(row, col) }

// Set sets the element at the given row and column.
func (v View2D[T]) Set(row, col int, x T) { *v.Ptr(row, col) = x }

// Ptr returns the address of the element at the given row and column.
func (v View2D[T]) Ptr(row, col int) *T {
	checkIndex(row, v.rows)
	checkIndex(col, v.cols)
	return offset(v.ptr, row*v.stride+col)
}

// checkIndex panics in the same way as an index expression if i is not a valid index for n
// elements.
//
//gpu:intrinsic
func checkIndex(i, n int) { _ = make([]struct{}, n)[i] }

// sliceAt returns the n elements at p.
//
//gpu:intrinsic
func sliceAt[T any](p *T, n int) []T { return unsafe.Slice(p, n) }

// dataOf returns the address of the first element of a slice.
//
//gpu:intrinsic
func dataOf[T any](s []T) *T { return unsafe.SliceData(s) }

// offset returns the address that is n elements after p.
//
//gpu:intrinsic
func offset[T any](p *T, n int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), uintptr(n)*unsafe.Sizeof(*p)))
}

// pointerAt converts a device address to a pointer. The garbage collector ignores it, because the
// address is not in Go's heap.
//
//gpu:intrinsic
func pointerAt[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }
