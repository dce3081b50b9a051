package nvrtc

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/purecuda/cuda/loader"
)

// CUDAIncludes returns the folders of CUDA's own headers, for Program.IncludePaths. It prefers the
// folders that belong to the library. If there are none, it returns the first ones that it finds in
// the usual places of toolkits. Headers whose version differs from the compiler's usually work, but
// not always. The error suggests what to install.
func (c *Compiler) CUDAIncludes() ([]string, error) {
	if !c.exists() {
		return nil, aCompiler.Error(c == nil)
	}
	folders := c.includeFolders()
	for _, folder := range folders {
		if !isFile(filepath.Join(folder, "cuda_fp16.h")) {
			continue
		}
		found := []string{folder}
		// Since CUDA 13, the C++ library (cuda/std, cub) has a separate folder.
		if cccl := filepath.Join(folder, "cccl"); isFolder(cccl) {
			found = append(found, cccl)
		}
		return found, nil
	}
	return nil, invalidf("CUDA's headers are not installed: no cuda_fp16.h in %s; install them "+
		"(pip: nvidia-cuda-runtime, conda: cuda-cudart-dev, Debian: nvidia-cuda-dev), and set CUDA_PATH to the toolkit's folder if they are still not found",
		strings.Join(folders, ", "))
}

// includeFolders lists possible folders of headers. The first ones are relative to the library,
// which can be in ROOT/lib64, ROOT/targets/SYSTEM/lib, ROOT\bin\x64 or a Python wheel. The folders
// of the toolkits follow.
func (c *Compiler) includeFolders() []string {
	var folders []string
	if c.file != "" {
		lib := filepath.Dir(c.file)
		for _, up := range []string{"..", "../..", "../../cuda_runtime"} {
			folders = append(folders, filepath.Join(lib, up, "include"))
		}
	}
	for _, root := range loader.ToolkitRoots() {
		folders = append(folders, filepath.Join(root, "include"))
	}
	return append(folders, systemIncludes...)
}

// systemIncludes lists the folders where Debian installs the headers.
var systemIncludes = []string{"/usr/include"}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
