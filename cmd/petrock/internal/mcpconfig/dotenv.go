package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// parseDotenv reads a file of environment variables, as editors do, line by line:
//
//	# a comment
//	NAME=value            # and one behind it
//	export NAME = value
//	NAME: value
//	NAME="with # and \n"  in which \n and \r are line breaks
//	NAME='as it stands'   and so between backquotes
//
// Nothing is filled in to a value, and a later line for the same name counts. The error names the line and not what is in it.
func parseDotenv(text []byte) (map[string]string, error) {
	vars := make(map[string]string)
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, err := parseVariable(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		vars[name] = value
	}
	return vars, nil
}

// parseVariable reads one line that is neither empty nor a comment.
func parseVariable(line string) (name, value string, err error) {
	if rest, ok := strings.CutPrefix(line, "export "); ok {
		line = rest
	}
	at := strings.IndexAny(line, "=:")
	if at < 0 {
		return "", "", errors.New("it has no =; write NAME=value, or # before a comment")
	}
	name = strings.TrimSpace(line[:at])
	if name == "" || strings.ContainsAny(name, " \t\"'`#\x00") {
		return "", "", fmt.Errorf("what stands before %q is no name of a variable", line[at:at+1])
	}
	if strings.ContainsRune(line, 0) {
		return "", "", errors.New("it has a zero byte in it, which no program can be handed")
	}
	value, err = unquoteValue(strings.TrimSpace(line[at+1:]))
	return name, value, err
}

// unquoteValue takes the quotes or the comment off a value.
func unquoteValue(text string) (string, error) {
	if text == "" || !strings.ContainsRune("\"'`", rune(text[0])) {
		value, _, _ := strings.Cut(text, "#")
		return strings.TrimSpace(value), nil
	}
	quote := text[0]
	end := 1
	for end < len(text) && (text[end] != quote || text[end-1] == '\\') {
		end++
	}
	if end == len(text) && end > 1 && text[end-1] == quote {
		end-- // a backslash is the last character of the value
	}
	if end == len(text) {
		return "", fmt.Errorf("the quote %c has no end; for a line break write \\n between double quotes", quote)
	}
	if rest := strings.TrimSpace(text[end+1:]); rest != "" && rest[0] != '#' {
		return "", fmt.Errorf("there is more behind the closing %c; put the whole value between other quotes", quote)
	}
	value := text[1:end]
	if quote == '"' {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
	}
	return value, nil
}
