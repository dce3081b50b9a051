package emulator

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver/image"
)

// fatbinSource returns the PTX in a fat binary that a device of the given capability would compile.
// If there is none, the error says why.
func fatbinSource(raw rawImage, capability int) ([]source, error) {
	const header = 16 // which states its own size and that of the rest
	head, ok := raw.bytes(0, header)
	if !ok {
		return nil, errors.New("the fat binary is damaged")
	}
	at := uint64(le.Uint16(head[6:]))
	rest, ok := raw.bytes(at, le.Uint64(head[8:]))
	if !ok {
		return nil, errors.New("the fat binary is damaged")
	}
	data, _ := raw.bytes(0, at+uint64(len(rest)))
	fat, err := image.Parse("fat binary", data)
	if err != nil {
		return nil, err
	}
	device := image.Arch{Major: capability / 10, Minor: capability % 10}
	var best image.Part
	for _, p := range fat.Parts() {
		if p.Kind == image.PTX && p.RunsOn(device) && (best.Kind == 0 || number(best.Arch) < number(p.Arch)) {
			best = p
		}
	}
	if best.Kind == 0 {
		return nil, fmt.Errorf("this fat binary holds machine code of a GPU and no PTX for compute capability %d.%d or below", device.Major, device.Minor)
	}
	text, err := best.Bytes()
	if err != nil {
		return nil, fmt.Errorf("in this fat binary: %w", err)
	}
	return plainSource(string(text)), nil
}

func number(a image.Arch) int { return a.Major*10 + a.Minor }
