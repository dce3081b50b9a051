package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// What a loop must have for its kernel to get a budget of registers, and the budget: as many registers as that
// number of threads of a multiprocessor can have, which is 64 each, or 80 with checks.
//
// The limits come from the machine code of ptxas 12.4 for the kernels in bench/kernels. Their effect on
// the time of a kernel has not been measured on a GPU.
const (
	leastArithmetic  = 64 // floating-point operations
	leastShared      = 16 // loads from shared memory
	arithmeticPerGet = 12 // of these for each load from global memory
	mostCarried      = 32 // values that an iteration of any loop passes on to the next one
	budgetThreads    = 1024
	budgetChecked    = 768
)

// budgetRegisters gives a kernel a budget of registers if it has a large loop that computes with numbers from
// shared memory. Ptxas determines how many registers it uses before it orders instructions. If it
// chooses few, it loads numbers immediately before their use, and executes one copy of an unrolled body after
// another, although they are independent. More warps would not make up for that in such a loop, because they
// all wait for the same units.
func budgetRegisters(f *ir.Func) {
	l := &f.Launch
	if !f.Kernel || !l.Required || l.MinBlocks > 0 || l.MaxRegs > 0 {
		return
	}
	threads := 1
	for _, n := range l.Block {
		threads *= max(n, 1)
	}
	budget := budgetThreads
	if hasChecks(f) {
		budget = budgetChecked
	}
	loops := f.Loops(f.Dominators())
	found := false
	for _, loop := range loops.All {
		if carried(loop) > mostCarried {
			return
		}
		found = found || arithmetic(loops, loop)
	}
	if found {
		l.MinBlocks = min(max(1, budget/threads), 32)
	}
}

// carried returns how many values an iteration passes on to the next one.
func carried(l *ir.Loop) int {
	n := 0
	for _, v := range l.Header.Values {
		if v.Op == ir.OpPhi {
			n++
		}
	}
	return n
}

// arithmetic reports whether a loop without inner loops mainly computes with numbers from shared memory.
func arithmetic(loops *ir.Loops, l *ir.Loop) bool {
	n, shared, global := 0, 0, 0
	for _, b := range l.Blocks {
		if loops.Of[b.ID] != l || b.Cold {
			return false
		}
		for _, v := range b.Values {
			switch {
			case v.Op == ir.OpLoad || v.Op == ir.OpLoadV:
				if v.Args[0].Type.Space == ir.Shared {
					shared++
				} else {
					global++
				}
			case v.Op >= ir.OpFAdd && v.Op <= ir.OpFSqrt:
				n++
			}
		}
	}
	return n >= max(leastArithmetic, arithmeticPerGet*global) && shared >= leastShared
}
