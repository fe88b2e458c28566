package index

// schemaVersion is PRAGMA user_version. Whoever changes the tables raises it. An index
// of an older version is made again from the files; one of a newer version is refused.
const schemaVersion = 4

// application is PRAGMA application_id: "sfcr".
const application = 0x73666372

// schema is what [Dialect] makes tables of. It has a row for each crash. Signatures and programs, of which there are few, have
// tables of their own, with what is counted of them. What crashes that are kept have in common is
// counted in tallies, and in days, so that questions about groups do not read all crashes.
const schema = `
CREATE TABLE programs (
	id   INTEGER PRIMARY KEY,
	path TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL
);
CREATE INDEX programs_name ON programs (name);
CREATE TABLE signatures (
	id      INTEGER PRIMARY KEY,
	hashes  TEXT NOT NULL UNIQUE, -- address, alias, fine, coarse and kind
	address TEXT NOT NULL,
	alias   TEXT NOT NULL,
	fine    TEXT NOT NULL,
	coarse  TEXT NOT NULL,
	kind    TEXT NOT NULL,
	fault   TEXT NOT NULL,
	title   TEXT NOT NULL,
	grp     TEXT NOT NULL DEFAULT '',
	kept    INTEGER NOT NULL DEFAULT 0,
	bytes   INTEGER NOT NULL DEFAULT 0, -- of what is kept
	number  INTEGER NOT NULL DEFAULT 0, -- the highest of a crash of this kind
	counted INTEGER NOT NULL DEFAULT 0, -- crashes that were only counted, besides
	first   INTEGER NOT NULL DEFAULT 0, -- nanoseconds
	last    INTEGER NOT NULL DEFAULT 0,
	oldest  TEXT NOT NULL DEFAULT '',   -- ids
	newest  TEXT NOT NULL DEFAULT ''
);
CREATE INDEX signatures_grp ON signatures (grp);
CREATE INDEX signatures_kind ON signatures (kind);
CREATE TABLE groups (
	key    TEXT PRIMARY KEY,
	title  TEXT NOT NULL,
	fault  TEXT NOT NULL,
	count  INTEGER NOT NULL, -- also of those that are not kept
	kept   INTEGER NOT NULL,
	first  INTEGER NOT NULL,
	last   INTEGER NOT NULL,
	oldest TEXT NOT NULL,
	newest TEXT NOT NULL,
	bytes  INTEGER NOT NULL
);
CREATE INDEX groups_count ON groups (count DESC, last DESC);
CREATE TABLE crashes (
	id      TEXT PRIMARY KEY,
	time    INTEGER NOT NULL, -- nanoseconds
	day     INTEGER NOT NULL, -- since 1970-01-01 in UTC
	sig     INTEGER NOT NULL,
	program INTEGER NOT NULL,
	pid     INTEGER NOT NULL,
	uid     INTEGER NOT NULL,
	signal  TEXT NOT NULL,
	build   TEXT NOT NULL,
	host    TEXT NOT NULL,
	place   TEXT NOT NULL, -- the pod, the container or the unit
	number  INTEGER NOT NULL,
	kept    TEXT NOT NULL,
	bytes   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX crashes_sig ON crashes (sig, day, build, program, host, time);
CREATE INDEX crashes_time ON crashes (time);
CREATE INDEX crashes_program ON crashes (program, build, time);
CREATE INDEX crashes_build ON crashes (build, sig, day, program, time);
CREATE INDEX crashes_host ON crashes (host, sig, day, build, program, time);
CREATE TABLE tallies (
	day     INTEGER NOT NULL, -- or allDays, for all days together
	sig     INTEGER NOT NULL,
	program INTEGER NOT NULL,
	signal  TEXT NOT NULL,
	uid     INTEGER NOT NULL,
	place   TEXT NOT NULL,
	n       INTEGER NOT NULL, -- crashes that are kept
	first   INTEGER NOT NULL, -- nanoseconds
	last    INTEGER NOT NULL,
	oldest  TEXT NOT NULL,    -- ids
	newest  TEXT NOT NULL,
	PRIMARY KEY (day, sig, program, signal, uid, place)
) WITHOUT ROWID;
CREATE INDEX tallies_sig ON tallies (sig, day, n);
CREATE INDEX tallies_program ON tallies (program, day, n);
CREATE TABLE days (
	day INTEGER PRIMARY KEY,
	n   INTEGER NOT NULL
);
`

// stateSchema is for an index of a store.
const stateSchema = `
CREATE TABLE state (
	changed INTEGER NOT NULL -- the directory, in nanoseconds, when it was read last
);
`
