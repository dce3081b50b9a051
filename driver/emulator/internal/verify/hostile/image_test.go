package hostile_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

const linkPTX = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry linked()\n{\n\tret;\n}\n"

func opened(t *testing.T) *driver.Driver {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	e := emulator.New(emulator.Config{})
	t.Cleanup(func() { ok(t, e.Close()) })
	d, err := driver.New(gputest.Record(t, e))
	ok(t, err)
	var ctx cu.CUcontext
	ok(t, d.CuInit(0))
	ok(t, d.CuCtxCreate(&ctx, nil, 0, 0))
	return d
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, what string, err error, want cu.CUresult) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func linkedImage(t testing.TB) []byte {
	t.Helper()
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	l, err := c.NewLinker()
	if err == nil {
		err = l.Add("linked", []byte(linkPTX))
	}
	var image []byte
	if err == nil {
		image, err = l.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	image = slices.Clone(image)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return image
}

// changed returns a copy of the image in which the last section has another type, offset and size.
func changed(image []byte, kind uint32, at, size uint64) []byte {
	b := slices.Clone(image)
	header := b[len(b)-64:]
	binary.LittleEndian.PutUint32(header[4:], kind)
	binary.LittleEndian.PutUint64(header[0x18:], at)
	binary.LittleEndian.PutUint64(header[0x20:], size)
	return b
}

// hostileImages returns images, by name, whose headers point outside the image.
func hostileImages(t testing.TB) map[string][]byte {
	image := linkedImage(t)
	at := binary.LittleEndian.Uint64(image[len(image)-64+0x18:])
	size := binary.LittleEndian.Uint64(image[len(image)-64+0x20:])
	fat := bytes.Repeat([]byte{0}, 16+64)
	copy(fat, "\x50\xed\x55\xba\x01\x00\x10\x00")
	fat[8] = 64
	return map[string][]byte{
		"no bytes, far away":            changed(image, 8, 1<<40, size),
		"no bytes, too many":            changed(image, 8, at, 1<<40),
		"no bytes":                      changed(image, 8, at, size),
		"no type":                       changed(image, 0, 1<<40, size),
		"shared memory":                 changed(image, 0x7000000a, 1<<40, 1<<20),
		"of CUDA's own, far away":       changed(image, 0x70000001, 1<<40, size),
		"unknown, far away":             changed(image, 0x12345678, 1<<40, size),
		"far away":                      changed(image, 1, 1<<40, size),
		"too many":                      changed(image, 1, at, 1<<40),
		"all there are, and more":       changed(image, 1, at, 1<<63),
		"the end of addresses":          changed(image, 1, 1<<64-8, 64),
		"one too many":                  changed(image, 1, at, uint64(len(image))-at+1),
		"the header":                    changed(image, 1, 0, 64),
		"the table":                     changed(image, 1, uint64(len(image))-64, 64),
		"a fat binary's entry of 0":     fat,
		"a fat binary larger than it":   append([]byte("\x50\xed\x55\xba\x01\x00\x10\x00\xff\xff\xff\xff\xff\xff\xff\x7f"), make([]byte, 64)...),
		"a fat binary's header of 0":    append([]byte("\x50\xed\x55\xba\x01\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00"), make([]byte, 64)...),
		"a fat binary of half an entry": []byte("\x50\xed\x55\xba\x01\x00\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	}
}

// The emulator must not read outside an image, whether or not the typed API checks the image first.
func TestImagesStayWithinTheirBytes(t *testing.T) {
	d := opened(t)
	var m cu.CUmodule
	for name, image := range hostileImages(t) {
		if err := d.CuModuleLoadData(&m, unsafe.Pointer(&image[0])); err == nil {
			t.Errorf("%s: it was loaded", name)
		} else {
			expect(t, name, err, cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
		}
		file := filepath.Join(gputest.TempDir(t), "image")
		ok(t, os.WriteFile(file, image[:len(image)-1], 0o600))
		path := unsafe.StringData(file + "\x00")
		expect(t, name+" from a file", d.CuModuleLoad(&m, path), cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
		var l cu.CUlibrary
		expect(t, name+" as a library", d.CuLibraryLoadData(&l, unsafe.Pointer(&image[0]), nil, nil, 0, nil, nil, 0), cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
		c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
		if _, err := c.LoadModule(image); err == nil || !noGood(err) {
			t.Errorf("%s: the typed API returns %v", name, err)
		}
	}
	image := linkedImage(t)
	ok(t, d.CuModuleLoadData(&m, unsafe.Pointer(&image[0])))
	ok(t, d.CuModuleUnload(m))
	runtime.KeepAlive(image)
}

func TestShortestTextIsRefused(t *testing.T) {
	d := opened(t)
	var m cu.CUmodule
	text := []byte{'.', 0}
	expect(t, "a dot", d.CuModuleLoadData(&m, unsafe.Pointer(&text[0])), cu.CUDA_ERROR_INVALID_IMAGE)
}
