package elfx

import (
	"os"

	"github.com/sfcore/sfcore/memreader"
)

// Open maps an ELF file and reads its headers. release unmaps it. The file may
// shrink while it is mapped: see [memreader.Guard]. Files that share a budget are
// opened with it; nil is one for the file alone.
func Open(path string, budget *Budget) (f *File, release func(), err error) {
	file, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	return OpenFile(file, budget)
}

// OpenFile is Open for a file that is open. The caller closes it.
func OpenFile(file *os.File, budget *Budget) (f *File, release func(), err error) {
	data, release, err := MapOpen(file)
	if err != nil {
		return nil, nil, err
	}
	if f, _, err = parseMapped(data, budget); err != nil {
		release()
		return nil, nil, err
	}
	if st, err := file.Stat(); err == nil {
		f.Stamp = stampOf(st)
		if budget != nil {
			f.allowance = budget.allowanceOf(st)
		}
	}
	return f, release, nil
}

// MappedBuildID returns the build-id of the ELF file in data, which may be a
// mapped file, "" if it has none. The error says why data cannot be read as one.
func MappedBuildID(data []byte) (id string, err error) {
	_, id, err = parseMapped(data, nil)
	return id, err
}

// parseMapped reads the headers and the build-id of the ELF file in data, for which it
// may need the section headers. Its error is a [*memreader.FaultError] if the file
// shrank meanwhile.
func parseMapped(data []byte, budget *Budget) (f *File, id string, err error) {
	if fault := memreader.Guard(func() {
		if f, err = Parse(data); err == nil {
			if budget != nil {
				f.Budget = budget
			}
			id = f.BuildID()
		}
	}); fault != nil {
		return nil, "", fault
	}
	return f, id, err
}
