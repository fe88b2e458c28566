package importer

import (
	"time"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/foreign"
	"github.com/sfcore/sfcore/internal/crash/store"
)

// Record returns what is known of a crash that is not read yet.
func Record(c *foreign.Crash, id string) *store.Record {
	r := &store.Record{
		Schema: store.Schema, ID: id, Time: timeOf(c).UTC(), PID: c.PID, UID: c.Owner, GID: c.Group,
		Program: c.Program, Signal: c.Signal, File: c.File, Place: crash.PlaceOf(c.Cgroup),
		Origin: &store.Origin{Store: string(c.Kind), Cursor: c.Cursor},
	}
	if r.Unit == "" {
		r.Unit = c.Unit
	}
	if c.UID >= 0 {
		r.Origin.User = &c.UID
	}
	if c.Missing != "" {
		r.Problems = []string{c.Missing}
	}
	return r
}

// timeOf returns when a crash was. Whoever owns a file says that, so it is not later than
// now.
func timeOf(c *foreign.Crash) time.Time {
	if now := time.Now(); c.Time.After(now) || c.Time.Before(time.Unix(0, 0)) {
		return now
	}
	return c.Time
}
