//go:build sfcore_fleet_next

// The next version, for a test of two builds.

package message

// Version is that of the form. Messages of each version have subjects of their own, so that a
// worker that does not know one leaves it where it is. Schema names it in a message.
const (
	Version = 2
	Schema  = "sfcore.fleet/2"
)
