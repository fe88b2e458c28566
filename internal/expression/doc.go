// Package expression evaluates expressions of C, C++ and Rust over the variables of a
// stopped process: what a user types into a watch, a console or a command line. It
// knows the operators that need no call. Nothing is executed and nothing is changed.
//
// [Parse] makes a tree of a text, and [Env.Evaluate] an object of a tree. Names are
// looked up from the inside to the outside: variables of the function, members of its
// object, then what its unit, its module and the other modules define. A name with more
// than one meaning is an error. So is a value that is not known: an error names the part
// of the expression that has none.
package expression
