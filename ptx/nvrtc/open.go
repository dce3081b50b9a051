package nvrtc

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// LibraryVariable names the environment variable with the path of the NVRTC library to
// open. If it is set, Open does not search. A process that runs with more rights than its
// user (setuid) ignores the variable.
const LibraryVariable = "PURECUDA_NVRTC"

// toolkit describes the names of the library. CUDA 11.2 to 11.8 share one name, and so do
// all releases of each later major version, on Windows and on Linux.
var toolkit = loader.Toolkit{
	Variable: LibraryVariable,
	Linux:    []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
	Windows:  []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"},
}

// Compiler is an open NVRTC library. Any number of goroutines may use it.
type Compiler struct {
	lib     loader.Library
	fn      *functions
	version int
	file    string // path of the library; "" if unknown
	archs   []int32
	cache   *Cache

	mu      sync.Mutex
	closed  bool
	flights map[key]*flight
	running sync.WaitGroup
}

// aCompiler describes a compiler in the errors of methods called on a nil or zero
// Compiler.
var aCompiler = absent.Kind{Name: "compiler", Make: "nvrtc.Open or nvrtc.New", Code: ErrClosed}

// exists reports whether Open or New created c.
func (c *Compiler) exists() bool { return c != nil && c.fn != nil }

type config struct {
	path  string
	upTo  int
	cache *Cache
	given bool // the caller set the field cache, possibly to nil
}

// Option configures a Compiler.
type Option func(*config)

// WithLibrary opens the library at a path instead of searching.
func WithLibrary(path string) Option { return func(c *config) { c.path = path } }

// UpTo skips libraries whose CUDA version is newer than the given one. The version has
// the format of driver.Driver.Version: 12040 for 12.4. A driver rejects PTX from a newer
// compiler.
func UpTo(version int) Option { return func(c *config) { c.upTo = version } }

// WithCache stores results in the given cache.
func WithCache(cache *Cache) Option {
	return func(c *config) { c.cache, c.given = cache, true }
}

// WithoutCache disables the cache, so that every call compiles.
func WithoutCache() Option { return WithCache(nil) }

// Open opens NVRTC. The package documentation lists the places that it searches. If it
// finds no library, the error matches ErrNotInstalled. Its one-line message suggests what
// to install. %+v lists every name that was tried. Close the compiler when it is no
// longer needed.
func Open(opts ...Option) (*Compiler, error) {
	var cfg config
	absent.Apply(opts, &cfg)
	named := toolkit.Override()
	if cfg.path != "" {
		named = cfg.path
	}
	lib, err := open(named, cfg.upTo)
	if err != nil {
		return nil, notOpened(err, named)
	}
	c, err := New(permanent{lib}, opts...)
	if err != nil {
		return nil, err
	}
	c.findBuiltins()
	return c, nil
}

// open opens the named library, or the first acceptable one.
func open(named string, upTo int) (*loader.DynamicLibrary, error) {
	accept := func(l *loader.DynamicLibrary) error { return acceptable(l, upTo) }
	if named == "" {
		return loader.OpenToolkit(toolkit, accept)
	}
	l, err := loader.Open(named)
	if err != nil {
		return nil, err
	}
	if err := accept(l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// acceptable returns nil, or the reason why a library cannot be used.
func acceptable(l loader.Library, upTo int) error {
	f, err := resolve(l)
	if err != nil {
		return err
	}
	version, err := f.readVersion()
	if err != nil {
		return err
	}
	if upTo != 0 && version > upTo {
		return &newerError{version, upTo}
	}
	return nil
}

func notOpened(err error, named string) error {
	impossible := errors.Is(err, loader.ErrStatic) || errors.Is(err, loader.ErrUnsupportedPlatform)
	if named != "" && !impossible {
		return fmt.Errorf("nvrtc: cannot open the library that %s or WithLibrary names: %w", LibraryVariable, err)
	}
	return &NotInstalledError{Cause: err}
}

// New creates a compiler that owns lib: Compiler.Close also closes lib. If New fails, it closes lib
// itself.
func New(lib loader.Library, opts ...Option) (*Compiler, error) {
	if lib == nil {
		return nil, invalidf("nil library: open one with loader.Open")
	}
	var cfg config
	absent.Apply(opts, &cfg)
	c := &Compiler{lib: lib, flights: make(map[key]*flight), cache: cfg.cache}
	if !cfg.given {
		c.cache = defaultCache()
	}
	if err := c.init(); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return c, nil
}

func (c *Compiler) init() (err error) {
	if c.fn, err = resolve(c.lib); err != nil {
		return fmt.Errorf("nvrtc: %w", err)
	}
	if c.version, err = c.fn.readVersion(); err != nil {
		return err
	}
	if c.archs, err = c.fn.supportedArchs(); err != nil {
		return err
	}
	c.file = loader.FileOf(c.fn.version)
	return nil
}

// readVersion returns the version as 11080 for 11.8.
func (f *functions) readVersion() (int, error) {
	v := new([2]int32)
	if c := callPP(&f.version, ptrTo(&v[0]), ptrTo(&v[1])); c != NVRTC_SUCCESS {
		return 0, &Error{Func: "nvrtcVersion", Code: c}
	}
	return int(v[0])*1000 + int(v[1])*10, nil
}

func ptrTo(p *int32) unsafe.Pointer { return unsafe.Pointer(p) }

// Version returns the CUDA version of the compiler in the driver's format: 11080 for
// 11.8.
func (c *Compiler) Version() int {
	if !c.exists() {
		return 0
	}
	return c.version
}

func (c *Compiler) release() string { return release(c.version) }

func release(version int) string { return fmt.Sprintf("%d.%d", version/1000, version%1000/10) }

// Library returns the path of the library, or the name with which it was opened.
func (c *Compiler) Library() string {
	if !c.exists() {
		return ""
	}
	if c.file != "" {
		return c.file
	}
	return c.lib.Name()
}

// Cache returns the cache that stores results, or nil if there is none.
func (c *Compiler) Cache() *Cache {
	if !c.exists() {
		return nil
	}
	return c.cache
}

// String returns NVRTC's version and file.
func (c *Compiler) String() string {
	if !c.exists() {
		return "no NVRTC compiler"
	}
	return fmt.Sprintf("NVRTC %s (%s)", c.release(), c.Library())
}

// Close waits for running compilations and releases the library. It may be called more
// than once.
func (c *Compiler) Close() error {
	if !c.exists() {
		return nil
	}
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
	if closed {
		return nil
	}
	return c.lib.Close()
}

// permanent keeps the library loaded. NVRTC leaves thread-local state behind, and
// unloading would remove the code that cleans it up.
type permanent struct{ loader.Library }

func (permanent) Close() error { return nil }

// findBuiltins opens the library that NVRTC opens by name during its first compilation. NVRTC
// itself could not find that library if its folder is outside the system's search path. A failure
// is ignored, because the system may still find the library.
func (c *Compiler) findBuiltins() {
	if c.file == "" {
		return
	}
	major, minor := c.version/1000, c.version%1000/10
	name := fmt.Sprintf("libnvrtc-builtins.so.%d.%d", major, minor)
	if runtime.GOOS == "windows" {
		name = fmt.Sprintf("nvrtc-builtins64_%d%d.dll", major, minor)
	}
	_, _ = loader.Open(filepath.Join(filepath.Dir(c.file), name)) // the library stays open, as it does when NVRTC opens it
}
