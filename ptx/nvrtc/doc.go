// Package nvrtc compiles CUDA C++ text to PTX or to a cubin when a program runs,
// with NVIDIA's run-time compiler NVRTC. The compiler is a library that is opened
// where it is installed: neither it nor the CUDA toolkit nor a GPU is needed to
// build a program, and a GPU is not needed to compile.
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
// [Open] takes the library that the environment variable PURECUDA_NVRTC names,
// or else the newest that it finds: in the toolkit that CUDA_PATH or CUDA_HOME
// names, by the system's own search, where toolkits are usually installed, and
// in an active conda or Python environment ([loader.OpenToolkit]). NVRTC 11.2 and
// newer are looked for.
//
// PTX of a newer NVRTC than the driver is refused by the driver when it is
// loaded. [UpTo] with the driver's version looks for one that is not newer; a
// cubin, which a real architecture such as sm_90 asks for, is the other way out,
// within a major version of CUDA.
//
// # The cache
//
// Compiling takes some hundred milliseconds; a result from the cache takes well
// under one. Results are kept in the folder purecuda/nvrtc of [os.UserCacheDir]
// (on Linux ~/.cache/purecuda/nvrtc), or in the one that PURECUDA_NVRTC_CACHE
// names; the value off turns the cache off, as does [WithoutCache]. A result is
// found again if nothing differs that it depends on: source, options, names,
// every header that the source can reach by #include with its contents, and the
// compiler. What cannot be told in advance is compiled each time: programs that
// name a header by a macro, and options that have NVRTC write files. [Cache] has
// the details.
package nvrtc
