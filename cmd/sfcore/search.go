package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/limit"
)

// searchFlags are the flags of every command that opens a core: where the files of
// its modules are, how large it may be, and what the run may take.
type searchFlags struct {
	sysroot string
	paths   []string
	debug   []string
	fetch   bool
	sidecar []string
	noCache bool
	size    limit.Size
	limits
}

// register adds the flags. scope is what the help says first, about flags that do
// not apply to every file that the command opens; "" if all apply.
func (o *searchFlags) register(cmd *cobra.Command, scope string) {
	f := cmd.Flags()
	f.StringVar(&o.sysroot, "sysroot", "", scope+"look for recorded paths below `DIR`")
	f.StringArrayVar(&o.paths, "path", nil, scope+"look for files below `DIR`, by build-id, then by name and layout (repeatable)")
	f.StringArrayVar(&o.debug, "debug-dir", nil, scope+"look for debug files below `DIR`, laid out like /usr/lib/debug (repeatable)")
	f.StringArrayVar(&o.sidecar, "sframe-dir", nil, "for modules without .sframe, use what sframe synth wrote to `DIR` (repeatable)")
	f.BoolVar(&o.fetch, "debuginfod", false, scope+"fetch missing files from the servers in DEBUGINFOD_URLS, which learn the build-ids")
	f.BoolVar(&o.noCache, "no-cache", false, "neither use nor keep what saves time in the next run; see sfcore cache")
	o.size = core.DefaultMaxDecompressed
	f.Var(&o.size, "max-size", "refuse a core that decompresses to more than `SIZE`, for example 8G")
	o.limits.register(cmd)
	for _, dir := range []string{"sysroot", "path", "debug-dir", "sframe-dir"} {
		_ = cmd.MarkFlagDirname(dir)
	}
}

func (o *searchFlags) check() error {
	return cmp.Or(checkDirs("--sysroot", o.sysroot), checkDirs(pathFlag, o.paths...), checkDirs("--debug-dir", o.debug...), checkDirs("--sframe-dir", o.sidecar...))
}

// cacheDir returns the directory of the cache, "" for none.
func (o *searchFlags) cacheDir() string {
	if o.noCache {
		return ""
	}
	return cacheDir()
}

// cacheDir returns the directory for results that only save time; "" if there is
// none.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "sfcore")
}
