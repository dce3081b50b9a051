package isa

import "github.com/purecuda/cuda/ptx"

// Lowest returns the lowest .version and .target that support every feature of the module. They are
// never lower than the version and target of the module. For a module without a target, the lower
// limit is sm_52, the oldest target that current compilers accept. The error is the result of Check
// for the returned version and target. Lowest does not change the module.
func Lowest(m *ptx.Module) (ptx.Version, ptx.Target, error) {
	if m == nil {
		return ptx.Version{}, ptx.Target{}, nil
	}
	trial := *m
	own := m.Needs()
	n := need{version: 10*own.Version.Major + own.Version.Minor, target: 10*own.Target.Major + own.Target.Minor}
	n.own = own.Target.Scope == ptx.ArchSpecific
	if n.target == 0 {
		n.target = firstTarget
	}
	for {
		trial.Version, trial.Targets = n.header(m.Targets)
		c := newChecker(&trial, 0)
		c.lowest = true
		err := c.check(&trial)
		raised := n.and(c.lacking)
		if raised == n {
			t, _ := ptx.ParseTarget(trial.Targets[0])
			return trial.Version, t, err
		}
		n = raised
	}
}

// firstTarget is the lower limit of the target for a module that does not specify one.
const firstTarget = 52

// header returns the .version and .target that meet n. In the returned list, the architecture
// precedes the names in old, which are not architectures.
func (n need) header(old []string) (ptx.Version, []string) {
	t := ptx.Target{Major: n.target / 10, Minor: n.target % 10}
	if n.own {
		t.Scope = ptx.ArchSpecific
	}
	for _, name := range old {
		if g, ok := ptx.ParseTarget(name); ok && 10*g.Major+g.Minor == n.target && g.Scope == ptx.FamilySpecific {
			t = g
		}
	}
	targets := []string{t.String()}
	for _, name := range old {
		if _, ok := ptx.ParseTarget(name); !ok {
			targets = append(targets, name)
		}
	}
	v := ptx.Version{Major: n.version / 10, Minor: n.version % 10}
	if since, ok := t.Since(); ok && !v.AtLeast(since.Major, since.Minor) {
		v = since
	}
	return v, targets
}

// and returns the requirements that meet both n and o.
func (n need) and(o need) need {
	n.version = max(n.version, o.version)
	switch {
	case o.target > n.target:
		n.target, n.own = o.target, o.own
	case o.target == n.target:
		n.own = n.own || o.own
	}
	return n
}

// lack records that a feature of the module requires n.
func (c *checker) lack(n need) { c.lacking = c.lacking.and(n) }

// lackSpecial records the requirements of a special register if they are the reason why the
// operands do not fit.
func (c *checker) lackSpecial(x *misfit, in *ptx.Instr) {
	if x.why == specialLate {
		c.lack(specialNeed(c.lateSpecial(in.Args[x.arg])))
	}
}

// requires returns the requirements of the form and of every choice that the opcode uses.
func (m *match) requires(op *ptx.Opcode) need {
	n := m.form.need
	m.each(op, func(c *choice) { n = n.and(c.need) })
	return n
}

// Among the rules that require a newer version or target, leastLate returns the one with the lowest
// requirements.
func (o *opcode) leastLate(op *ptx.Opcode) *match {
	best, least := &o.late[0], o.late[0].requires(op)
	for i := range o.late[1:] {
		m := &o.late[i+1]
		if n := m.requires(op); n.target < least.target || n.target == least.target && n.version < least.version {
			best, least = m, n
		}
	}
	return best
}
