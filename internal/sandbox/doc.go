// Package sandbox takes from this process the rights that reading a core does not need,
// so that a core which finds a defect in sfcore gains little by it.
package sandbox
