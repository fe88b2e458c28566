package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bills writes what the programs of each system are made of, as the linker recorded it in
// them, by CycloneDX.
func (r *release) bills(context.Context) error {
	for _, s := range r.systems {
		bom := cyclonedx.NewBOM()
		bom.Metadata = &cyclonedx.Metadata{
			Timestamp: r.time.Format(time.RFC3339),
			Component: component(cyclonedx.ComponentTypeApplication, "github.com/sfcore/sfcore", "v"+r.version),
		}
		seen := map[string]bool{}
		components, dependencies := []cyclonedx.Component{}, []cyclonedx.Dependency{}
		programs, err := r.programsOf(s)
		if err != nil {
			return err
		}
		for _, program := range programs {
			info, err := buildinfo.ReadFile(program.path)
			if err != nil {
				return err
			}
			c := component(cyclonedx.ComponentTypeApplication, info.Path, "v"+r.version)
			components = append(components, *c)
			needs := []string{}
			add := func(path, version string) {
				c := component(cyclonedx.ComponentTypeLibrary, path, version)
				needs = append(needs, c.BOMRef)
				if !seen[c.BOMRef] {
					seen[c.BOMRef] = true
					components = append(components, *c)
				}
			}
			add("std", info.GoVersion)
			for _, dep := range info.Deps {
				if dep.Replace != nil {
					dep = dep.Replace
				}
				add(dep.Path, dep.Version)
			}
			dependencies = append(dependencies, cyclonedx.Dependency{Ref: c.BOMRef, Dependencies: &needs})
		}
		bom.Components, bom.Dependencies = &components, &dependencies
		f, err := os.Create(filepath.Join(r.out, r.name(s)+".cdx.json"))
		if err != nil {
			return err
		}
		err = cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func component(kind cyclonedx.ComponentType, path, version string) *cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	return &cyclonedx.Component{Type: kind, Name: path, Version: version, PackageURL: url, BOMRef: url}
}
