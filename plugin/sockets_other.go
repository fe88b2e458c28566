//go:build !unix

package plugin

// socketDir is nothing where go-plugin has no Unix sockets.
type socketDir struct{}

func makePrivate() (*socketDir, error) { return nil, nil } //nolint:nilnil // there are no sockets to protect
func enter(string) (*socketDir, error) { return nil, nil } //nolint:nilnil // as above
func (*socketDir) restrict() error     { return nil }
func (*socketDir) leave()              {}
