package command

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// TerminalWidth returns how many columns the terminal has that a command writes to; 0 for
// none, or one that is too narrow for words. It is for programs of Linux.
func TerminalWidth(cmd *cobra.Command) int {
	const least = 40
	f, ok := cmd.OutOrStdout().(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col < least {
		return 0
	}
	return int(size.Col)
}
