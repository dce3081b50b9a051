package nvrtc

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// CacheVariable names the environment variable that holds the cache's folder. The value
// "off" turns the cache off. A process that runs with more rights than its user (setuid)
// ignores the variable. Such a process has no cache unless it creates one.
const CacheVariable = "PURECUDA_NVRTC_CACHE"

// DefaultCacheBytes is the default size limit of a cache.
const DefaultCacheBytes = 256 << 20

// Cache is a folder with one file per result. Any number of goroutines and processes may
// use the folder at the same time. Entries are written atomically and never change. The
// name of an entry is a hash of everything that the result depends on. Cache removes a
// damaged entry, and the program is compiled again. When the folder exceeds its limit,
// Cache removes the least recently used entries.
//
// If the folder cannot be written, results are not stored, but no compilation fails.
// Stats reports the error.
type Cache struct {
	dir   string
	bytes int64

	mu    sync.Mutex
	stats CacheStats
}

// CacheStats counts the operations of a Cache.
type CacheStats struct {
	Hits    int   // number of results found
	Misses  int   // number of results not found
	Stored  int   // number of results stored
	Damaged int   // number of entries removed because they were damaged
	Evicted int   // number of entries removed to make room
	Failed  int   // number of operations that failed
	Err     error // error of the latest failed operation
}

// NewCache returns a cache in the given folder. The folder is created on first use. If
// bytes is 0, the limit is DefaultCacheBytes.
func NewCache(dir string, bytes int64) (*Cache, error) {
	path, err := filepath.Abs(dir)
	if dir == "" || err != nil {
		return nil, invalidf("no folder for a cache: %q", dir)
	}
	if bytes < 0 {
		return nil, invalidf("a cache of %d bytes", bytes)
	}
	if bytes == 0 {
		bytes = DefaultCacheBytes
	}
	return &Cache{dir: path, bytes: bytes}, nil
}

// DefaultCacheDir returns the folder purecuda/nvrtc of os.UserCacheDir.
func DefaultCacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("nvrtc: no place for a cache: %w", err)
	}
	return filepath.Join(dir, "purecuda", "nvrtc"), nil
}

// defaultCache returns the user's cache, or nil if it is turned off or no folder is
// available.
func defaultCache() *Cache {
	dir := loader.SecureEnv(CacheVariable)
	if dir == "off" || loader.Privileged() {
		return nil
	}
	var err error
	if dir == "" {
		if dir, err = DefaultCacheDir(); err != nil {
			return nil
		}
	}
	c, err := NewCache(dir, 0)
	if err != nil {
		return nil
	}
	return c
}

// aCache describes a cache in the errors of methods called on a nil or zero Cache.
var aCache = absent.Kind{Name: "cache", Make: "nvrtc.NewCache", Code: ErrClosed}

// Dir returns the folder.
func (c *Cache) Dir() string {
	if c == nil {
		return ""
	}
	return c.dir
}

// Stats returns the statistics since the cache was created.
func (c *Cache) Stats() CacheStats {
	if c == nil {
		return CacheStats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Clear removes all entries.
func (c *Cache) Clear() error {
	if c == nil || c.dir == "" {
		return aCache.Error(c == nil)
	}
	entries, err := c.entries()
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, remove(e.path))
	}
	return errors.Join(errs...)
}

const (
	entrySuffix = ".nvrtc"
	partSuffix  = ".part"
	// partAge is the age at which an unfinished file is considered abandoned.
	partAge = time.Hour
)

func (c *Cache) path(k key) string { return filepath.Join(c.dir, k.String()+entrySuffix) }

func (c *Cache) count(change func(*CacheStats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

func (c *Cache) fail(err error) {
	if err != nil {
		c.count(func(s *CacheStats) { s.Failed++; s.Err = err })
	}
}

// get returns the result for a key, or nil.
func (c *Cache) get(k key) *Result {
	path := c.path(k)
	data, err := os.ReadFile(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.fail(err)
		}
		c.count(func(s *CacheStats) { s.Misses++ })
		return nil
	}
	r, err := decode(k, data)
	if err != nil {
		c.fail(remove(path))
		c.count(func(s *CacheStats) { s.Damaged++; s.Misses++ })
		return nil
	}
	now := time.Now()
	c.fail(os.Chtimes(path, now, now)) // marks the entry as the most recently used
	c.count(func(s *CacheStats) { s.Hits++ })
	return r
}

func (c *Cache) put(k key, r *Result) {
	if err := c.write(c.path(k), encode(k, r)); err != nil {
		c.fail(err)
		return
	}
	c.count(func(s *CacheStats) { s.Stored++ })
	c.evict()
}

// write creates a file atomically.
func (c *Cache) write(path string, data []byte) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, "*"+partSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		return nil
	}
	if rest := remove(f.Name()); rest != nil {
		return errors.Join(err, rest)
	}
	if isFile(path) {
		return nil // Windows cannot replace a file that is being read, but that file has the same content
	}
	return err
}

type entry struct {
	path string
	size int64
	used time.Time
}

// entries lists the files of the cache, including unfinished ones.
func (c *Cache) entries() ([]entry, error) {
	files, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []entry
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), entrySuffix) && !strings.HasSuffix(f.Name(), partSuffix) {
			continue
		}
		if info, err := f.Info(); err == nil { // another process may have removed the file
			list = append(list, entry{filepath.Join(c.dir, f.Name()), info.Size(), info.ModTime()})
		}
	}
	return list, err
}

// evict removes the least recently used entries if the cache exceeds its limit. It stops at three
// quarters of the limit, so that the next stores need not evict again.
func (c *Cache) evict() {
	entries, err := c.entries()
	c.fail(err)
	total := int64(0)
	for _, e := range entries {
		total += e.size
		if strings.HasSuffix(e.path, partSuffix) && time.Since(e.used) > partAge {
			c.fail(remove(e.path))
		}
	}
	if total <= c.bytes {
		return
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range entries {
		if total <= c.bytes/4*3 {
			return
		}
		if strings.HasSuffix(e.path, partSuffix) {
			continue
		}
		c.fail(remove(e.path))
		c.count(func(s *CacheStats) { s.Evicted++ })
		total -= e.size
	}
}

// remove removes a file. It ignores a file that no longer exists.
func remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

var errDamaged = errors.New("the entry is damaged")

// An entry consists of the format's name, a hash of the rest, the key, and the parts of
// the result. A length precedes each part.

func encode(k key, r *Result) []byte {
	var body packed
	body.put(k[:])
	body.put(r.PTX)
	body.put(r.Cubin)
	body.put([]byte(r.Log))
	for _, expression := range slices.Sorted(maps.Keys(r.Lowered)) {
		body.put([]byte(expression))
		body.put([]byte(r.Lowered[expression]))
	}
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(keyFormat), sum[:], body)
}

func decode(k key, data []byte) (*Result, error) {
	head := len(keyFormat) + sha256.Size
	if len(data) < head || string(data[:len(keyFormat)]) != keyFormat {
		return nil, errDamaged
	}
	if sum := sha256.Sum256(data[head:]); string(sum[:]) != string(data[len(keyFormat):head]) {
		return nil, errDamaged
	}
	body := packed(data[head:])
	if string(body.take()) != string(k[:]) {
		return nil, errDamaged // the file belongs to a different entry
	}
	r := &Result{PTX: body.take(), Cubin: body.take(), Log: string(body.take()), Lowered: make(map[string]string)}
	for len(body) > 0 {
		expression := string(body.take())
		r.Lowered[expression] = string(body.take())
	}
	return r, nil
}
