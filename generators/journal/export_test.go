package journal

import "os"

// WithStep returns options with a function that is called before each step on the disk. Its error
// fails the step; its panic simulates a killed process.
func WithStep(step func(what, path string) error) Options { return Options{step: step} }

// Root returns the project's root. It is closed with the journal.
func (j *Journal) Root() *os.Root { return j.root }
