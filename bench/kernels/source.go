package kernels

import (
	"embed"
	"path"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

//go:embed *.go
var files embed.FS

// Compile compiles all kernels. It ignores the package and the PTX file of the configuration.
func Compile(cfg go2ptx.Config) (*go2ptx.Output, error) {
	list, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	cfg.PTXFile = ""
	cfg.Package = go2ptx.Package{Path: "kernels", GoVersion: "1.25"}
	for _, f := range list {
		data, err := files.ReadFile(path.Join(".", f.Name()))
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(f.Name(), "_test.go") || f.Name() == "source.go" {
			continue
		}
		cfg.Package.Files = append(cfg.Package.Files, go2ptx.File{Name: f.Name(), Data: data})
	}
	return go2ptx.Compile(cfg)
}
