package ptx

// scope records declared names that are exceptions to the default. By default, names that start
// with '%' are registers, and other names are not. For compiler output the scope stays empty.
type scope struct {
	single map[string]named // single names
	ranges map[string]named // ranges name<count>, by prefix
	undo   []undo
}

type named struct {
	kind  nameKind
	count uint64 // number of names in a range
}

type nameKind uint8

const (
	unnamed nameKind = iota
	register
	variable
)

type undo struct {
	ranged bool
	name   string
	old    named
}

func (s *scope) mark() int { return len(s.undo) }

// reset removes every declaration made since mark.
func (s *scope) reset(mark int) {
	for len(s.undo) > mark {
		u := s.undo[len(s.undo)-1]
		s.undo = s.undo[:len(s.undo)-1]
		m := s.single
		if u.ranged {
			m = s.ranges
		}
		if u.old.kind == unnamed {
			delete(m, u.name)
		} else {
			m[u.name] = u.old
		}
	}
}

func (s *scope) declare(name string, kind nameKind, count int) {
	if name == "" || len(s.undo) == 0 && byFirstLetter(name) == kind {
		return
	}
	if s.single == nil {
		s.single, s.ranges = map[string]named{}, map[string]named{}
	}
	m := s.single
	if count > 0 {
		m = s.ranges
	}
	old, now := m[name], named{kind: kind, count: uint64(count)}
	if old == now {
		return
	}
	s.undo = append(s.undo, undo{ranged: count > 0, name: name, old: old})
	m[name] = now
}

func byFirstLetter(name string) nameKind {
	if name[0] == '%' {
		return register
	}
	return variable
}

// isRegister reports whether a name in an operand is a register.
func (s *scope) isRegister(name string) bool {
	if len(s.undo) == 0 {
		return name[0] == '%'
	}
	kind := s.single[name].kind
	if kind == unnamed {
		kind = s.inRange(name)
	}
	if kind == unnamed {
		kind = byFirstLetter(name)
	}
	return kind == register
}

// inRange returns the kind of the range that contains name, or unnamed. It tries every split of
// name into a prefix and a number.
func (s *scope) inRange(name string) nameKind {
	index, scale := uint64(0), uint64(1)
	for i := len(name) - 1; i > 0 && len(name)-i < 11 && class[name[i]] == clDigit; i-- {
		index += uint64(name[i]-'0') * scale
		scale *= 10
		leadingZero := name[i] == '0' && i+1 < len(name)
		if r := s.ranges[name[:i]]; r.kind != unnamed && index < r.count && !leadingZero {
			return r.kind
		}
	}
	return unnamed
}

// IsSpecial reports whether name, such as "%tid", is a predefined register.
func IsSpecial(name string) bool { return name != "" && name[0] == '%' && isSpecial(name) }

// isSpecial distinguishes predefined registers from declared ones. PTX ISA, "Special
// Registers".
func isSpecial(name string) bool {
	if len(name) < 4 || class[name[2]] == clDigit { // %r1, %f23 and %p4
		return false
	}
	switch name {
	case "%tid", "%ntid", "%laneid", "%warpid", "%nwarpid", "%ctaid", "%nctaid", "%smid", "%nsmid", "%gridid",
		"%is_explicit_cluster", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid",
		"%cluster_ctarank", "%cluster_nctarank",
		"%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
		"%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi",
		"%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap",
		"%reserved_smem_offset_0", "%reserved_smem_offset_1",
		"%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size", "%current_graph_exec",
		"%perctamemoryoffset", "%perctamemorysize":
		return true
	}
	if name[1] == 'p' && name[2] == 'm' { // %pm0 ... %pm7, %pm0_64 ...
		return class[name[3]] == clDigit && (len(name) == 4 || name[4:] == "_64")
	}
	return len(name) > 7 && name[:7] == "%envreg" && class[name[7]] == clDigit
}
