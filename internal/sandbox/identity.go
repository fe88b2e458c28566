package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Identity is the user and group that a sandbox becomes: the value of --user. The zero
// Identity is the user that the process has.
type Identity struct {
	Given    bool
	UID, GID int
}

// Set parses UID or UID:GID. The group of UID alone has the same number.
func (id *Identity) Set(s string) error {
	user, group, both := strings.Cut(s, ":")
	if !both {
		group = user
	}
	uid, err := strconv.ParseUint(user, 10, 31)
	gid, err2 := strconv.ParseUint(group, 10, 31)
	if err = errors.Join(err, err2); err != nil {
		return fmt.Errorf("%q: give the numbers of a user and a group, as in 1000:1000", s)
	}
	*id = Identity{true, int(uid), int(gid)}
	return nil
}

func (id *Identity) String() string {
	if !id.Given {
		return ""
	}
	return fmt.Sprintf("%d:%d", id.UID, id.GID)
}

// Type is the name of the value in help.
func (id *Identity) Type() string { return "UID[:GID]" }
