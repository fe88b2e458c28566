//go:build !linux

package resolve

import (
	"os"

	securejoin "github.com/cyphar/filepath-securejoin"

	"github.com/sfcore/sfcore/internal/elfx"
)

// openIn opens a file by its name, or by what the name is in a root.
func openIn(root, rest, name string) (*os.File, error) {
	if root != "" {
		var err error
		if name, err = securejoin.SecureJoin(root, rest); err != nil {
			return nil, err
		}
	}
	return elfx.OpenRegular(name)
}
