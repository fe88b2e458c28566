package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/limit"
)

// cached are the kinds of files in the cache, by how their names begin.
var cached = []struct{ prefix, what string }{
	{"places-", "functions and lines of debug information, by build-id"},
	{"build-ids-", "build-ids of the files below --path"},
}

func newCacheCommand() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show what earlier runs have found out, or forget it",
		Long: `cache says where sfcore keeps what saves time in the next run, and how much it is:
functions and lines that were found in debug information, and the build-ids of
files below --path. Each is used only for the very file that it was read from.
With --no-cache, a command neither reads nor writes any of it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEither(format); err != nil {
				return err
			}
			if format == "json" {
				return withCache(cmd.OutOrStdout(), writeCache)
			}
			return withCache(cmd.OutOrStdout(), showCache)
		},
	}
	eitherFormat(cmd, &format)
	cmd.AddCommand(newCacheClearCommand())
	return cmd
}

func newCacheClearCommand() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use:   "clear [flags]",
		Short: "Remove all of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEither(format); err != nil {
				return err
			}
			return withCache(cmd.OutOrStdout(), func(out io.Writer, dir string, files []fs.FileInfo) error {
				if err := clearCache(dir, files); err != nil {
					return err
				}
				if format == "json" {
					return writeCache(out, dir, files)
				}
				_, err := fmt.Fprintf(out, "removed %s from %s\n", count(len(files), "file"), plain(dir))
				return err
			})
		},
	}
	eitherFormat(cmd, &format)
	return cmd
}

// withCache calls do with the cache, whose directory may not exist.
func withCache(out io.Writer, do func(out io.Writer, dir string, files []fs.FileInfo) error) error {
	dir := cacheDir()
	if dir == "" {
		return errors.New("there is no cache: neither XDG_CACHE_HOME nor HOME is set")
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if kindOf(e.Name()) < 0 || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil {
			files = append(files, st)
		}
	}
	return do(out, dir, files)
}

// kindOf returns the kind of a file, -1 if it is not of the cache.
func kindOf(name string) int {
	for i := range cached {
		if strings.HasPrefix(name, cached[i].prefix) {
			return i
		}
	}
	return -1
}

// cacheDocument is what "cache --format json" prints. With clear it is what was removed.
type cacheDocument struct {
	Schema    string       `json:"schema"`
	Directory string       `json:"directory"`
	Kinds     []cachedKind `json:"kinds"`
}

// cachedKind counts the files of a kind.
type cachedKind struct {
	What  string `json:"what"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

func countCache(dir string, files []fs.FileInfo) *cacheDocument {
	doc := &cacheDocument{Schema: "sfcore.cache/1", Directory: dir}
	for i := range cached {
		kind := cachedKind{What: cached[i].what}
		for _, f := range files {
			if kindOf(f.Name()) == i {
				kind.Files, kind.Bytes = kind.Files+1, kind.Bytes+f.Size()
			}
		}
		doc.Kinds = append(doc.Kinds, kind)
	}
	return doc
}

func writeCache(out io.Writer, dir string, files []fs.FileInfo) error {
	return document.Write(out, countCache(dir, files))
}

func showCache(out io.Writer, dir string, files []fs.FileInfo) error {
	fmt.Fprintln(out, plain(dir))
	for _, kind := range countCache(dir, files).Kinds {
		if _, err := fmt.Fprintf(out, "%6d files %10s  %s\n", kind.Files, fmt.Sprint(limit.Size(kind.Bytes)), kind.What); err != nil {
			return err
		}
	}
	return nil
}

func clearCache(dir string, files []fs.FileInfo) error {
	for _, f := range files {
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
