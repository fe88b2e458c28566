package database

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// states are the classes of errors by which PostgreSQL tells of its own state, or of the
// way to it, and not of what it was given [PostgreSQL, appendix A].
var states = []string{
	"08", // connection
	"25", // transaction state: read-only, as a standby is
	"28", // authorization
	"40", // rollback
	"42", // tables that are not there, or rights to them
	"53", // resources: the disk is full, too many connections
	"55", // objects in use
	"57", // an operator has intervened: it shuts down
	"58", // the system
	"3D", // no such database
	"3F", // no such schema
	"XX", // a defect
}

// refusals are what SQLite says of what it was given.
var refusals = []int{sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE}

// Refused reports whether a database does not take what it was given, and will not later.
// Any other error is of its state, as of a full disk, and may be over later.
func Refused(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return len(e.Code) == 5 && !slices.Contains(states, e.Code[:2])
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return slices.Contains(refusals, e.Code()&0xff)
	}
	return false
}
