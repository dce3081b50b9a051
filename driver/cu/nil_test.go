package cu_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
)

func TestRawFunctionsOfNoDriverSaySo(t *testing.T) {
	for _, d := range []*cu.Driver{nil, new(cu.Driver)} {
		v, n := reflect.ValueOf(d), 0
		for i := range v.NumMethod() {
			name := v.Type().Method(i).Name
			if !strings.HasPrefix(name, "Cu") {
				continue
			}
			n++
			var args []reflect.Value
			for j := range v.Method(i).Type().NumIn() {
				args = append(args, reflect.Zero(v.Method(i).Type().In(j)))
			}
			err, _ := v.Method(i).Call(args)[0].Interface().(error)
			if err == nil || !strings.Contains(err.Error(), "driver.Open") {
				t.Errorf("%s of %v: %v", name, d, err)
			}
		}
		if n < 480 {
			t.Errorf("only %d raw functions were called", n)
		}
	}
}
