package debuginfo

// splitFiles are the files of split units.
type splitFiles struct{}

// split returns the unit that has the functions of u.
func (u *unit) split() *unit { return u }
