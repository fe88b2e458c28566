module github.com/sfcore/sfcore

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/pierrec/lz4/v4 v4.1.33
	github.com/therootcompany/xz v1.0.1
	golang.org/x/sys v0.49.0
)

require (
	github.com/cyphar/filepath-securejoin v0.7.0 // indirect
)
