package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"
)

// formula writes the formula for Homebrew.
func (r *release) formula(context.Context) error {
	type archive struct{ Name, Sum string }
	data := struct {
		Version  string
		Archives map[string]archive
	}{r.version, map[string]archive{}}
	for _, s := range []system{{"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}} {
		name := r.name(s) + ".tar.gz"
		sum, err := sumOf(filepath.Join(r.out, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // this is a part of a release
		} else if err != nil {
			return err
		}
		data.Archives[s.os+"_"+s.arch] = archive{name, fmt.Sprintf("%x", sum)}
	}
	f, err := os.Create(filepath.Join(r.out, "sfcore.rb"))
	if err != nil {
		return err
	}
	return errors.Join(formulaText.Execute(f, data), f.Close())
}

var formulaText = template.Must(template.New("formula").Parse(`# Made by tools/release.
class Sfcore < Formula
  desc "Stacks of Linux processes, from core files or live, by SFrame first"
  homepage "https://github.com/sfcore/sfcore"
  version "{{.Version}}"
  license "Apache-2.0"
{{$v := .Version}}
  on_macos do
    depends_on arch: :arm64
    url "https://github.com/sfcore/sfcore/releases/download/v{{$v}}/{{.Archives.darwin_arm64.Name}}"
    sha256 "{{.Archives.darwin_arm64.Sum}}"
  end

  on_linux do
    on_arm do
      url "https://github.com/sfcore/sfcore/releases/download/v{{$v}}/{{.Archives.linux_arm64.Name}}"
      sha256 "{{.Archives.linux_arm64.Sum}}"
    end
    on_intel do
      url "https://github.com/sfcore/sfcore/releases/download/v{{$v}}/{{.Archives.linux_amd64.Name}}"
      sha256 "{{.Archives.linux_amd64.Sum}}"
    end
  end

  def install
    bin.install Dir["sfcore*"]
    man1.install Dir["man/man1/*"]
    bash_completion.install Dir["completions/bash/*"]
    fish_completion.install Dir["completions/fish/*"]
    zsh_completion.install Dir["completions/zsh/*"]
    doc.install "docs", "testdata"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sfcore --version")
  end
end
`))
