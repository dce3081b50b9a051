package isa

import (
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// specialReg checks a special register as an operand.
func (c *checker) specialReg(a *arg, t ptx.Type, o *ptx.Reg) reason {
	switch {
	case a.kind == argDst:
		return readOnly
	case o.Neg || o.Not && specialType(o) != ptx.Pred:
		return negated
	}
	if !specialNeed(o.Name).met(&c.text) {
		return specialLate
	}
	if vectorSpecial(o) {
		return vectorHere
	}
	have := specialType(o)
	if have == ptx.NoType { // the parser knows the register, but this table lacks it
		return fine
	}
	if have == ptx.Pred || t == ptx.Pred {
		if have != t {
			return wrongType
		}
		return fine
	}
	if t.Kind() == ptx.KindFloat || !a.special {
		return special
	}
	if t.Size() == have.Size() || o.Name == "%gridid" || t.Size() < have.Size() && (a.relaxed || o.Sel != "") {
		return fine
	}
	return wrongType
}

// vectorSpecial reports whether o refers to all components of a multi-component special register,
// as in %tid but not %tid.x.
func vectorSpecial(o *ptx.Reg) bool {
	if o.Sel != "" {
		return false
	}
	switch o.Name {
	case "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid":
		return true
	}
	return false
}

// specialType returns the type of a special register, or NoType if there is no such
// register.
func specialType(o *ptx.Reg) ptx.Type {
	switch o.Name {
	case "%clock64", "%globaltimer", "%current_graph_exec", "%gridid":
		return ptx.U64
	case "%is_explicit_cluster":
		return ptx.Pred
	}
	if strings.HasPrefix(o.Name, "%pm") && strings.HasSuffix(o.Name, "_64") {
		return ptx.U64
	}
	if strings.HasPrefix(o.Name, "%percta") {
		return ptx.NoType
	}
	return ptx.U32
}

// specialNeeds maps special registers to the version and target that introduced them, unless they
// have always existed. Ptxas up to CUDA 12.4 rejects such a register in a module for an older version or target.
var specialNeeds = map[string]need{
	"%laneid": {version: 13}, "%warpid": {version: 13}, "%smid": {version: 13},
	"%nwarpid": {version: 20, target: 20}, "%nsmid": {version: 20, target: 20},
	"%lanemask_eq": {version: 20, target: 20}, "%lanemask_le": {version: 20, target: 20}, "%lanemask_lt": {version: 20, target: 20},
	"%lanemask_ge": {version: 20, target: 20}, "%lanemask_gt": {version: 20, target: 20},
	"%clock64": {version: 20, target: 20}, "%clock_hi": {version: 50, target: 20},
	"%globaltimer": {version: 31, target: 30}, "%globaltimer_lo": {version: 31, target: 30}, "%globaltimer_hi": {version: 31, target: 30},
	"%total_smem_size": {version: 41, target: 20}, "%dynamic_smem_size": {version: 41, target: 20}, "%aggr_smem_size": {version: 81, target: 90},
	"%reserved_smem_offset_begin": smemOffset, "%reserved_smem_offset_end": smemOffset, "%reserved_smem_offset_cap": smemOffset,
	"%reserved_smem_offset_0": smemOffset, "%reserved_smem_offset_1": smemOffset,
	"%is_explicit_cluster": clusters, "%clusterid": clusters, "%nclusterid": clusters, "%cluster_ctaid": clusters, "%cluster_nctaid": clusters,
	"%cluster_ctarank": clusters, "%cluster_nctarank": clusters,
	"%current_graph_exec": {version: 80, target: 50},
}

var (
	smemOffset = need{version: 76, target: 80}
	clusters   = need{version: 78, target: 90}
)

func specialNeed(name string) need {
	if n, ok := strings.CutPrefix(name, "%pm"); ok {
		switch {
		case strings.HasSuffix(n, "_64"):
			return need{version: 40, target: 50}
		case n >= "4":
			return need{version: 30, target: 20}
		}
		return need{version: 13}
	}
	return specialNeeds[name]
}

// lateSpecial returns the name of a special register in the operand that is newer than the module's
// version or target, or "".
func (c *checker) lateSpecial(o ptx.Operand) string {
	switch o := o.(type) {
	case *ptx.Reg:
		if !specialNeed(o.Name).met(&c.text) {
			return o.Name
		}
	case *ptx.Vec:
		for _, e := range o.Elems {
			if name := c.lateSpecial(e); name != "" {
				return name
			}
		}
	case *ptx.Addr:
		if o.Base != nil {
			return c.lateSpecial(o.Base)
		}
	}
	return ""
}
