package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
)

// ImageSet holds one program for several architectures. Loading selects one.
type ImageSet struct{ images []*image.Image }

// NewImageSet creates a set of at least one image.
func NewImageSet(images ...*image.Image) (*ImageSet, error) {
	missing := func(i *image.Image) bool { return i.Kind() == 0 }
	if len(images) == 0 || slices.ContainsFunc(images, missing) {
		return nil, invalidf("an image set needs at least one image, and none may be nil or zero")
	}
	return &ImageSet{slices.Clone(images)}, nil
}

// ReadImages creates a set from the files of fsys (such as an embed.FS) that match the patterns,
// such as "*.ptx" and "*.cubin". See path.Match.
func ReadImages(fsys fs.FS, patterns ...string) (*ImageSet, error) {
	if fsys == nil {
		return nil, invalidf("images from a nil file system")
	}
	var images []*image.Image
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

func readImage(fsys fs.FS, name string) (*image.Image, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	i, err := image.Parse(path.Base(name), data)
	if err != nil {
		return nil, invalidImage(err)
	}
	return i, nil
}

// Images returns the images in the order of NewImageSet's arguments.
func (s *ImageSet) Images() []*image.Image {
	if s == nil {
		return nil
	}
	return slices.Clone(s.images)
}

// LoadModule loads the best image for the context's device. If the driver rejects the image as
// unsuitable, for example because its PTX version is too new, LoadModule tries the next best one.
// Any other error ends the search.
func (s *ImageSet) LoadModule(c *Context, opts ...JITOption) (*Module, error) {
	return loadBest(s, c, func(i *image.Image) (*Module, error) { return c.loadModule(c.Driver(), loadableOf(i), opts) })
}

// LoadLibrary is like LoadModule, but loads a Library. With lazy loading, only the best image is
// tried. If it is unsuitable, Library.Kernel fails.
func (s *ImageSet) LoadLibrary(c *Context, opts ...JITOption) (*Library, error) {
	return loadBest(s, c, func(i *image.Image) (*Library, error) { return c.loadLibrary(loadableOf(i), opts) })
}

// EmbeddedVariant is like Embedded, but loads one of several variants of the same kernels: the one
// whose target is nearest to the context's device (see [ImageSet]). The variants must be the same
// memory in every call.
func (c *Context) EmbeddedVariant(name string, variants [][]byte, more ...[]byte) (*Module, error) {
	var first []byte // stands for all of them
	if len(variants) > 0 {
		first = variants[0]
	}
	return c.embeddedOnce(name, first, func() (*Module, error) {
		set := &ImageSet{}
		texts := make(map[*image.Image][]byte)
		for _, text := range variants {
			i, err := image.Parse(name, text)
			if err != nil {
				return nil, invalidImage(err)
			}
			set.images, texts[i] = append(set.images, i), text
		}
		return loadBest(set, c, func(i *image.Image) (*Module, error) { return c.loadEmbedded(name, texts[i], more) })
	})
}

// embeddedOnce returns the module of a text, and loads it on the first call.
func (c *Context) embeddedOnce(name string, ptx []byte, load func() (*Module, error)) (*Module, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot load the %s: %w", name, err)
	}
	text := embeddedText{name, unsafe.SliceData(ptx), len(ptx)}
	if m := c.embedded.find(text); m != nil {
		return m, nil
	}
	c.embedded.loading.Lock()
	defer c.embedded.loading.Unlock()
	if m := c.embedded.find(text); m != nil { // another goroutine has loaded it
		return m, nil
	}
	m, err := load()
	if err != nil {
		return nil, fmt.Errorf("cannot load the %s: %w", name, err)
	}
	c.embedded.mu.Lock()
	defer c.embedded.mu.Unlock()
	if c.embedded.mods == nil {
		c.embedded.mods = make(map[embeddedText]*Module)
	}
	c.embedded.mods[text] = m
	return m, nil
}

func loadBest[T any](s *ImageSet, c *Context, load func(*image.Image) (*T, error)) (*T, error) {
	if s == nil || len(s.images) == 0 {
		return nil, absentError(s == nil, "set of images")
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot load an image: %w", err)
	}
	device, err := c.Device().Arch()
	if err != nil {
		return nil, err
	}
	images, err := image.Choose(device, s.images...)
	if err != nil {
		return nil, &imageError{err, CUDA_ERROR_NO_BINARY_FOR_GPU}
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
	return nil, allRefused(c.Device().String(), device, why)
}

// unfit reports whether it is worth trying another image after this one failed with err. It is if
// this image does not suit the device or the driver cannot compile it.
func unfit(err error) bool {
	for _, r := range []CUresult{
		CUDA_ERROR_NO_BINARY_FOR_GPU, cu.CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
		cu.CUDA_ERROR_JIT_COMPILER_NOT_FOUND, cu.CUDA_ERROR_JIT_COMPILATION_DISABLED,
	} {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}

// Arch returns the device's architecture, such as sm_90.
func (dev Device) Arch() (image.Arch, error) {
	major, minor, err := dev.ComputeCapability()
	return image.Arch{Major: major, Minor: minor}, err
}

func allRefused(where string, device image.Arch, why []error) error {
	var b strings.Builder
	for _, err := range why {
		fmt.Fprintf(&b, "%v; ", err)
	}
	text := fmt.Sprintf("no image for %s: %sadd PTX for %v or an older target, or a cubin for %v", where, &b, device, device)
	return &refusedError{text, why}
}

// refusedError holds the errors of all images and matches each of them. It also matches
// CUDA_ERROR_NO_BINARY_FOR_GPU.
type refusedError struct {
	text string
	why  []error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() []error {
	return append(e.why[:len(e.why):len(e.why)], CUDA_ERROR_NO_BINARY_FOR_GPU)
}

// Lazy returns a module that loads the best image on first use. Until then, it makes no driver call
// and checks nothing, and Module.Raw returns 0. If several goroutines use the module, the first one
// loads the image and the others wait. After an error, the next use tries again. Loading does not
// invalidate any stream capture. Module.Kernel also loads the kernel onto the device (see
// [Kernel.Load]), so even the kernel's first launch may be captured.
func (s *ImageSet) Lazy(c *Context, opts ...JITOption) *Module {
	return &Module{lazy: &lazyModule{set: s, ctx: c, opts: opts}}
}

type lazyModule struct {
	set  *ImageSet
	ctx  *Context
	opts []JITOption

	mu     sync.Mutex
	mod    *Module
	closed bool
}

// load loads the image on the first call, and again after an error.
func (l *lazyModule) load() (*Module, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, fmt.Errorf("module: %w", ErrClosed)
	case l.mod != nil:
		return l.mod, nil
	}
	m, err := loadBest(l.set, l.ctx, func(i *image.Image) (*Module, error) {
		return l.ctx.loadModule(l.ctx.Guarded(), loadableOf(i), l.opts)
	})
	l.mod = m
	return m, err
}

func (l *lazyModule) loaded() *Module {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mod
}

// kernel also loads the kernel onto the device, so that its first launch can be captured.
func (l *lazyModule) kernel(name string) (*Kernel, error) {
	m, err := l.load()
	if err != nil {
		return nil, err
	}
	k, err := m.Kernel(name)
	if err != nil {
		return nil, err
	}
	if err := k.Load(); err != nil {
		return nil, err
	}
	return k, nil
}

func (l *lazyModule) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.mod.Close()
}
