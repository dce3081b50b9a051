package ptx

// reach adds the callees' shared memory and stack to their callers.
func (x *inspector) reach() {
	for _, n := range x.funcs {
		if n.state == unvisited {
			x.visit(n)
		}
	}
	deep := false // whether any .func uses shared memory
	for _, n := range x.funcs {
		deep = deep || !n.info.Entry && (n.own > 0 || len(n.shared) > 0)
	}
	for _, n := range x.funcs {
		x.sharedOf(n, deep && n.info.Entry)
	}
}

// visit computes root's stack after the stacks of its callees. It keeps a list of active
// calls instead of recursing, because a call chain can be as long as the module.
func (x *inspector) visit(root *functionNotes) {
	type frame struct {
		n    *functionNotes
		next int   // index of the next callee in Calls
		most int64 // largest stack of the callees so far; -1 if unknown
	}
	path := []frame{{n: root}}
	root.state = visiting
	for {
		top := &path[len(path)-1]
		if top.next < len(top.n.info.Calls) {
			callee := x.byName[top.n.info.Calls[top.next]]
			top.next++
			switch {
			case callee == nil: // the callee is defined elsewhere
			case callee.state == visiting:
				top.most = -1
			case callee.state == visited:
				top.most = deeper(top.most, callee.info.Stack)
			default:
				callee.state = visiting
				path = append(path, frame{n: callee})
			}
			continue
		}
		n, most := top.n, top.most
		n.state, n.info.Stack = visited, n.info.Local+most
		if most < 0 || n.info.Indirect > 0 {
			n.info.Stack = -1
		}
		if path = path[:len(path)-1]; len(path) == 0 {
			return
		}
		caller := &path[len(path)-1]
		caller.most = deeper(caller.most, n.info.Stack)
	}
}

func deeper(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return max(a, b)
}

// sharedOf adds up the sizes of the .shared variables of n. If deep is set, it includes
// every function that n reaches.
func (x *inspector) sharedOf(n *functionNotes, deep bool) {
	names := map[string]*Variable{}
	var size int64
	for _, f := range x.reached(n, deep) {
		size += f.own
		for name, v := range f.shared {
			names[name] = v
		}
	}
	for _, v := range names {
		size += v.bytes()
		n.info.DynamicShared = n.info.DynamicShared || v.Linkage == Extern && v.Len() <= 0
	}
	n.info.Shared = size
}

// reached returns n. If deep is set, it also returns the functions that n calls directly
// or indirectly.
func (x *inspector) reached(n *functionNotes, deep bool) []*functionNotes {
	list := []*functionNotes{n}
	if !deep {
		return list
	}
	seen := map[*functionNotes]bool{n: true}
	for i := 0; i < len(list); i++ {
		for _, name := range list[i].info.Calls {
			if callee := x.byName[name]; callee != nil && !seen[callee] {
				seen[callee] = true
				list = append(list, callee)
			}
		}
	}
	return list
}
