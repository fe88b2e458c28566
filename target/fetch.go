package target

import "errors"

var errNoServers = errors.New("files are not fetched from debuginfod servers")

// FetchSource fetches a source file from the servers of Options.Debuginfod, by
// the build-id of a module and the path in its debug information, and returns
// the name of the copy.
func (t *Target) FetchSource(buildID, file string) (string, error) {
	if t.opts.Debuginfod == nil {
		return "", errNoServers
	}
	return t.opts.Debuginfod.Source(buildID, file)
}
