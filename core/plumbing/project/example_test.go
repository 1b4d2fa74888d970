package project_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/petrock/petrock/core/plumbing/project"
)

// A project is found from every folder in it.
func ExampleFind() {
	root, err := os.MkdirTemp("", "weather")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	tools := filepath.Join(root, "tools")
	manifest := []byte(`{"petrock": "1.2.3", "name": "weather", "module": "example.com/weather"}`)
	if err := os.Mkdir(tools, 0o755); err != nil {
		fmt.Println(err)
	}
	if err := os.WriteFile(filepath.Join(root, project.FileName), manifest, 0o644); err != nil {
		fmt.Println(err)
	}
	found, err := project.Find(tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.Name, found.Module, found.Root == root)
	// Output: weather example.com/weather true
}

func ExampleVariable() {
	fmt.Println(project.Variable("my-server", "data"))
	// Output: MY_SERVER_DATA
}
