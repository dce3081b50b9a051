package loader

import "runtime"

func (t Toolkit) patterns() []string { return t.Linux }

var librarySubfolders = []string{"lib64", "lib", "targets/" + toolkitTarget() + "/lib"}

// toolkitTarget is how the toolkit calls this system.
func toolkitTarget() string {
	if runtime.GOARCH == "arm64" {
		return "sbsa-linux"
	}
	return "x86_64-linux"
}

// toolkitRoots are where NVIDIA's installers and packages put the toolkit.
func toolkitRoots() []string {
	return []string{
		"/usr/local/cuda",
		"/usr/local/cuda-*",
		"/opt/cuda", // Arch
		"/usr/lib/cuda",
		"/usr/lib/nvidia-cuda-toolkit",
	}
}

// libraryFolders are others: Debian's, those of an active conda environment and
// of the wheels in an active Python environment.
func libraryFolders() []string {
	folders := []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib64"}
	if runtime.GOARCH == "arm64" {
		folders[0] = "/usr/lib/aarch64-linux-gnu"
	}
	folders = append(folders, under("CONDA_PREFIX", "lib", "lib/python3*/site-packages/nvidia/*/lib")...)
	return append(folders, under("VIRTUAL_ENV", "lib/python3*/site-packages/nvidia/*/lib")...)
}
