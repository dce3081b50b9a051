package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

type listed struct {
	ImportPath string
	Standard   bool
	Module     *module
}

type module struct {
	Path, Version, Sum, Dir string
	Main                    bool
	Replace                 *module
}

type platform struct {
	os, arch string
	tags     string // build tags, separated by commas
}

func (p platform) String() string {
	if p.tags != "" {
		return p.os + "-" + p.arch + "-" + p.tags
	}
	return p.os + "-" + p.arch
}

// platforms lists the platforms whose API is collected. The first is the one that most of the
// documentation describes.
var platforms = []platform{
	{"linux", "amd64", ""}, {"linux", "arm64", ""}, {"windows", "amd64", ""},
	{"windows", "arm64", ""}, {"darwin", "arm64", ""}, {"linux", "amd64", "static"},
}

// goList runs go list in dir, with the flags and patterns in args.
func goList(dir string, p platform, args ...string) ([]listed, error) {
	args = append([]string{"list", "-tags", p.tags}, args...)
	out, err := command(dir, []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0", "GOWORK=off"}, "go", args...)
	if err != nil {
		return nil, err
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

func command(dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
