package source

import (
	"embed"
	"strings"
)

//go:embed std/*.go.txt
var stdFiles embed.FS

// stub returns the file in std that declares a standard library package, and its name in positions.
func stub(path string) (name string, data []byte, ok bool) {
	data, err := stdFiles.ReadFile("std/" + strings.ReplaceAll(path, "/", "_") + ".go.txt")
	if err != nil {
		return "", nil, false
	}
	return path + "/" + path[strings.LastIndexByte(path, '/')+1:] + ".go", data, true
}
