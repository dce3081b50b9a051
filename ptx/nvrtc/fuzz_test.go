package nvrtc

import (
	"crypto/sha256"
	"reflect"
	"slices"
	"testing"
)

// FuzzEntry decodes cache files with arbitrary content and a correct hash. Encoding a
// decoded result must return the same bytes.
func FuzzEntry(f *testing.F) {
	f.Add(encode(key{}, &Result{PTX: []byte(".version 7.0"), Log: "fine", Lowered: map[string]string{"f<int>": "_Z1f"}}), true)
	f.Add([]byte(keyFormat), false)
	f.Fuzz(func(t *testing.T, data []byte, rehash bool) {
		if head := len(keyFormat) + sha256.Size; rehash && len(data) >= head {
			sum := sha256.Sum256(data[head:])
			data = slices.Concat([]byte(keyFormat), sum[:], data[head:])
		}
		r, err := decode(key{}, data)
		if err != nil {
			return
		}
		again, err := decode(key{}, encode(key{}, r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v was read, and then %+v, %v", r, again, err)
		}
	})
}
