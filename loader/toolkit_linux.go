package loader

import (
	"os"
	"path/filepath"
	"runtime"
)

func (t Toolkit) patterns() []string { return t.Linux }

var librarySubfolders = []string{"lib64", "lib", "targets/" + toolkitTarget() + "/lib"}

func toolkitTarget() string {
	if runtime.GOARCH == "arm64" {
		return "sbsa-linux"
	}
	return "x86_64-linux"
}

// toolkitRoots lists the folders in which NVIDIA's installers and distribution packages place the
// toolkit.
func toolkitRoots() []string {
	return []string{
		"/usr/local/cuda",
		"/usr/local/cuda-*",
		"/opt/cuda", // Arch Linux
		"/usr/lib/cuda",
		"/usr/lib/nvidia-cuda-toolkit",
	}
}

// libraryFolders lists additional folders: those of Debian, of an active conda environment and of
// Python wheels. Wheels may be in the active Python environment, in any environment whose python3
// is on the PATH, and in the user's own folder.
func libraryFolders() []string {
	folders := []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib64"}
	if runtime.GOARCH == "arm64" {
		folders[0] = "/usr/lib/aarch64-linux-gnu"
	}
	const site = "lib/python3*/site-packages/nvidia/*/lib"
	folders = append(folders, under("CONDA_PREFIX", "lib", site)...)
	folders = append(folders, under("VIRTUAL_ENV", site)...)
	for _, prefix := range pythonPrefixes() {
		// The last two are the folders that Debian's pip installs into.
		for _, sub := range []string{site, "local/lib/python3*/dist-packages/nvidia/*/lib", "lib/python3/dist-packages/nvidia/*/lib"} {
			folders = append(folders, filepath.Join(prefix, sub))
		}
	}
	return append(folders, under("HOME", ".local/"+site, ".pyenv/versions/*/"+site)...)
}

// pythonPrefixes lists the parents of the folders on the PATH that contain a python3. If that
// python3 is a symbolic link, as in a virtual environment, the list also contains the prefix of the
// link's target.
func pythonPrefixes() []string {
	var prefixes []string
	for _, folder := range filepath.SplitList(SecureEnv("PATH")) {
		python := filepath.Join(folder, "python3")
		if !filepath.IsAbs(folder) || !isFile(python) {
			continue
		}
		prefixes = append(prefixes, filepath.Dir(filepath.Clean(folder)))
		if target, err := filepath.EvalSymlinks(python); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(target)))
		}
	}
	return unique(prefixes)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
