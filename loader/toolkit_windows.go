package loader

func (t Toolkit) patterns() []string { return t.Windows }

// librarySubfolders lists the library folders of a toolkit. CUDA 13 has one for each architecture.
var librarySubfolders = []string{`bin\x64`, "bin"}

// toolkitRoots lists the folders in which NVIDIA's installer places the toolkit.
func toolkitRoots() []string {
	return under("ProgramFiles", `NVIDIA GPU Computing Toolkit\CUDA\v*`)
}

// libraryFolders lists additional folders: those of an active conda environment and of the wheels
// in an active Python environment.
func libraryFolders() []string {
	folders := under("CONDA_PREFIX", `Library\bin`, "bin", `Lib\site-packages\nvidia\*\bin`, `Lib\site-packages\nvidia\*\bin\x86_64`)
	return append(folders, under("VIRTUAL_ENV", `Lib\site-packages\nvidia\*\bin`, `Lib\site-packages\nvidia\*\bin\x86_64`)...)
}
