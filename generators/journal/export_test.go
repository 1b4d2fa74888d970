package journal

import "os"

// WithStep are options with a function that is asked before each step on the disk. What it returns
// becomes of the step, and if it panics, the process might as well have been killed.
func WithStep(step func(what, path string) error) Options { return Options{step: step} }

// Root returns the project's root. It is closed with the journal.
func (j *Journal) Root() *os.Root { return j.root }
