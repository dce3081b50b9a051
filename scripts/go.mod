// Nothing here is Go. This file keeps the scripts out of what "go get" downloads.
module github.com/purecuda/cuda/scripts

go 1.25.0
