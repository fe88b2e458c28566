package companion

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/version"
)

// Names are the programs that belong to sfcore.
var Names = []string{"sfcore-crash", "sfcore-delve", "sfcore-fleet", "sfcore-plugin"}

// versionVar tells a companion the version of the program that starts it.
const versionVar = "SFCORE_VERSION"

// Environ returns the environment for a companion: that of this process, and its version.
func Environ() []string { return append(os.Environ(), Told()) }

// Told is the variable that tells a companion the version of this program, for an environment
// that has little else.
func Told() string { return versionVar + "=" + version.Get().Version }

// Check returns an error if another version of sfcore has started this program. Each
// program of sfcore calls it first. The programs of a release know each other's
// arguments and data; those of two releases may misunderstand each other.
func Check(name string) error {
	other, ok := os.LookupEnv(versionVar)
	if !ok {
		return nil
	}
	if err := os.Unsetenv(versionVar); err != nil { // what this program starts is not the other's companion
		return err
	}
	own := version.Get().Version
	if other == own {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		self = name
	}
	return fmt.Errorf("%s has version %s, but version %.40q has started it; install all programs of sfcore from one release (sfcore version lists them)", self, own, other)
}

// askTimeout is how long a program may take to say its version. It takes milliseconds.
const askTimeout = 5 * time.Second

// Version asks the program in a file for its version.
func Version(ctx context.Context, file string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "--version")
	cmd.Stdin = strings.NewReader("") // a pipe: there may be no /dev/null
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s does not say its version: %w", file, err)
	}
	words := strings.Fields(string(out[:min(len(out), 256)]))
	if len(words) < 3 || words[1] != "version" {
		return "", fmt.Errorf("%s does not say its version", file)
	}
	return words[2], nil
}
