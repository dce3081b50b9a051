// Nothing here is Go. This file keeps the pages out of what "go get" downloads.
module github.com/purecuda/cuda/docs

go 1.25.0
