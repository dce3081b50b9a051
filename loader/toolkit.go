package loader

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Toolkit holds the names of a CUDA toolkit library, such as NVRTC or cuBLAS. The whole toolkit
// need not be installed, because distributions, conda and PyPI package the libraries separately.
type Toolkit struct {
	// Variable names an environment variable that may hold a library's path. OpenToolkit then opens
	// that library instead of searching. The variable is ignored in a process with more rights than
	// its user.
	Variable string
	// Linux lists file names in order of preference, such as "libnvrtc.so.13".
	Linux []string
	// Windows lists file name patterns in order of preference, such as "nvrtc64_130_*.dll".
	Windows []string
}

// OpenToolkit opens a library of the CUDA toolkit. It uses the library that t.Variable names.
// Otherwise, it uses the first library it finds that accept does not reject. accept may be nil. For
// each name, OpenToolkit searches the following places in order before it tries the next name:
//
//   - the folder that CUDA_PATH or CUDA_HOME names
//   - the system's search path (on Windows, only the system's own folder)
//   - the usual installation folders of toolkits
//   - the active conda or Python environment
//   - on Linux, the wheels of every python3 on the PATH and of the user
//
// The error is an [OpenError] that lists everything that was tried.
func OpenToolkit(t Toolkit, accept func(*DynamicLibrary) error) (*DynamicLibrary, error) {
	if path := t.Override(); path != "" {
		return open([]string{path}, nil, accept)
	}
	return open(t.Names(), nil, accept)
}

// Override returns the path in the environment variable t.Variable, or "" if there is none.
func (t Toolkit) Override() string {
	if t.Variable == "" {
		return ""
	}
	return SecureEnv(t.Variable)
}

// Names lists what OpenToolkit tries if t.Variable is not set: existing files, and names for the
// system to search.
func (t Toolkit) Names() []string {
	var names []string
	for _, pattern := range t.patterns() {
		for _, folder := range ToolkitFolders() {
			names = append(names, filesIn(folder, pattern)...)
		}
		if !strings.ContainsAny(pattern, "*?[") {
			at := slices.IndexFunc(names, func(n string) bool { return !fromVariable(n) && filepath.Base(n) == pattern })
			if at < 0 {
				at = len(names)
			}
			names = slices.Insert(names, at, pattern)
		}
	}
	if len(names) == 0 {
		names = []string{fmt.Sprintf("%s in %s", strings.Join(t.patterns(), ", "), strings.Join(ToolkitFolders(), ", "))}
	}
	return names
}

// fromVariable reports whether a file is in a folder that CUDA_PATH or CUDA_HOME names. Such
// folders are searched before the system's search path.
func fromVariable(name string) bool {
	for _, root := range variableRoots() {
		if strings.HasPrefix(name, filepath.Clean(root)+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// ToolkitRoots lists folders in which a CUDA toolkit may be installed. Folders from environment
// variables come first.
func ToolkitRoots() []string {
	return unique(append(variableRoots(), expand(toolkitRoots())...))
}

// ToolkitFolders lists the folders in which the toolkit's libraries may be.
func ToolkitFolders() []string {
	var folders []string
	for _, root := range ToolkitRoots() {
		for _, sub := range librarySubfolders {
			folders = append(folders, filepath.Join(root, sub))
		}
	}
	return unique(append(folders, expand(libraryFolders())...))
}

func variableRoots() []string {
	var roots []string
	for _, name := range []string{"CUDA_PATH", "CUDA_HOME"} {
		if root := SecureEnv(name); filepath.IsAbs(root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// under joins the folder that an environment variable names with each folder in below. If the
// variable does not hold an absolute path, under returns no folder.
func under(variable string, below ...string) []string {
	root := SecureEnv(variable)
	if !filepath.IsAbs(root) {
		return nil
	}
	var folders []string
	for _, b := range below {
		folders = append(folders, filepath.Join(root, b))
	}
	return folders
}

// expand replaces patterns with their matches, highest version first.
func expand(patterns []string) []string {
	var all []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil { // the folder in the variable has a bracket in its name
			continue
		}
		slices.SortFunc(found, laterFirst)
		all = append(all, found...)
	}
	return all
}

func filesIn(folder, pattern string) []string {
	return expand([]string{filepath.Join(folder, pattern)})
}

// laterFirst orders names by the numbers in them, highest first: cuda-13.0, cuda-12.9, cuda-9.2.
func laterFirst(a, b string) int { return strings.Compare(padded(b), padded(a)) }

// padded pads every number in a name to at least six digits.
func padded(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		n := 0
		for n < len(name) && name[n] >= '0' && name[n] <= '9' {
			n++
		}
		if n == 0 {
			b.WriteByte(name[0])
			name = name[1:]
			continue
		}
		fmt.Fprintf(&b, "%06s", name[:n])
		name = name[n:]
	}
	return b.String()
}

func unique(names []string) []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(names, func(n string) bool {
		was := seen[n]
		seen[n] = true
		return was
	})
}
