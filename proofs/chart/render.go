// Renders a chart as Helm does: Go's own templates, the functions of sprig, and the few that Helm adds. For machines without Helm; Debian has
// golang-go, golang-github-masterminds-sprig-dev and golang-k8s-sigs-yaml-dev: GO111MODULE=off GOPATH=/usr/share/gocode go run render.go CHART VALUES RELEASE
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(file string) map[string]interface{} {
	text, err := os.ReadFile(file)
	must(err)
	found := map[string]interface{}{}
	must(yaml.Unmarshal(text, &found))
	return found
}

func main() {
	chart, values, release := os.Args[1], os.Args[2], os.Args[3]
	top := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv"} {
		delete(functions, name)
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := top.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		out, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(out), "\n"), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	top.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	must(err)
	sort.Strings(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		_, err = top.New(filepath.Base(file)).Parse(string(text))
		must(err)
	}
	about := read(filepath.Join(chart, "Chart.yaml"))
	given := map[string]interface{}{
		"Values":  read(values),
		"Chart":   map[string]interface{}{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
		"Release": map[string]interface{}{"Name": release, "Namespace": "default", "Service": "Helm"},
	}
	for _, file := range files {
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		var out bytes.Buffer
		must(top.ExecuteTemplate(&out, filepath.Base(file), given))
		fmt.Printf("---\n# %s\n%s\n", filepath.Base(file), strings.ReplaceAll(out.String(), "<no value>", ""))
	}
}
