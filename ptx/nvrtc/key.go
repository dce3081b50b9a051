package nvrtc

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// key is a hash of everything that a result depends on.
type key [sha256.Size]byte

func (k key) String() string { return hex.EncodeToString(k[:]) }

// keyFormat must change when the inputs of a key or the format of an entry change.
const keyFormat = "purecuda nvrtc 1"

// digest hashes strings with their lengths, so that different lists of strings always
// have different inputs.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) add(texts ...string) {
	for _, s := range texts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = d.Write(n[:]) // writing to a hash never fails
		_, _ = io.WriteString(d, s)
	}
}

func (d digest) list(texts []string) {
	d.number(int64(len(texts)))
	d.add(texts...)
}

func (d digest) number(n int64) { _ = binary.Write(d, binary.LittleEndian, n) }

// key returns the program's key. It returns false if not all dependencies are known
// before compiling, or if compiling writes files.
func (c *Compiler) key(p *Program) (key, bool) {
	if slices.ContainsFunc(p.Options, uncached) {
		return key{}, false
	}
	d := newDigest()
	d.add(keyFormat)
	c.identify(d)
	d.add(p.name(), p.Source)
	d.list(p.options())
	d.list(p.NameExpressions)
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		d.add(name, p.Headers[name])
	}
	d.number(int64(len(p.Headers)))
	if slices.ContainsFunc(p.Options, namesPlace) {
		place, err := os.Getwd()
		if err != nil {
			return key{}, false
		}
		d.add(place)
	}
	if !newScan(p, d).run() {
		return key{}, false
	}
	return key(d.Sum(nil)), true
}

// identify adds the library file to the digest, because builds of one compiler version
// can differ.
func (c *Compiler) identify(d digest) {
	d.add(c.release(), c.file)
	if info, err := os.Stat(c.file); err == nil {
		d.number(info.Size())
		d.number(info.ModTime().UnixNano())
	}
}

// uncached reports whether an option prevents caching, because it makes NVRTC write files
// or read files that are not text.
func uncached(option string) bool {
	name := strings.TrimLeft(option, "-")
	for _, prefix := range []string{"time", "fdevice-time-trace", "pch", "create-pch", "use-pch"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// namesPlace reports whether an option makes the result contain the working directory, as
// line information does.
func namesPlace(option string) bool {
	switch option {
	case "-G", "--device-debug", "-lineinfo", "--generate-line-info":
		return true
	}
	return false
}
