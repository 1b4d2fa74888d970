package devserver

import (
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/generators/engine"
)

// carried is the project that a dev server is part of.
type carried struct {
	root    string
	sources map[string]string // what its generators were when the dev server started: hashes by path
}

// newCarried is the project around a folder; nil if there is none.
func newCarried(dir string) *carried {
	found, err := project.Find(dir)
	if err != nil {
		return nil
	}
	return &carried{root: found.Root, sources: engine.SourcesIn(found.Root)}
}

// has reports whether it is the project in root, and its generators, which are now so, are those that the dev server was
// started with. What was added since is another matter.
func (c *carried) has(root string, now map[string]string) bool {
	if root != c.root {
		return false
	}
	for file, hash := range now {
		if was, there := c.sources[file]; there && was != hash {
			return false
		}
	}
	return true
}
