package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/elfx"
)

// rawFlags are the flags of commands that also accept the bytes of a section.
type rawFlags struct {
	raw     bool
	address string
}

func (o *rawFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.raw, "raw", false, "read FILE as the bytes of a section, not as an ELF file")
	f.StringVar(&o.address, "address", "0", "with --raw: the address of the section is `ADDR`")
}

// maxRaw bounds the bytes of a section that is given as a file.
const maxRaw = 1 << 30

// read returns the bytes of a section and its address. The name - stands for
// standard input.
func (o *rawFlags) read(name string) (data []byte, addr uint64, err error) {
	if addr, err = parseAddress("--address", o.address); err != nil {
		return nil, 0, err
	}
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := elfx.OpenRegular(name)
		if err != nil {
			return nil, 0, err
		}
		defer f.Close()
		in = f
	}
	if data, err = io.ReadAll(io.LimitReader(in, maxRaw+1)); err == nil && len(data) > maxRaw {
		err = fmt.Errorf("the file has more than the limit of %d bytes", maxRaw)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return data, addr, nil
}

func parseAddress(flag, s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not an address such as 0x401000", flag, s)
	}
	return v, nil
}
