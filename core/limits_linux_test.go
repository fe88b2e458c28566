package core

import (
	"testing"
	"time"
)

// The limits of a visit are those that docs/live.md and docs/robustness.md tell.
func TestVisitLimits(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want int64
	}{
		{"attempts while the process executes programs", maxExecs, 8},
		{"bytes for the stack of a thread that runs", usualStack, 16_384},
		{"bytes of a head", headSize, 4096},
		{"copies at a time", maxPieces, 512},
		{"workers", maxWorkers, 8},
		{"share of the time for a stall", shareForStall, 8},
		{"share of the time for mappings", shareForMaps, 4},
		{"bytes of a top", topSize, 16_384},
		{"bytes of a piece", maxPiece, 4_194_304},
		{"files", maxHeld, 4096},
		{"other files", otherFiles, 32},
		{"bytes of the arguments", maxCommand, 4096},
		{"bytes of a file of /proc", maxProcFile, 536_870_912},
		{"attempts to seize", maxSeizes, 3},
		{"bytes of a register set", maxRegset, 1024},
		{"tracers of tracers", maxTracers, 16},
		{"bytes of the smallest page", pageBytes, 4096},
		{"seconds for opening files", int64(maxOpening / time.Second), 2},
		{"seconds for the preparation", int64(maxPreparing / time.Second), 10},
		{"seconds for a turn", int64(maxTurn / time.Second), 5},
		{"milliseconds for execve", int64(execPatience / time.Millisecond), 500},
		{"milliseconds without a change", int64(patience / time.Millisecond), 10},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}
