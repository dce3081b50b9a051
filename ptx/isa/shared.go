package isa

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// sharedLimits maps an architecture to the maximum size of a kernel's .shared variables in bytes,
// as in ptxas from CUDA 12.4. In CUDA 11.8 and older, the limit is always 48 KiB.
var sharedLimits = map[int]int64{
	50: 64 << 10, 52: 96 << 10, 53: 64 << 10, 60: 64 << 10, 61: 96 << 10, 62: 64 << 10, 70: 96 << 10, 72: 64 << 10, 75: 64 << 10,
	80: 164 << 10, 86: 100 << 10, 87: 164 << 10, 89: 164 << 10, 90: 164 << 10,
}

// The limit for architectures that are older than those in the table, and the largest of all
// limits.
const (
	oldShared  = 48 << 10
	mostShared = 164 << 10
)

// sharedLimit returns the limit of the architecture passed to CheckFor, or of an
// architecture-specific target. In all other cases the code may run on any newer GPU, so
// sharedLimit returns the largest limit.
func (c *checker) sharedLimit() (bytes int64, arch string) {
	target := c.arch
	if target == 0 && c.own {
		target = c.target
	}
	if target == 0 || target > knownTarget {
		return mostShared, "any GPU"
	}
	arch = fmt.Sprintf("sm_%d", target)
	if n := sharedLimits[target]; n > 0 {
		return n, arch
	}
	return oldShared, arch
}

// uses contains the .shared variables and the functions that a function refers to.
type uses struct {
	f      *ptx.Function
	shared map[*ptx.Variable]bool
	calls  map[*ptx.Function]bool
}

// use records that the current function refers to v, if v is a .shared variable that is not
// .extern.
func (c *checker) use(v *ptx.Variable) {
	if v.Space != ptx.SharedSpace || v.Linkage == ptx.Extern {
		return
	}
	u := c.usesOf(c.fn)
	if u.shared == nil {
		u.shared = map[*ptx.Variable]bool{}
	}
	u.shared[v] = true
}

// call records that the current function calls f.
func (c *checker) call(f *ptx.Function) {
	u := c.usesOf(c.fn)
	if u.calls == nil {
		u.calls = map[*ptx.Function]bool{}
	}
	u.calls[f] = true
}

func (c *checker) usesOf(f *ptx.Function) *uses {
	if c.used == nil {
		c.used = map[*ptx.Function]*uses{}
	}
	u := c.used[f]
	if u == nil {
		u = &uses{f: f}
		c.used[f] = u
	}
	return u
}

// sharedMemory checks the size of the .shared variables that each kernel and its callees refer to.
func (c *checker) sharedMemory(m *ptx.Module) {
	if len(c.used) == 0 {
		return
	}
	left := reachTimes*len(c.used) + reachLeast
	for _, d := range m.Decls {
		f, ok := d.(*ptx.Function)
		if !ok || !f.Entry || f.Body == nil {
			continue
		}
		vars := map[*ptx.Variable]bool{}
		if left = c.reach(f, vars, left); left < 0 {
			return
		}
		bytes := int64(0)
		for v := range vars {
			bytes += v.Size()
		}
		if limit, arch := c.sharedLimit(); bytes > limit {
			c.fail(f.Pos, "kernel %s has %d bytes of .shared variables; at most %d are allowed for %s: declare the rest as .extern .shared and pass its size at launch", f.Name, bytes, limit, arch)
		}
	}
}

// To limit its run time, sharedMemory takes at most reachTimes steps per function in c.used, plus
// reachLeast. It does not check the remaining kernels.
const (
	reachTimes = 64
	reachLeast = 1 << 16
)

// reach collects the .shared variables that f and its callees refer to. It returns the number of
// remaining steps, or a negative number if there were too few.
func (c *checker) reach(f *ptx.Function, vars map[*ptx.Variable]bool, left int) int {
	seen := map[*ptx.Function]bool{f: true}
	for list := []*ptx.Function{f}; len(list) > 0; {
		u := c.used[list[len(list)-1]]
		list = list[:len(list)-1]
		if u == nil {
			continue
		}
		if left -= 1 + len(u.shared) + len(u.calls); left < 0 {
			return left
		}
		for v := range u.shared {
			vars[v] = true
		}
		for g := range u.calls {
			if !seen[g] {
				seen[g] = true
				list = append(list, g)
			}
		}
	}
	return left
}
