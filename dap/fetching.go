package dap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// fetching is whether debug information may be fetched from servers, and from which: a
// boolean, a mode, a list of servers, or an object, as cppdbg has it.
type fetching struct {
	on      bool
	servers []string      // nil for those of the environment
	timeout time.Duration // for which one may be silent; 0 for that of the environment
	unused  []string      // what to say of parts that are not known
}

var errFetching = errors.New("debuginfod is true, false, a mode (on, off, always, never, auto), a list of the addresses of servers, or an object with enabled, servers and timeout")

// maxFetchTimeout bounds the time for which a server may be silent, in seconds.
const maxFetchTimeout = 24 * 60 * 60

// UnmarshalJSON implements json.Unmarshaler. What says neither yes nor no is an error,
// since fetching tells servers which programs run here.
func (d *fetching) UnmarshalJSON(raw []byte) error {
	*d = fetching{}
	switch string(bytes.ToLower(raw)) {
	case "null", "false", "0", "[]", `""`, `"off"`, `"never"`, `"no"`, `"false"`, `"disabled"`:
		return nil
	case "true", "1", `"on"`, `"always"`, `"auto"`, `"yes"`, `"true"`, `"enabled"`:
		d.on = true
		return nil
	}
	if raw[0] == '[' && json.Unmarshal(raw, &d.servers) == nil {
		d.on = true
		return nil
	}
	var parts map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &parts) != nil {
		return errFetching
	}
	d.on = true
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		var err error
		switch key {
		case "enabled":
			if first := parts[key][0]; first == '[' || first == '{' { // objects in objects would each be read again
				return fmt.Errorf("%q: %w", key, errFetching)
			}
			var enabled fetching
			err = enabled.UnmarshalJSON(parts[key])
			d.on = enabled.on
		case "servers", "urls":
			if err = json.Unmarshal(parts[key], &d.servers); len(d.servers) == 0 {
				d.servers = nil
			}
		case "timeout":
			var seconds float64
			if err = json.Unmarshal(parts[key], &seconds); err == nil && (seconds < 0 || seconds > maxFetchTimeout) {
				err = errFetching
			}
			d.timeout = time.Duration(seconds * float64(time.Second))
		default:
			d.unused = append(d.unused, fmt.Sprintf("\"debuginfod\" has no %q: it has enabled, servers and timeout.", key))
		}
		if err != nil {
			return fmt.Errorf("%q: %w", key, errFetching)
		}
	}
	return nil
}
