package main

// api holds everything that the generator reads from the headers.
type api struct {
	version   int // value of CUDA_VERSION
	types     []*typeDecl
	constants []constant
	functions []*function // sorted by symbol, which is also the order of the ids
	typeNames map[string]bool
}

// kind is the kind of Go type that a C type becomes.
type kind int

const (
	kindAlias    kind = iota // typedef of another named type
	kindHandle               // pointer to an incomplete struct
	kindCallback             // pointer to a function
	kindScalar               // typedef of an integer
	kindEnum
	kindStruct
	kindUnion
)

type typeDecl struct {
	name   string
	kind   kind
	target string // for an alias, the Go type that it names; for a scalar, its Go type
	cDecl  string // for a callback, its C declaration
	size   int64
	align  int64
	fields []field
	values []enumerator
	anon   bool // the enum has no name, and its constants are untyped
	nested bool // has no name in C; the generator named it
	cPath  string
	signed bool
}

type field struct {
	name     string // name in C; "" for an anonymous member
	goName   string
	goType   string
	offset   int64
	size     int64
	pointers bool // contains pointers, which the garbage collector would follow
	embedded *typeDecl
}

type enumerator struct {
	name  string
	value int64
}

// constant is a #define with a number.
type constant struct {
	name   string
	value  string
	goType string // Go type; "" for an untyped constant
}

// function is a driver function in one of its ABIs.
type function struct {
	name   string // name in C; for an older ABI, it includes the version from cudaTypedefs.h
	base   string // name passed to cuGetProcAddress
	symbol string // exported symbol
	since  int
	group  string
	older  bool
	params []param
	proto  string
	line   int
}

type param struct {
	name   string
	goType string
	class  class
}

// class is the way an argument is passed.
type class int

const (
	classWord     class = iota // any other argument, converted to uintptr
	classPointer               // stays a pointer
	classFloat                 // passed in a float register in C
	classPacked                // a struct of 8 bytes, passed as one word
	classIndirect              // a struct of more than 16 bytes, passed by value
)
