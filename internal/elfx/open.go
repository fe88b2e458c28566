package elfx

import (
	"os"

	"github.com/sfcore/sfcore/memreader"
)

// Open maps an ELF file and reads its headers. release unmaps it. The file may
// shrink while it is mapped: see [memreader.Guard].
func Open(path string) (f *File, release func(), err error) {
	file, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	return OpenFile(file)
}

// OpenFile is Open for a file that is open. The caller closes it.
func OpenFile(file *os.File) (f *File, release func(), err error) {
	data, release, err := MapOpen(file)
	if err != nil {
		return nil, nil, err
	}
	if f, _, err = parseMapped(data); err != nil {
		release()
		return nil, nil, err
	}
	return f, release, nil
}

// MappedBuildID returns the build-id of the ELF file in data, which may be a
// mapped file, "" if it has none. The error says why data cannot be read as one.
func MappedBuildID(data []byte) (id string, err error) {
	_, id, err = parseMapped(data)
	return id, err
}

// parseMapped reads the headers and the build-id of the ELF file in data. Its error is
// a [*memreader.FaultError] if the file shrank meanwhile.
func parseMapped(data []byte) (f *File, id string, err error) {
	if fault := memreader.Guard(func() {
		if f, err = Parse(data); err == nil {
			id = f.BuildID()
		}
	}); fault != nil {
		return nil, "", fault
	}
	return f, id, err
}
