// This module has no packages. It keeps data that only tests read out of the library's zip, which has a
// limit on its size (go run -C tools ./supply size -root ..).
module github.com/purecuda/cuda/driver/emulator/internal/vm/testdata/cuda

go 1.25.0
