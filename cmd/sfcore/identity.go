package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// identity is the user and group that a sandbox becomes: the value of --user.
type identity struct {
	given    bool
	uid, gid int
}

// Set parses UID or UID:GID. The group of UID alone has the same number.
func (id *identity) Set(s string) error {
	user, group, both := strings.Cut(s, ":")
	if !both {
		group = user
	}
	uid, err := strconv.ParseUint(user, 10, 31)
	gid, err2 := strconv.ParseUint(group, 10, 31)
	if err = errors.Join(err, err2); err != nil {
		return fmt.Errorf("%q: give the numbers of a user and a group, as in 1000:1000", s)
	}
	*id = identity{true, int(uid), int(gid)}
	return nil
}

func (id *identity) String() string {
	if !id.given {
		return ""
	}
	return fmt.Sprintf("%d:%d", id.uid, id.gid)
}

// Type is the name of the value in help.
func (id *identity) Type() string { return "UID[:GID]" }
