package process

import (
	"reflect"
	"testing"
)

// Every option is used for the modules, for sources, or for the walk.
func TestOptionsReachModules(t *testing.T) {
	elsewhere := map[string]bool{
		"SourceMap": true, "Methods": true, "MaxFrames": true, "MaxTime": true, "MaxTotalTime": true, // of the walk and of sources
		"Debuginfod": true, "DebuginfodServers": true, "DebuginfodTimeout": true, "Progress": true, "Context": true, // in the client; see servers
	}
	var opts Options
	v := reflect.ValueOf(&opts).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString("set")
		case []string:
			f.Set(reflect.ValueOf([]string{"set"}))
		case func(int):
			f.Set(reflect.ValueOf(func(int) {}))
		default:
			if name := v.Type().Field(i).Name; !elsewhere[name] {
				t.Errorf("%s is of a kind that this test cannot set", name)
			}
		}
	}
	got := reflect.ValueOf(opts.module())
	for i := range got.NumField() {
		if name := got.Type().Field(i).Name; got.Field(i).IsZero() && name != "Debuginfod" && name != "NamesOnly" {
			t.Errorf("%s does not reach the modules", name)
		}
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !got.FieldByName(name).IsValid() && !elsewhere[name] {
			t.Errorf("%s goes nowhere", name)
		}
	}
}
