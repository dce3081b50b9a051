package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// bySums uses facts about sums of x and a constant.
func (s *search) bySums(x, y *ir.Value, w int64) bool {
	for _, sum := range s.sums[x] {
		if c := sum.Args[1].Aux; len(s.upper[sum]) > 0 && s.exact(sum) {
			if v, ok := addOK(w, c); ok && s.atMost(sum, y, v) {
				return true
			}
		}
	}
	return false
}

// byShares uses facts about sums that have an operand in common with the sum x, and whose other operand is not
// less than that of x.
func (s *search) byShares(x, y *ir.Value, w int64) bool {
	if x.Op != ir.OpAdd || !s.exact(x) {
		return false
	}
	for i, a := range x.Args {
		for _, sum := range s.shares[a] {
			if sum == x || len(s.upper[sum]) == 0 || !s.exact(sum) {
				continue
			}
			other := sum.Args[0]
			if other == a {
				other = sum.Args[1]
			}
			if s.atMost(x.Args[1-i], other, 0) && s.atMost(sum, y, w) {
				return true
			}
		}
	}
	return false
}
