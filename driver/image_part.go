package driver

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// ImageKind is the form in which code comes.
type ImageKind uint8

// The forms of code.
const (
	ImagePTX    ImageKind = iota + 1 // text that the driver compiles
	ImageCubin                       // machine code of one architecture
	ImageFatbin                      // several of both
)

// String is the kind in words.
func (k ImageKind) String() string {
	switch k {
	case ImagePTX:
		return "PTX"
	case ImageCubin:
		return "cubin"
	case ImageFatbin:
		return "fat binary"
	}
	return fmt.Sprintf("ImageKind(%d)", uint8(k))
}

// ImagePart is code for one architecture: a whole image, or an entry of a fat
// binary.
type ImagePart struct {
	Kind        ImageKind // ImagePTX or ImageCubin
	Arch        Arch
	PTX         ptx.Version // of PTX: the ISA version, which says how new a driver has to be
	Compressed  bool        // an entry of a fat binary
	Relocatable bool        // a cubin that may refer to others: input of a Linker
}

// String is "PTX 8.0 for sm_80" or "cubin for sm_90".
func (p ImagePart) String() string {
	s := p.Kind.String()
	if p.Kind == ImagePTX {
		s += " " + p.PTX.String()
	}
	return s + " for " + p.Arch.String()
}

func (p ImagePart) known() bool { return p.Kind != 0 }

// refusal says why a device cannot use the part, "" if it can.
func (p ImagePart) refusal(device Arch) string {
	if p.Kind == ImagePTX {
		return p.Arch.ptxFor(device)
	}
	return p.Arch.machineCodeFor(device)
}

// better reports whether p is to be preferred to o where both fit: machine code
// to PTX, a nearer architecture to a farther one, and what is made for the
// architecture alone or its family to what is not.
func (p ImagePart) better(o ImagePart) bool {
	switch {
	case p.Kind != o.Kind:
		return p.Kind == ImageCubin
	case p.Arch.above(o.Arch) || o.Arch.above(p.Arch):
		return p.Arch.above(o.Arch)
	case p.Arch.Suffix != o.Arch.Suffix:
		return p.Arch.rank() > o.Arch.rank()
	}
	return false
}

// rank orders the suffixes from general to specific.
func (a Arch) rank() int {
	switch a.Suffix {
	case 'a':
		return 2
	case 'f':
		return 1
	}
	return 0
}
