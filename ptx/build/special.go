package build

import (
	"strconv"
	"strings"
	"sync"

	"github.com/purecuda/cuda/ptx"
)

// Special is the PTX name of a predefined register, including the component if the register has
// several, as in "%tid.x".
type Special string

// The predefined registers that most kernels use. Others are written as in Special("%clock64").
const (
	TidX      Special = "%tid.x" // the thread's index in its block
	TidY      Special = "%tid.y"
	TidZ      Special = "%tid.z"
	NtidX     Special = "%ntid.x" // the number of threads per block
	NtidY     Special = "%ntid.y"
	NtidZ     Special = "%ntid.z"
	CtaidX    Special = "%ctaid.x" // the block's index in the grid
	CtaidY    Special = "%ctaid.y"
	CtaidZ    Special = "%ctaid.z"
	NctaidX   Special = "%nctaid.x" // the number of blocks in the grid
	NctaidY   Special = "%nctaid.y"
	NctaidZ   Special = "%nctaid.z"
	LaneID    Special = "%laneid"
	WarpID    Special = "%warpid"
	Clock64   Special = "%clock64"
	GlobalNow Special = "%globaltimer"
)

// specials caches the syntax of each Special. All modules share the cache.
var specials sync.Map // maps a Special to a *ptx.Reg

func (s Special) operand(*Func) (ptx.Operand, string) {
	if node, ok := specials.Load(s); ok {
		return node.(*ptx.Reg), ""
	}
	name, sel, dotted := strings.Cut(string(s), ".")
	if !ptx.IsSpecial(name) || dotted && (sel == "" || !strings.Contains("xyzw", sel) || len(sel) != 1) {
		return nil, "is " + strconv.Quote(string(s)) + ", which is not a special register"
	}
	node := &ptx.Reg{Name: strings.Clone(name), Sel: strings.Clone(sel), Special: true}
	specials.Store(s, node)
	return node, ""
}
