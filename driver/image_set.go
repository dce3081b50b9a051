package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Image is code as the driver loads it, PTX, a cubin or a fat binary, whose
// headers were read and checked. It belongs to no context and needs no driver.
type Image struct {
	name string
	code image
}

// NewImage reads the headers of PTX text, a cubin or a fat binary. What is cut
// off, damaged or for another machine is refused, with an error that matches
// CUDA_ERROR_INVALID_VALUE. The name stands for the image in messages; data is
// kept and must not be changed.
func NewImage(name string, data []byte) (*Image, error) {
	code, err := newImage(data)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", name, err)
	}
	if code.format == formatPTX {
		code.parts = []ImagePart{ptxPart(code.ptx())}
	}
	return &Image{name, code}, nil
}

// ptxPart reads version and target of the text. What is missing is unknown; the
// compiler will complain.
func ptxPart(text []byte) ImagePart {
	info, _ := ptx.Signatures(text)
	p := ImagePart{Kind: ImagePTX, PTX: info.Version}
	for _, t := range info.Targets {
		if a, err := ParseArch(t); err == nil {
			p.Arch = a
			break
		}
	}
	return p
}

// Name is the name that the image was given.
func (i *Image) Name() string { return i.name }

// Kind says what the image is.
func (i *Image) Kind() ImageKind { return i.code.kind() }

func (i image) kind() ImageKind {
	switch i.format {
	case formatCubin:
		return ImageCubin
	case formatFatbin:
		return ImageFatbin
	}
	return ImagePTX
}

// Parts lists what is in the image: one part, or the entries of a fat binary
// that a device could execute.
func (i *Image) Parts() []ImagePart { return slices.Clone(i.code.parts) }

// Bytes is what the image was made from, as the driver takes it: PTX ends in a
// NUL. It must not be changed.
func (i *Image) Bytes() []byte { return i.code.data }

// String is the name with the kind.
func (i *Image) String() string {
	if i.name == "" {
		return i.Kind().String()
	}
	return fmt.Sprintf("%s (%v)", i.name, i.Kind())
}

// Part returns the part that a device of the given architecture would run, or
// an error that says of each why it does not fit.
func (i *Image) Part(device Arch) (ImagePart, error) {
	var best ImagePart
	var why []string
	for _, p := range i.code.parts {
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
	return best, &noImageError{text: fmt.Sprintf("%v: %s", i, strings.Join(why, "; "))}
}

// ImageSet is one program in several images, for several architectures, from
// which the best for a device is taken.
type ImageSet struct{ images []*Image }

// NewImageSet makes a set of at least one image.
func NewImageSet(images ...*Image) (*ImageSet, error) {
	if len(images) == 0 || slices.Contains(images, nil) {
		return nil, invalidf("a set of images needs images, and none of them nil")
	}
	return &ImageSet{slices.Clone(images)}, nil
}

// ReadImages makes a set of the files of fsys that match the patterns (see
// [path.Match]), for example of an embed.FS: "kernels*.ptx", "kernels*.cubin".
func ReadImages(fsys fs.FS, patterns ...string) (*ImageSet, error) {
	var images []*Image
	for _, pattern := range patterns {
		names, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q of images: %w", pattern, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("no image matches %q: %w", pattern, fs.ErrNotExist)
		}
		for _, name := range names {
			i, err := readImage(fsys, name)
			if err != nil {
				return nil, err
			}
			images = append(images, i)
		}
	}
	return NewImageSet(images...)
}

func readImage(fsys fs.FS, name string) (*Image, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return NewImage(path.Base(name), data)
}

// Images lists the images in the order they were given.
func (s *ImageSet) Images() []*Image { return slices.Clone(s.images) }

// Choose lists the images that fit a device, the best first: machine code for
// exactly the device, machine code for an older one of its major version, then
// PTX, the nearest target first. If none fits, the error says what is there and
// why each does not fit; it matches CUDA_ERROR_NO_BINARY_FOR_GPU.
func (s *ImageSet) Choose(device Arch) ([]*Image, error) {
	var fit []choice
	var why []error
	for _, i := range s.images {
		p, err := i.Part(device)
		if err != nil {
			why = append(why, err)
			continue
		}
		fit = append(fit, choice{i, p})
	}
	if len(fit) == 0 {
		return nil, noImage(fmt.Sprintf("compute capability %s", device.capability()), device, why)
	}
	slices.SortStableFunc(fit, choice.compare)
	images := make([]*Image, len(fit))
	for n := range fit {
		images[n] = fit[n].image
	}
	return images, nil
}

// choice is an image with the part that would run.
type choice struct {
	image *Image
	part  ImagePart
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

// LoadModule loads the best image for the context's device. An image that the
// driver does not take after all (PTX of a newer version, a cubin in a newer
// form) is passed over for the next best; other errors end the search.
func (s *ImageSet) LoadModule(c *Context, opts ...JITOption) (*Module, error) {
	return loadBest(s, c, func(i *Image) (*Module, error) { return c.loadModule(c.Driver(), i.code, opts) })
}

// LoadLibrary is LoadModule for a Library. A driver that looks at a library's
// machine code only when a kernel is asked for takes the first image; that it
// does not fit is then an error of Kernel.
func (s *ImageSet) LoadLibrary(c *Context, opts ...JITOption) (*Library, error) {
	return loadBest(s, c, func(i *Image) (*Library, error) { return c.loadLibrary(i.code, opts) })
}

func loadBest[T any](s *ImageSet, c *Context, load func(*Image) (*T, error)) (*T, error) {
	if s == nil {
		return nil, nilError("set of images")
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot load an image: %w", err)
	}
	device, err := c.Device().Arch()
	if err != nil {
		return nil, err
	}
	images, err := s.Choose(device)
	if err != nil {
		return nil, err
	}
	var why []error
	for _, i := range images {
		loaded, err := load(i)
		if err == nil {
			return loaded, nil
		}
		if !unfit(err) {
			return nil, err
		}
		why = append(why, fmt.Errorf("%v: %w", i, err))
	}
	return nil, noImage(c.Device().String(), device, why)
}

// unfit reports whether the driver refused an image for what it is made for and
// not for what is in it.
func unfit(err error) bool {
	for _, r := range []CUresult{
		CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
		CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_JIT_COMPILATION_DISABLED,
	} {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}

// Arch returns the device's architecture: sm_90 for compute capability 9.0.
func (dev Device) Arch() (Arch, error) {
	major, minor, err := dev.ComputeCapability()
	return Arch{Major: major, Minor: minor}, err
}

// noImageError is that none of several images can be used.
type noImageError struct {
	text string
	why  []error
}

func noImage(where string, device Arch, why []error) error {
	var b strings.Builder
	fmt.Fprintf(&b, "no image for %s: ", where)
	for n, err := range why {
		if n > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	fmt.Fprintf(&b, "; add PTX for %v or an older target, or a cubin for %v", device, device)
	return &noImageError{b.String(), why}
}

func (e *noImageError) Error() string   { return e.text }
func (e *noImageError) Unwrap() []error { return e.why }

// Is matches what a driver answers where no image fits.
func (e *noImageError) Is(target error) bool {
	return target == error(CUDA_ERROR_NO_BINARY_FOR_GPU)
}
