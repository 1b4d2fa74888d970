package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// maxFile is how long a file may be, in bytes.
const maxFile = 1 << 20

// A source is a configuration file that has been read.
type source struct {
	file    string
	folder  string // of the project, absolute
	client  client
	has     bool // the key of the client
	entries []rawEntry
	inputs  []byte // JSON, or nil
}

// A rawEntry is a server as it stands in a file.
type rawEntry struct {
	name  string
	value []byte // JSON
}

// readSource reads a file. There may be a source and a problem: then the problem is not in the way of the servers.
func readSource(file, absolute string) (*source, *Problem) {
	text, err := readFile(file)
	if err != nil {
		return nil, &Problem{File: file, Err: err}
	}
	s := &source{file: file}
	known := false
	if s.client, s.folder, known = clientOf(absolute); !known {
		keys, err := topKeys(blankComments(text))
		if err != nil {
			return nil, malformed(file, text, err)
		}
		if s.client, known = clientFor(keys); !known {
			return nil, &Problem{File: file, Err: errors.New("it has to have one of the keys mcpServers, mcp and servers, and no other of them, so that one can tell whose file it is")}
		}
	}
	clean := bytes.Clone(text)
	blankMark(clean)
	if s.client.comments {
		clean = blankComments(text)
	}
	if err := strictjson.Check(clean); err != nil {
		return nil, malformed(file, text, err)
	}
	return s.take(clean)
}

// take finds the servers in the text of the file, which has been checked.
func (s *source) take(text []byte) (*source, *Problem) {
	var wrong []string
	var problem *Problem
	err := strictjson.Members(text, func(key, value []byte) error {
		switch key := string(key); {
		case key == s.client.key:
			s.has = true
			if err := s.takeServers(value); err != nil {
				problem = &Problem{File: s.file, Field: key, Err: err}
			}
		case key == "inputs":
			s.inputs = value
		case slices.Contains([]string{"mcpServers", "servers", "mcp"}, key) && strictjson.First(value) == '{':
			wrong = append(wrong, key)
		}
		return nil
	})
	if err != nil {
		return nil, &Problem{File: s.file, Err: err}
	}
	if problem == nil && len(wrong) > 0 {
		problem = &Problem{File: s.file, Field: wrong[0], Err: fmt.Errorf("%s does not read this key, but %q; move the servers there", s.client.name, s.client.key)}
	}
	return s, problem
}

func (s *source) takeServers(value []byte) error {
	return strictjson.Members(value, func(key, value []byte) error {
		s.entries = append(s.entries, rawEntry{string(key), value})
		return nil
	})
}

// topKeys lists the keys of a JSON object.
func topKeys(text []byte) ([]string, error) {
	if err := strictjson.Check(text); err != nil {
		return nil, err
	}
	var keys []string
	err := strictjson.Members(text, func(key, _ []byte) error {
		keys = append(keys, string(key))
		return nil
	})
	return keys, err
}

// readFile returns what is in a file of a size to be expected. Its error does not name the file.
func readFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, bare(err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return text, nil
}
