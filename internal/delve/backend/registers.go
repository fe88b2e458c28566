package backend

import (
	"encoding/binary"
	"fmt"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/linutil"
)

// goarch has the names that delve knows of package arch's architectures. It has
// none for s390x and for big-endian aarch64.
var goarch = map[string]string{"amd64": "amd64", "aarch64": "arm64"}

// registers makes delve's form of pr_reg, which is that of ptrace.
func registers(arch string, regs []byte) (proc.Registers, error) {
	var amd64 linutil.AMD64PtraceRegs
	var arm64 linutil.ARM64PtraceRegs
	var dst any = &amd64
	if arch == "aarch64" {
		dst = &arm64
	}
	if n := binary.Size(dst); len(regs) < n {
		return nil, fmt.Errorf("the registers have %d bytes, fewer than %d", len(regs), n)
	}
	if _, err := binary.Decode(regs, binary.LittleEndian, dst); err != nil {
		return nil, err
	}
	if arch == "aarch64" {
		return linutil.NewARM64Registers(&arm64, false, 0, nil), nil
	}
	return linutil.NewAMD64Registers(&amd64, nil), nil
}
