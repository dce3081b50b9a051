// Package image reads files with device code, without the help of a driver. It reports the kind of
// a file and the architectures of its code, and checks that the file is complete.
//
//	i, err := image.Parse("axpy.fatbin", data)
//	for _, part := range i.Parts() {
//		fmt.Println(part) // cubin for sm_90, PTX 9.0 for sm_90
//	}
//
// A driver receives the address of an image without its length and trusts the image's headers. A
// truncated cubin therefore crashes the process. Package driver uses this package to check every
// image before it loads the image.
package image
