package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed testdata/*.tar.gz
var archives embed.FS

// Build is one compilation of all sources for an architecture.
type Build struct {
	Name  string // name of the archive, without ".tar.gz"
	SM    int    // compute capability times 10: 90 for compute_90
	Debug bool   // compiled with -G: no optimisation, debug sections
}

// Builds lists all builds.
var Builds = []Build{
	{Name: "compute_75", SM: 75},
	{Name: "compute_80", SM: 80},
	{Name: "compute_90", SM: 90},
	{Name: "compute_100", SM: 100},
	{Name: "compute_90_O0", SM: 90, Debug: true},
}

// Folder names the environment variable with the path of a folder. The archives in the folder
// replace the embedded ones. They contain another compiler's output for the same sources.
const Folder = "PURECUDA_CORPUS"

// PTX returns the PTX of all sources, by source name.
func (b Build) PTX() (map[string]string, error) {
	packed, err := b.archive()
	if err != nil {
		return nil, err
	}
	texts, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("%s.tar.gz: %w", b.Name, err)
	}
	return texts, nil
}

func (b Build) archive() ([]byte, error) {
	name := b.Name + ".tar.gz"
	if dir := os.Getenv(Folder); dir != "" {
		return os.ReadFile(filepath.Join(dir, name))
	}
	return archives.ReadFile(path.Join("testdata", name))
}

func unpack(packed []byte) (map[string]string, error) {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	texts := make(map[string]string)
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		texts[strings.TrimSuffix(h.Name, ".ptx")] = string(text)
	}
}

// Runs reports whether the build supports the step's compute capability.
func (b Build) Runs(s Step) bool { return s.SM <= b.SM }
