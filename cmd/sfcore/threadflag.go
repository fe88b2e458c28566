package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// threadIDs is a list of ids of threads; the flag adds to it.
type threadIDs []int

// Set implements pflag.Value.
func (t *threadIDs) Set(text string) error {
	for id := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(id)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return errors.New("this number is too large")
		case err != nil:
			return fmt.Errorf("%q is not an id; --name chooses threads by their name", id)
		}
		*t = append(*t, n)
	}
	return nil
}

// String implements pflag.Value.
func (t *threadIDs) String() string {
	var ids []string
	for _, id := range *t {
		ids = append(ids, strconv.Itoa(id))
	}
	return strings.Join(ids, ",")
}

// Type implements pflag.Value.
func (*threadIDs) Type() string { return "TID" }
