// Package image reads files of device code without a driver. It reports their kind and the
// architectures that they hold code for, and checks that they are complete.
//
//	i, err := image.Parse("axpy.fatbin", data)
//	for _, part := range i.Parts() {
//		fmt.Println(part) // cubin for sm_90, PTX 9.0 for sm_90
//	}
//
// A driver gets the address of an image without its length and trusts the image's headers, so a
// truncated cubin crashes the process. Package driver therefore checks every image with this
// package before loading it.
package image
