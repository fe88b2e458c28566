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
	github.com/go-delve/delve v1.27.2 // indirect
	github.com/google/go-dap v0.12.0 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/arch v0.32.0 // indirect
	golang.org/x/term v0.47.0 // indirect
)
