package oauth

import (
	"os"
	"strings"

	"github.com/petrock/petrock/core/project"
)

// variable is the environment variable that says what a flag says.
func (o *OAuth) variable(what string) string { return project.Variable(o.program, "oauth_"+what) }

// text is what a flag says, or else the environment.
func (o *OAuth) text(flag, what string) string {
	if flag != "" {
		return flag
	}
	return strings.TrimSpace(os.Getenv(o.variable(what)))
}

// list is what a flag says, or else the environment: several with spaces or commas between them. It is nil if there is
// nothing.
func (o *OAuth) list(flag []string, what string) []string {
	given := strings.Join(flag, " ")
	if len(flag) == 0 {
		given = os.Getenv(o.variable(what))
	}
	var all []string
	for text := range strings.FieldsFuncSeq(given, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' }) {
		all = append(all, text)
	}
	return all
}
