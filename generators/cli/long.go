package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

// read is what a file holds, or standard input, if it is called -.
func read(cmd *cobra.Command, flag, file string) ([]byte, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(cmd.InOrStdin())
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, terminal.Usagef("--%s: %w", flag, err)
	}
	return text, nil
}

// readsOnce refuses more than one flag that is read from standard input.
func (f *form) readsOnce(cmd *cobra.Command) error {
	var all []string
	if value, err := cmd.Flags().GetString("input"); err == nil && value == "-" {
		all = append(all, "--input -")
	}
	for _, p := range f.others {
		if flag := cmd.Flags().Lookup(p.flag()); p.isLong() && flag != nil && flag.Changed && strings.Contains(flag.Value.String(), "@-") {
			all = append(all, "--"+p.flag()+" @-")
		}
	}
	if len(all) > 1 {
		return terminal.Usagef("%s are all to be read from standard input, which can be read once; put some into files", strings.Join(all, ", "))
	}
	return nil
}

// long is a text, or what the file behind an @ holds.
func long(cmd *cobra.Command, flag, text string) (string, error) {
	file, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	held, err := read(cmd, flag, file)
	return string(held), err
}

// whole is an input that is given as one JSON object.
func whole(cmd *cobra.Command, file string) (map[string]any, error) {
	text, err := read(cmd, "input", file)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := strictjson.Unmarshal(text, &raw); err != nil {
		return nil, terminal.Usagef("--input %s: it has to be one JSON object: %w", file, err)
	}
	input := map[string]any{}
	for name, value := range raw {
		input[name] = value
	}
	return input, nil
}

// objects are JSON objects: each text is one, or names a file behind an @ that holds one or a list of them.
func objects(cmd *cobra.Command, flag string, texts []string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, text := range texts {
		held, err := long(cmd, flag, text)
		if err != nil {
			return nil, err
		}
		var list []json.RawMessage
		if raw := bytes.TrimSpace([]byte(held)); !bytes.HasPrefix(raw, []byte("[")) {
			list = []json.RawMessage{raw}
		} else if err := strictjson.Unmarshal(raw, &list); err != nil {
			return nil, terminal.Usagef("--%s: %w", flag, err)
		}
		for _, raw := range list {
			if err := strictjson.Check(raw); err != nil {
				return nil, terminal.Usagef("--%s: %s is no JSON: %w", flag, fmt.Sprintf("%.80s", raw), err)
			}
		}
		all = append(all, list...)
	}
	return all, nil
}
