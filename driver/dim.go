package driver

import (
	"fmt"
	"math"
)

// Dim3 is the extent of a grid, a block or a cluster.
type Dim3 struct{ X, Y, Z uint32 }

// D1 returns n × 1 × 1. If n is out of range, every check rejects the result.
func D1(n int) Dim3 { return Dim3{dim(n), 1, 1} }

// D2 returns x × y × 1.
func D2(x, y int) Dim3 { return Dim3{dim(x), dim(y), 1} }

// D3 returns x × y × z.
func D3(x, y, z int) Dim3 { return Dim3{dim(x), dim(y), dim(z)} }

// Blocks returns the grid that covers n elements with blocks of block threads: n / block, rounded
// up. For n = 0 the grid is invalid, and launches with it fail.
func Blocks(n, block int) Dim3 {
	if n <= 0 || block <= 0 {
		return Dim3{0, 1, 1}
	}
	return D1((n-1)/block + 1)
}

func dim(n int) uint32 {
	if n < 0 {
		return 0
	}
	return uint32(min(uint64(n), math.MaxUint32))
}

// Count returns the product of the dimensions.
func (d Dim3) Count() uint64 { return uint64(d.X) * uint64(d.Y) * uint64(d.Z) }

// IsZero reports whether no dimension is set.
func (d Dim3) IsZero() bool { return d == Dim3{} }

// String returns text such as "8×4×1".
func (d Dim3) String() string { return fmt.Sprintf("%d×%d×%d", d.X, d.Y, d.Z) }

func (d Dim3) axes() [3]uint32 { return [3]uint32{d.X, d.Y, d.Z} }
