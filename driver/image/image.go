package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/ptx"
)

// ErrInvalid matches the error for data that is truncated, damaged or not device code.
var ErrInvalid = errors.New("invalid image")

// ErrMismatch matches the error for code that a device cannot run.
var ErrMismatch = errors.New("no code for this device")

var (
	absentImage = absent.Kind{Name: "image", Make: "image.Parse", Code: ErrInvalid}
	absentPart  = absent.Kind{Name: "part", Make: "Image.Parts", Code: ErrInvalid}
)

type invalidError struct{ text string }

func (e *invalidError) Error() string        { return e.text }
func (e *invalidError) Is(target error) bool { return target == ErrInvalid }

func invalidf(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}

// Image is PTX, a cubin or a fat binary whose headers have been checked. It is immutable and does
// not belong to a context.
type Image struct {
	name  string
	kind  Kind
	data  []byte
	parts []Part
}

// Parse reads the headers of PTX text, a cubin or a fat binary. Its errors match [ErrInvalid].
// Messages identify the image by name. The image keeps data, which the caller must not change.
func Parse(name string, data []byte) (*Image, error) {
	i := &Image{name: name, data: data}
	var err error
	if i.kind, i.parts, err = read(data); err != nil {
		return nil, fmt.Errorf("image %q: %w", name, err)
	}
	if i.kind == PTX {
		i.parts = []Part{ptxPart(data)}
	}
	return i, nil
}

// Check checks the headers of a binary, as Parse does, and returns the kind of data. It does not
// read PTX, because the compiler checks PTX.
func Check(data []byte) (Kind, error) {
	kind, _, err := read(data)
	return kind, err
}

var (
	elfMagic     = []byte{0x7f, 'E', 'L', 'F'}
	fatbinMagic  = []byte{0x50, 0xed, 0x55, 0xba} // 0xba55ed50, little endian
	wrapMagic    = []byte{0xb1, 0x43, 0x62, 0x46} // 0x466243b1: __fatBinC_Wrapper_t
	archiveMagic = []byte("!<arch>\n")
)

// read determines the kind of data. For binaries, it also reads the parts.
func read(data []byte) (Kind, []Part, error) {
	switch {
	case len(data) == 0:
		return 0, nil, invalidf("the image is empty")
	case bytes.HasPrefix(data, elfMagic):
		part, err := checkCubin(data)
		return Cubin, []Part{part}, err
	case bytes.HasPrefix(data, fatbinMagic):
		parts, err := checkFatbin(data)
		return Fatbin, parts, err
	case bytes.HasPrefix(data, wrapMagic):
		return 0, nil, invalidf("the image is the C wrapper of a fat binary, which refers to other memory; load the fat binary itself")
	case bytes.Contains(text(data), []byte(".version")): // every valid PTX text contains this directive
		return PTX, nil, nil
	}
	return 0, nil, invalidf("the image is neither PTX (no .version line), a cubin nor a fat binary: it begins with %q", data[:min(len(data), 16)])
}

// text returns data up to its first NUL, where C code stops reading.
func text(data []byte) []byte {
	before, _, _ := bytes.Cut(data, []byte{0})
	return before
}

// ptxPart reads the version and target of PTX. If either is missing, it stays unknown in the Part.
// The compiler reports the mistake later.
func ptxPart(data []byte) Part {
	info, _ := ptx.Signatures(text(data))
	p := Part{Kind: PTX, Version: info.Version, data: data}
	for _, t := range info.Targets {
		if a, err := ParseArch(t); err == nil {
			p.Arch = a
			break
		}
	}
	return p
}

// Name returns the name that was passed to Parse.
func (i *Image) Name() string {
	if i == nil {
		return ""
	}
	return i.name
}

// Kind returns the kind of image: PTX, Cubin or Fatbin.
func (i *Image) Kind() Kind {
	if i == nil {
		return 0
	}
	return i.kind
}

// Parts returns the contents of the image: a single part, or the entries of a fat binary that some
// device could execute.
func (i *Image) Parts() []Part {
	if i == nil {
		return nil
	}
	return slices.Clone(i.parts)
}

// Bytes returns the data that was passed to Parse. The caller must not change it.
func (i *Image) Bytes() []byte {
	if i == nil {
		return nil
	}
	return i.data
}

// String returns the name and the kind.
func (i *Image) String() string {
	switch {
	case i == nil:
		return "nil image"
	case i.kind == 0:
		return "zero image"
	case i.name == "":
		return i.kind.String()
	}
	return fmt.Sprintf("%s (%v)", i.name, i.kind)
}

// Part returns the part that a device of the given architecture runs. If the device can run no
// part, the error matches [ErrMismatch] and contains the reason for each part.
func (i *Image) Part(device Arch) (Part, error) {
	if i == nil || i.kind == 0 {
		return Part{}, absentImage.Error(i == nil)
	}
	var best Part
	var why []string
	for _, p := range i.parts {
		if r := p.refusal(device); r != "" {
			why = append(why, r)
		} else if !best.known() || p.better(best) {
			best = p
		}
	}
	if best.known() {
		return best, nil
	}
	if len(why) == 0 {
		why = []string{"it has no code"}
	}
	return best, &mismatchError{fmt.Sprintf("%v: %s", i, strings.Join(why, "; "))}
}

// Choose returns the images that a device can run, the best first. Machine code for exactly this
// architecture comes first. Machine code for an older architecture with the same major version
// follows, then PTX, nearest target first. If the device can run no image, the error matches
// [ErrMismatch] and contains the reason for each image.
func Choose(device Arch, images ...*Image) ([]*Image, error) {
	var fit []choice
	var why []string
	for _, i := range images {
		p, err := i.Part(device)
		switch {
		case err == nil:
			fit = append(fit, choice{i, p})
		case errors.Is(err, ErrMismatch):
			why = append(why, err.Error())
		default:
			return nil, err
		}
	}
	if len(fit) == 0 {
		return nil, &mismatchError{fmt.Sprintf("no image for compute capability %s: %s", device.capability(), strings.Join(append(why, device.advice()), "; "))}
	}
	slices.SortStableFunc(fit, choice.compare)
	best := make([]*Image, len(fit))
	for n := range fit {
		best[n] = fit[n].image
	}
	return best, nil
}

type choice struct {
	image *Image
	part  Part
}

func (c choice) compare(o choice) int {
	switch {
	case c.part.better(o.part):
		return -1
	case o.part.better(c.part):
		return 1
	}
	return 0
}

type mismatchError struct{ text string }

func (e *mismatchError) Error() string        { return e.text }
func (e *mismatchError) Is(target error) bool { return target == ErrMismatch }

func (a Arch) advice() string {
	return fmt.Sprintf("add PTX for %v or an older target, or a cubin for %v", a, a)
}

var le = binary.LittleEndian

// saturated returns a + b, or the largest number if the sum overflows.
func saturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
