package module

// readSlots reads the global offset tables of a live process as they are now, since a
// visit does not copy them. Only the dynamic linker writes to them, and the function
// that it has put there for a call is still there when the call is in progress.
func (s *Set) readSlots(p []byte, addr uint64) (int, error) {
	at := s.siteOf(addr)
	if at == nil || s.img.Process == nil {
		return 0, errNoFileBytes
	}
	for _, r := range at.open().Tables.Slots {
		if r.Lo <= addr && addr < r.Hi {
			n, err := s.img.Process.ReadMem(p[:min(uint64(len(p)), r.Hi-addr)], addr)
			if n < len(p) && err == nil {
				err = errNoFileBytes
			}
			return n, err
		}
	}
	return 0, errNoFileBytes
}
