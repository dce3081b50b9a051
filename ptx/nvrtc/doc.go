// Package nvrtc compiles CUDA C++ to PTX or to a cubin at run time, with NVIDIA's
// run-time compiler NVRTC. It opens the installed NVRTC library. Building a Go program
// does not require that library, the CUDA toolkit or a GPU. Compiling CUDA C++ does not
// require a GPU.
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
// [Open] uses the library named by the environment variable PURECUDA_NVRTC. Otherwise it opens the
// newest one that [loader.OpenToolkit] finds. That function searches the toolkit in CUDA_PATH or
// CUDA_HOME, the system's library path, the usual folders of toolkits, and an active conda or
// Python environment. This package supports NVRTC 11.2 and newer.
//
// A driver rejects PTX from an NVRTC that is newer than the driver. Pass [UpTo] with the
// driver's version to skip newer libraries. Within a major version of CUDA, you can also
// compile to a cubin. Use a real architecture such as sm_90.
//
// # The cache
//
// Compiling takes a few hundred milliseconds. A result from the cache takes well under one
// millisecond. The cache is the folder purecuda/nvrtc of [os.UserCacheDir] (on Linux
// ~/.cache/purecuda/nvrtc), or the folder in PURECUDA_NVRTC_CACHE. The value off turns the cache
// off, as does [WithoutCache]. A cached result is used only if the source, options, names,
// compiler, and all headers reachable through #include are unchanged. A program is compiled each
// time if it names a header by a macro, because its dependencies are then unknown. A program is
// also compiled each time if its options make NVRTC write files. See [Cache] for details.
package nvrtc
