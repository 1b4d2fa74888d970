package live

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/project"
)

// childEnviron returns the environment of the servers and of the go command.
func childEnviron(o Options) []string {
	environ, added := os.Environ(), goEnviron(o.Root)
	if data := flagValue(o.Args, "data"); data != "" { // the dev server looks at the events of the server
		variable := project.Variable(o.Name, "data")
		added[variable] = data
		environ = slices.DeleteFunc(environ, func(v string) bool { return strings.HasPrefix(v, variable+"_FILE=") })
	}
	// Servers of one supervisor accept each other's requestState. The system seeds the generator of
	// math/rand; with crypto/rand, the client would wait longer for the first build.
	if variable := project.Variable(o.Name, "state_key"); os.Getenv(variable)+os.Getenv(variable+"_FILE") == "" {
		added[variable] = fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	}
	for name, value := range added {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// flagValue returns the last value of a flag in arguments, or "".
func flagValue(args []string, name string) (value string) {
	for i, arg := range args {
		if given, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = given
		} else if arg == "--"+name && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// goEnvironFile records variables of the environment in which a person uses the project.
const goEnvironFile = ".petrock/goenv"

// goVariables decide where the go command looks for compiled packages and modules, and whether it
// can use them.
var goVariables = []string{
	"GOCACHE", "GOMODCACHE", "GOPATH", "GOENV", "GOFLAGS", "GOEXPERIMENT", "GOTOOLCHAIN", "CGO_ENABLED", "CC",
	"GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", // of the default GOCACHE and GOENV
}

// RecordGoEnviron records the environment's variables for the go command, for goEnviron. Call it
// in processes with the environment of a person's shell. MCP clients may start processes with HOME
// and PATH alone.
func RecordGoEnviron(root string) error {
	var text bytes.Buffer
	for _, name := range goVariables {
		if value := os.Getenv(name); value != "" && !strings.ContainsAny(value, "\r\n") {
			fmt.Fprintf(&text, "%s=%s\n", name, value)
		}
	}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer folder.Close()
	if text.Len() == 0 {
		return folder.RemoveAll(goEnvironFile)
	}
	if err := folder.MkdirAll(path.Dir(goEnvironFile), 0o755); err != nil {
		return err
	}
	return folder.WriteFile(goEnvironFile, text.Bytes(), 0o600) // GOPROXY may have a password
}

// goEnviron returns the recorded variables that the environment of this process lacks.
func goEnviron(root string) map[string]string {
	lacking := map[string]string{}
	recorded, _ := os.ReadFile(filepath.Join(root, goEnvironFile)) // it is optional
	for line := range strings.Lines(string(recorded)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if _, isSet := os.LookupEnv(name); !isSet && slices.Contains(goVariables, name) && value != "" {
			lacking[name] = value
		}
	}
	return lacking
}
