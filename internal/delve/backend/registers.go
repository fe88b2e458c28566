package backend

import (
	"encoding/binary"
	"fmt"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/linutil"
)

// decodeRegisters makes delve's form of pr_reg, which is that of ptrace, for each
// architecture by delve's name: delve has a type for each. It is the one place of
// this package that tells architectures apart.
var decodeRegisters = map[string]func(regs []byte) (proc.Registers, error){
	"amd64": func(regs []byte) (proc.Registers, error) {
		var r linutil.AMD64PtraceRegs
		err := decode(regs, &r)
		return linutil.NewAMD64Registers(&r, nil), err
	},
	"arm64": func(regs []byte) (proc.Registers, error) {
		var r linutil.ARM64PtraceRegs
		err := decode(regs, &r)
		return linutil.NewARM64Registers(&r, false, 0, nil), err
	},
}

// decode decodes little-endian registers, those of all architectures here.
func decode(regs []byte, into any) error {
	if n := binary.Size(into); len(regs) < n {
		return fmt.Errorf("the registers have %d bytes, fewer than %d", len(regs), n)
	}
	_, err := binary.Decode(regs, binary.LittleEndian, into)
	return err
}
