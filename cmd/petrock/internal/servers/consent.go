package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/cmd/petrock/internal/userfile"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
)

// consent returns nil if a server may be started, or called. It asks about a server of a project's
// file if that is a program, or a URL that gets values of variables, once for each content. Without
// a terminal it requires that the command line names the server, or --yes.
func (t *target) consent(ctx context.Context, s *mcpconfig.Server, named bool) error {
	if s.File == "" || s.OfUser || s.Err != nil || s.Kind != mcpconfig.Stdio && !s.HasVars || t.yes || isAllowed(s.Definition) {
		return nil
	}
	asker := mcpcli.NewAsker(t.env, &terminal.Progress{})
	switch {
	case asker == nil && named:
		return nil
	case asker == nil:
		return terminal.Usagef("%s names the server %s, which was not allowed yet: %s; to start it, name it on the command line, or give --yes", s.File, s.Name, shown(s))
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

// question asks whether to start a server.
func question(s *mcpconfig.Server) string {
	text := fmt.Sprintf("%s names a server, %s, that petrock has not started before:\n  %s\n", s.File, s.Name, shown(s))
	if s.Kind == mcpconfig.Stdio {
		text += "  in the folder " + s.Dir + "\n"
		if len(s.Env) > 0 {
			text += "  with the environment variables " + strings.Join(slices.Sorted(maps.Keys(s.Env)), ", ") + "\n"
		}
		return text + "Start it, now and in the future? Answer yes or no"
	}
	if len(s.Header) > 0 {
		text += "  with the headers " + strings.Join(slices.Sorted(maps.Keys(s.Header)), ", ") + "\n"
	}
	return text + "Send it the values of variables, now and in the future? Answer yes or no"
}

// shown returns the command and its arguments, or the URL, as the file has them.
func shown(s *mcpconfig.Server) string {
	words := slices.Clone(s.Written)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\") {
			words[i] = fmt.Sprintf("%q", word)
		}
	}
	return strings.Join(words, " ")
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

// allow remembers that a server is allowed. The text is for people.
func allow(s *mcpconfig.Server) error {
	file := allowed(s.Definition)
	if file == "" {
		return errors.New("there is no configuration folder of the user")
	}
	return userfile.Write(file, []byte(terminal.Plain(s.Name+" of "+s.File+"\n"+shown(s)+"\n")))
}
