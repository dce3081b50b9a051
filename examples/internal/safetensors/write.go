package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// FromFloat32s returns a tensor of type F32.
func FromFloat32s(name string, list []float32, shape ...int) Tensor {
	data := make([]byte, 0, 4*len(list))
	for _, v := range list {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return Tensor{Name: name, Type: F32, Shape: shape, Data: data}
}

// Write writes a file with the tensors in the given order. The caller must ensure that each
// shape fits its data.
func Write(w io.Writer, text map[string]string, tensors []Tensor) error {
	members := make(map[string]any, len(tensors)+1)
	if text != nil {
		members[metadata] = text
	}
	at := uint64(0)
	for _, t := range tensors {
		if _, twice := members[t.Name]; twice {
			return fmt.Errorf("safetensors: two tensors are called %q", t.Name)
		}
		end := at + uint64(len(t.Data))
		members[t.Name] = map[string]any{"dtype": t.Type, "shape": append([]int{}, t.Shape...), "data_offsets": [2]uint64{at, end}}
		at = end
	}
	header, err := json.Marshal(members)
	if err != nil {
		return err
	}
	// Pad the header with spaces, so that the data begin at a multiple of 8.
	header = append(header, bytes.Repeat([]byte{' '}, -len(header)&7)...)
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}
