// Package proto is the plugin's protocol, generated from sfcore.proto, which
// documents it.
package proto

//go:generate go tool -modfile=../../tools/go.mod buf generate
