package image

import (
	"bytes"
	"fmt"

	"github.com/purecuda/cuda/internal/zstd"
	"github.com/purecuda/cuda/ptx"
)

// Kind is the format of an image.
type Kind uint8

// The kinds of images. A driver can load the first three. A linker accepts all of them.
const (
	PTX     Kind = iota + 1 // text that the driver compiles
	Cubin                   // machine code for one architecture
	Fatbin                  // PTX and machine code for several architectures
	Object                  // a host object file that contains GPU code
	Archive                 // an archive of object files
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case PTX:
		return "PTX"
	case Cubin:
		return "cubin"
	case Fatbin:
		return "fat binary"
	case Object:
		return "object file"
	case Archive:
		return "archive"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Part is code for one architecture. It is a whole image or an entry of a fat binary.
type Part struct {
	Kind        Kind // PTX or Cubin
	Arch        Arch
	Version     ptx.Version // the PTX ISA version, which old drivers may not support
	Compressed  bool        // the part is a compressed entry of a fat binary
	Relocatable bool        // a cubin for the linker; it may use symbols from other inputs

	data    []byte // as stored in the image
	packing uint64 // compression flags of the entry
	size    uint64 // uncompressed size, as stated in the entry
}

// String returns text such as "PTX 8.0 for sm_80" or "cubin for sm_90".
func (p Part) String() string {
	s := p.Kind.String()
	if p.Kind == PTX {
		s += " " + p.Version.String()
	}
	return s + " for " + p.Arch.String()
}

// largestPart limits the decompressed size of an entry, in bytes. Without a limit, a few kilobytes
// could expand to any size. Real code has at most a few megabytes.
const largestPart = 256 << 20

// Bytes returns the decompressed code: PTX up to its first NUL, or a cubin. The caller must not
// change the bytes, because they may belong to the image.
func (p Part) Bytes() ([]byte, error) {
	if !p.known() {
		return nil, absentPart.Error(false)
	}
	data, err := p.unpacked()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", p, err)
	}
	if p.Kind == PTX {
		data, _, _ = bytes.Cut(data, []byte{0})
	}
	return data, nil
}

// Size returns the size of the decompressed code in bytes. For a compressed part, it is the size
// stated in the image.
func (p Part) Size() uint64 {
	if p.packing == 0 {
		return uint64(len(p.data))
	}
	return p.size
}

func (p Part) unpacked() ([]byte, error) {
	switch {
	case p.packing == 0:
		return p.data, nil
	case p.size > largestPart:
		return nil, invalidf("it has %d bytes", p.size)
	case p.packing == fatbinLZ4:
		return unpackLZ4(p.data, int(p.size))
	case p.packing == fatbinZstd:
		return unpackZstd(p.data, int(p.size))
	}
	return nil, invalidf("it is compressed in an unknown way (flags %#x)", p.packing)
}

func unpackZstd(data []byte, size int) ([]byte, error) {
	out, err := zstd.Decode(data, size)
	if err == nil && len(out) != size {
		err = fmt.Errorf("%w: %d bytes instead of %d", zstd.ErrDamaged, len(out), size)
	}
	if err != nil {
		return nil, &invalidError{err.Error()}
	}
	return out, nil
}

func (p Part) known() bool { return p.Kind != 0 }

// RunsOn reports whether a device of the given architecture can run the part.
func (p Part) RunsOn(device Arch) bool { return p.known() && p.refusal(device) == "" }

// refusal returns why a device cannot run the part, or "" if it can.
func (p Part) refusal(device Arch) string {
	if p.Kind == PTX {
		return p.Arch.ptxFor(device)
	}
	return p.Arch.machineCodeFor(device)
}

// better reports whether a device that can run both p and o should run p. Machine code is better
// than PTX. Among parts of the same kind, the nearer architecture is better. If the architectures
// are the same, the more specific suffix is better.
func (p Part) better(o Part) bool {
	switch {
	case p.Kind != o.Kind:
		return p.Kind == Cubin
	case p.Arch.above(o.Arch) || o.Arch.above(p.Arch):
		return p.Arch.above(o.Arch)
	case p.Arch.Suffix != o.Arch.Suffix:
		return p.Arch.rank() > o.Arch.rank()
	}
	return false
}
