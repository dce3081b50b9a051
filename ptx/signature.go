package ptx

// Signature holds the properties of a kernel that a launch needs.
type Signature struct {
	Name       string
	Line       int     // line of the kernel's .entry
	Params     []Param // parameters in order
	ParamBytes int     // size of the parameter block in bytes: the end of the last parameter

	// Launch bounds. 0 means not specified.
	MaxThreads  [3]int // from .maxntid; 1 for omitted dimensions
	ReqThreads  [3]int // from .reqntid, in the form of MaxThreads
	MinBlocks   int    // from .minnctapersm
	MaxRegs     int    // from .maxnreg
	ReqCluster  [3]int // from .reqnctapercluster, in the form of MaxThreads
	MaxCluster  int    // from .maxclusterrank
	ClusterGrid bool   // .blocksareclusters: the grid size counts clusters
}

// Param is one kernel parameter.
type Param struct {
	Name     string
	Kind     ParamKind
	Type     Type  // type of the parameter, or of one array element
	Len      int64 // number of array elements; 1 for a scalar, -1 for an array without a size
	Size     int   // size in bytes; 0 for an array without a size
	Align    int   // alignment in bytes
	Offset   int   // offset in bytes from the start of the parameter block
	PtrSpace Space // state space that a ParamPointer points to
	PtrAlign int   // alignment of the memory that a ParamPointer points to; 0 if not specified
}

// ParamKind classifies a parameter as far as the PTX shows its kind. Compilers declare most
// pointers as plain .u64 or .b64.
type ParamKind uint8

// The kinds of parameters.
const (
	ParamScalar    ParamKind = iota // one value, or a short vector
	ParamPointer                    // declared with .ptr
	ParamAggregate                  // an array, which can be a struct or an array passed by value
	ParamOpaque                     // declared as .texref, .samplerref or .surfref
)

// String returns the name of the kind.
func (k ParamKind) String() string {
	switch k {
	case ParamPointer:
		return "pointer"
	case ParamAggregate:
		return "aggregate"
	case ParamOpaque:
		return "opaque"
	}
	return "scalar"
}

// ModuleInfo is the result of Signatures.
type ModuleInfo struct {
	Version     Version
	Targets     []string
	AddressSize int         // 32 or 64; 0 if not specified (the ISA then assumes 32)
	Kernels     []Signature // entries in source order, each name once
}

// Kernel returns the signature of the kernel with that name, or nil.
func (m *ModuleInfo) Kernel(name string) *Signature {
	for i := range m.Kernels {
		if m.Kernels[i].Name == name {
			return &m.Kernels[i]
		}
	}
	return nil
}

// Signature returns the launch signature of an .entry.
func (f *Function) Signature() Signature {
	s := Signature{Name: f.Name, Line: int(f.Pos.Line)}
	var params []Param
	if len(f.Params) > 0 {
		params = make([]Param, len(f.Params))
	}
	s.read(f, params)
	return s
}

// read lays out the parameters in params, which must have enough room, and copies the
// launch bounds.
func (s *Signature) read(f *Function, params []Param) {
	s.Params = params
	for i, v := range f.Params {
		s.Params[i] = v.param(s.ParamBytes)
		s.ParamBytes = s.Params[i].Offset + s.Params[i].Size
	}
	for _, d := range f.Perf {
		s.bound(d)
	}
}

// param lays out the parameter after the previous one, which ends at offset end.
func (v *Variable) param(end int) Param {
	p := Param{
		Name: v.Name, Type: v.Type, Len: v.Len(),
		Size: int(v.Size()), Align: int(v.Alignment()),
	}
	switch {
	case v.Ptr != nil:
		p.Kind, p.PtrSpace, p.PtrAlign = ParamPointer, v.Ptr.Space, v.Ptr.Align
	case len(v.Dims) > 0:
		p.Kind = ParamAggregate
	case v.Type.Kind() == KindOpaque:
		p.Kind = ParamOpaque
	}
	p.Offset = (end + p.Align - 1) / p.Align * p.Align
	return p
}

func (s *Signature) bound(d Directive) {
	switch d.Name {
	case "maxntid":
		s.MaxThreads = extent(d.Args)
	case "reqntid":
		s.ReqThreads = extent(d.Args)
	case "reqnctapercluster":
		s.ReqCluster = extent(d.Args)
	case "minnctapersm":
		s.MinBlocks = first(d.Args)
	case "maxnreg":
		s.MaxRegs = first(d.Args)
	case "maxclusterrank":
		s.MaxCluster = first(d.Args)
	case "blocksareclusters":
		s.ClusterGrid = true
	}
}

func first(args []uint64) int {
	if len(args) == 0 {
		return 0
	}
	return int(args[0])
}

func extent(args []uint64) [3]int {
	e := [3]int{1, 1, 1}
	for i, n := range args {
		if i < len(e) {
			e[i] = int(n)
		}
	}
	return e
}
