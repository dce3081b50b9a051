// The tools: generators, checks, and programs in which the library is not alone,
// some of which need cgo. A module of its own, so that nothing they import
// reaches a user's build.
module github.com/purecuda/cuda/tools

go 1.25.0

require (
	github.com/ebitengine/purego v0.11.3
	github.com/purecuda/cuda v0.0.0
	modernc.org/cc/v4 v4.30.4
)

require (
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	golang.org/x/sys v0.46.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/opt v0.2.0 // indirect
	modernc.org/sortutil v1.2.1 // indirect
	modernc.org/strutil v1.2.1 // indirect
	modernc.org/token v1.1.0 // indirect
)

replace github.com/purecuda/cuda => ../
