// Package nvrtc compiles CUDA C++ to PTX or to a cubin at run time, with NVIDIA's
// run-time compiler NVRTC. It opens the NVRTC library that is installed. Building a
// program requires neither that library nor the CUDA toolkit nor a GPU, and compiling
// does not require a GPU either.
//
//	c, err := nvrtc.Open()
//	if errors.Is(err, nvrtc.ErrNotInstalled) {
//		// the error says what to install
//	}
//	arch, err := c.ArchFor(9, 0) // the device's compute capability
//	result, err := c.Compile(ctx, nvrtc.Program{Name: "saxpy.cu", Source: text, Arch: arch})
//	module, err := cudaContext.LoadModule(result.Image())
//
// # Which library
//
// [Open] uses the library named by the environment variable PURECUDA_NVRTC. Otherwise it uses the
// newest that it finds: in the toolkit that CUDA_PATH or CUDA_HOME names, by the
// system's own search, where toolkits are usually installed, and in an active conda or
// Python environment ([loader.OpenToolkit]). It supports NVRTC 11.2 and newer.
//
// A driver refuses PTX from an NVRTC that is newer than itself. [UpTo] with the
// driver's version restricts the search to libraries that are not newer. Within a major
// version of CUDA, compiling to a cubin also works: use a real architecture such as
// sm_90.
//
// # The cache
//
// Compiling takes a few hundred milliseconds. A result from the cache takes well under
// one. Results are kept in the folder purecuda/nvrtc of [os.UserCacheDir] (on Linux
// ~/.cache/purecuda/nvrtc), or in the one that PURECUDA_NVRTC_CACHE names. The value
// off turns the cache off, as does [WithoutCache]. A cached result is used if nothing
// that it depends on has changed: the source, options, names, the compiler, and the
// contents of every header that the source can reach by #include. Programs whose
// dependencies cannot be known in advance are compiled each time: those that name a
// header by a macro, and options that make NVRTC write files. [Cache] has the details.
package nvrtc
