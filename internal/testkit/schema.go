package testkit

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Schema returns the JSON Schema [draft 2020-12] of documents whose types are those of
// values: of one of them, if there are several. Strict is for tests: it forbids members
// that the types do not have, while documents of later versions may have more.
func Schema(t testing.TB, name, title string, strict bool, values ...any) []byte {
	t.Helper()
	s := schemas{strict: strict, defs: map[string]any{}, types: map[string]reflect.Type{}}
	var all []any
	for _, v := range values {
		all = append(all, s.of(reflect.TypeOf(v)))
	}
	doc := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:sfcore:schema:" + name, "title": title, "$defs": s.defs,
	}
	if len(all) > 1 {
		doc["anyOf"] = all
	} else {
		maps.Copy(doc, s.of(reflect.TypeOf(values[0])))
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// schemas makes the schemas of types. Those of structures have names, because some contain
// themselves.
type schemas struct {
	strict bool
	defs   map[string]any
	types  map[string]reflect.Type // by name
}

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	timeType      = reflect.TypeFor[time.Time]()
	rawType       = reflect.TypeFor[json.RawMessage]()
)

func (s *schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case t == rawType:
		return map[string]any{}
	case t.Implements(textMarshaler):
		return text(t)
	}
	switch t.Kind() { //nolint:exhaustive // documents have no other kinds
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.named(t)
	}
	return map[string]any{}
}

// text is the schema of what is written as text: one of some words, or an address.
func text(t reflect.Type) map[string]any {
	schema := map[string]any{"type": "string"}
	v := reflect.New(t).Elem()
	if b, err := v.Interface().(encoding.TextMarshaler).MarshalText(); err == nil && strings.HasPrefix(string(b), "0x") {
		schema["pattern"] = "^0x[0-9a-f]+$"
		return schema
	}
	var words []string
	for i := range 64 {
		switch t.Kind() {
		case reflect.Uint8, reflect.Uint, reflect.Uint16, reflect.Uint32:
			v.SetUint(uint64(i))
		case reflect.Int, reflect.Int8:
			v.SetInt(int64(i))
		default:
			return schema
		}
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil || strings.ContainsAny(string(b), "(, ") { // there is no such word
			break
		}
		words = append(words, string(b))
	}
	if len(words) > 1 && len(words) < 64 {
		schema["enum"] = words
	}
	return schema
}

// named is a reference to the schema of a structure.
func (s *schemas) named(t reflect.Type) map[string]any {
	pkg, name, _ := strings.Cut(t.String(), ".")
	if other, known := s.types[name]; known && other != t {
		name = pkg + strings.ToUpper(name[:1]) + name[1:] // of a type that another package calls the same
	}
	ref := map[string]any{"$ref": "#/$defs/" + name}
	if s.types[name] == t {
		return ref
	}
	s.types[name] = t
	properties, required := map[string]any{}, []string{}
	schema := map[string]any{"type": "object", "properties": properties}
	s.defs[name] = schema
	s.members(t, properties, &required)
	if len(required) > 0 {
		schema["required"] = required
	}
	if s.strict {
		schema["additionalProperties"] = false
	}
	return ref
}

func (s *schemas) members(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			s.members(embedded, properties, required)
			continue
		}
		if !f.IsExported() || name == "-" || name == "" {
			continue
		}
		if _, outer := properties[name]; outer && f.Type.Kind() != reflect.Slice {
			continue
		}
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
