package testkit

// Slow reports whether the race detector or an emulator makes this program many times
// slower. A test that tries thousands of values one after the other takes some of them
// then: where nothing is slow, it takes all.
func Slow() bool { return raceDetector || Emulated() }
