// Package protov2 is the second version of the plugin's protocol, generated from the
// files in sfcore/plugin/v2, which document it.
package protov2

//go:generate go tool -modfile=../../../tools/go.mod buf generate
