package driver

import "sync/atomic"

// Restrict declares that the memory of some arguments, counted from 0, does not overlap the memory
// of any other argument, because the kernel was compiled with that assumption. Launches whose
// arguments overlap are then refused, unless the kernel only reads both. The declaration holds for
// launches that are prepared later. Generated launchers call Restrict.
func (k *Kernel) Restrict(args ...int) error {
	if err := k.check(); err != nil {
		return err
	}
	for _, i := range args {
		if i < 0 || i >= 64 || k.known && i >= len(k.params) {
			return invalidf("restrict of %v: there is no argument %d that can be restrict", k, i)
		}
		k.alone.Or(1 << i)
	}
	return nil
}

// checkRestrict returns an error if memory of a restrict argument overlaps that of another.
func (l *Launch) checkRestrict() error {
	if l.alone == 0 || atomic.LoadUint64(&l.apart) == uint64(l.b.Accesses) {
		return nil
	}
	for i := range l.uses {
		for j := range l.uses[:i] {
			a, b := &l.uses[j], &l.uses[i]
			if (l.alone>>a.Arg|l.alone>>b.Arg)&1 != 0 && a.Overlaps(*b) {
				return l.argError(int(b.Arg), invalidf("its memory overlaps that of argument %d (%s); the kernel was compiled with restrict, so they must not overlap",
					a.Arg, l.k.ArgName(int(a.Arg))))
			}
		}
	}
	atomic.StoreUint64(&l.apart, uint64(l.b.Accesses))
	return nil
}

// CheckRestrict returns the error with which Enqueue refuses arguments that overlap: see
// Kernel.Restrict. Package graph calls it for nodes and bindings.
func (l *Launch) CheckRestrict() error {
	if l == nil || l.k == nil {
		return absentError(l == nil, "launch")
	}
	return l.checkRestrict()
}
