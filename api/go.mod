// Nothing here is Go. This file keeps the lists out of what "go get" downloads.
module github.com/purecuda/cuda/api

go 1.25.0
