package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/cmd/petrock/internal/userfile"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/core/terminal"
)

// consent returns nil if a server may be started, or called. It asks about a server of a project's
// file if that is a program, or a URL that gets values of variables, once for each content. Without
// a terminal it requires that the command line names the server, or --yes.
func (t *target) consent(ctx context.Context, s *mcpconfig.Server, named bool) error {
	if s.File == "" || s.Trusted || s.Err != nil || s.Kind != mcpconfig.Stdio && !s.HasVars || t.yes || isAllowed(s.Definition) {
		return nil
	}
	asker := mcpcli.NewAsker(t.env, &terminal.Progress{})
	switch {
	case asker == nil && named:
		return nil
	case asker == nil:
		return terminal.Usagef("%s names the server %s, which %s: %s; to start it, name it on the command line, or give --yes", s.File, s.Name, state(s), shown(s))
	}
	answer, err := asker.Line(ctx, question(s), "no")
	if err != nil && ctx.Err() != nil {
		return mcpcli.ErrInterrupted
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return fmt.Errorf("the server %s is not started, because you did not allow it", s.Name)
	}
	if err := allow(s); err != nil {
		fmt.Fprintf(t.env.Err, "petrock: the answer is not remembered: %s\n", terminal.Plain(err.Error()))
	}
	return nil
}

// question asks whether to start a server. It has everything that the file says about it, but no
// value of a variable.
func question(s *mcpconfig.Server) string {
	text := fmt.Sprintf("%s names a server, %s, that %s:\n  %s\n", s.File, quoted(s.Name), state(s), shown(s))
	more := ""
	for _, name := range slices.Sorted(maps.Keys(s.UnexpandedPairs)) {
		more += "    " + quoted(name) + ": " + clipped(s.UnexpandedPairs[name]) + "\n"
	}
	if s.Kind == mcpconfig.Stdio {
		text += "  in the folder " + quoted(s.Dir) + "\n"
		if more != "" {
			text += "  with the environment variables\n" + more
		}
		return text + "Start it, now and in the future? Answer yes or no"
	}
	if more != "" {
		text += "  with the headers\n" + more
	}
	sent := "a request"
	if names := variables(s); len(names) > 0 {
		sent = "the values of the variables " + strings.Join(names, ", ")
	}
	return text + "Send it " + sent + ", now and in the future? Answer yes or no"
}

// state says why petrock asks about a server.
func state(s *mcpconfig.Server) string {
	if wasAllowed(s) {
		return "has changed since you allowed it"
	}
	return "you have not allowed yet"
}

// variables returns the names of the variables in the URL and the headers of a server.
func variables(s *mcpconfig.Server) []string {
	var names []string
	reference := regexp.MustCompile(`\$\{((?:env|input):[^}]*)\}|\$\{?([A-Za-z_][A-Za-z0-9_]*)`)
	for _, text := range slices.AppendSeq(slices.Clone(s.Unexpanded), maps.Values(s.UnexpandedPairs)) {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			names = append(names, quoted(found[1]+found[2]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// shown returns the command and its arguments, or the URL, as the file has them.
func shown(s *mcpconfig.Server) string {
	var words []string
	for _, word := range s.Unexpanded {
		words = append(words, quoted(word))
	}
	return strings.Join(words, " ")
}

// quoted returns a word on one line. It has quotes if it would not be one word without them.
func quoted(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\r\n'\"\\") {
		return strconv.Quote(word)
	}
	return word
}

// maxValue is how many bytes of the value of an environment variable or a header a question shows.
const maxValue = 400

// clipped returns a value on one line. Of a long one it is the beginning, and how long it is.
func clipped(value string) string {
	text := quoted(strictjson.Clip(value, maxValue))
	if len(value) > maxValue {
		text += fmt.Sprintf(" (%d bytes)", len(value))
	}
	return text
}

// allowed is the file that says that a server is allowed. It is empty if there is no place for it.
func allowed(definition string) string {
	dir, err := os.UserConfigDir()
	if err != nil || definition == "" {
		return ""
	}
	return filepath.Join(dir, "petrock", "allowed", definition)
}

// maxAllowed limits the size of such a file, in bytes.
const maxAllowed = 4 << 20

func isAllowed(definition string) bool {
	_, err := userfile.Read(allowed(definition), maxAllowed)
	return err == nil
}

// wasAllowed reports whether a server of this name in this file was allowed, with any content.
func wasAllowed(s *mcpconfig.Server) bool {
	dir := filepath.Dir(allowed("any"))
	answers, _ := os.ReadDir(dir)
	return slices.ContainsFunc(answers, func(answer os.DirEntry) bool {
		text, err := userfile.Read(filepath.Join(dir, answer.Name()), maxAllowed)
		return err == nil && strings.HasPrefix(string(text), title(s))
	})
}

// title is how the file that allows a server begins.
func title(s *mcpconfig.Server) string { return terminal.Plain(s.Name + " of " + s.File + "\n") }

// allow remembers that a server is allowed. The text is for people.
func allow(s *mcpconfig.Server) error {
	file := allowed(s.Definition)
	if file == "" {
		return errors.New("there is no configuration folder of the user")
	}
	return userfile.Write(file, []byte(title(s)+terminal.Plain(shown(s)+"\n")))
}
