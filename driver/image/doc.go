// Package image reads files of device code without a driver: what kind they are,
// which architectures they hold code for, and whether they are whole.
//
//	i, err := image.Parse("axpy.fatbin", data)
//	for _, part := range i.Parts() {
//		fmt.Println(part) // cubin for sm_90, PTX 9.0 for sm_90
//	}
//
// A driver gets an image as an address without a length and trusts its headers: a
// cubin that is cut off crashes the process. Package driver therefore reads every
// image with this package before it loads it.
package image
